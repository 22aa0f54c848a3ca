package usererror_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/usererror"
)

// missing is an error whose text is a field: a nil pointer has none.
type missing struct{ text string }

func (m *missing) Error() string { return m.text }

// touchy is an error with a method that panics.
type touchy struct{ method string }

func (t touchy) Error() string { t.panicIn("Error"); return "touchy" }

func (t touchy) Is(error) bool { t.panicIn("Is"); return false }

func (t touchy) Unwrap() error { t.panicIn("Unwrap"); return nil }

func (t touchy) panicIn(method string) {
	if t.method == method {
		panic("in " + method)
	}
}

func TestErrorsWhoseMethodsReturnAreKept(t *testing.T) {
	require.NoError(t, usererror.Usable(nil))
	for _, err := range []error{io.EOF, fmt.Errorf("x: %w", io.EOF), errors.Join(io.EOF, &missing{"y"}), touchy{}} {
		require.Equal(t, err, usererror.Usable(err))
	}
}

func TestErrorsWhoseMethodsPanicAreReplaced(t *testing.T) {
	for want, err := range map[string]error{
		"an error of the type *usererror_test.missing was returned, and its methods panic: runtime error: invalid memory address or nil pointer dereference": (*missing)(nil),
		"an error of the type usererror_test.touchy was returned, and its methods panic: in Error":                                                           touchy{"Error"},
		"an error of the type usererror_test.touchy was returned, and its methods panic: in Is":                                                              touchy{"Is"},
		"an error of the type usererror_test.touchy was returned, and its methods panic: in Unwrap":                                                          touchy{"Unwrap"},
		"an error of the type *fmt.wrapError was returned, and its methods panic: in Is":                                                                     fmt.Errorf("x: %w", touchy{"Is"}),
	} {
		got := usererror.Usable(err)
		require.EqualError(t, got, want)
		require.False(t, errors.Is(got, io.EOF))
	}
}
