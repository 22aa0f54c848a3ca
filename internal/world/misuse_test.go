package world

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"testing"

	"github.com/stretchr/testify/require"
)

var errInvalid = errors.New("invalid")

// careless is a type with the defects that [Misuse] must find.
type careless struct{ inner *careless }

func (c *careless) Dereferences() *careless                { return c.inner.inner }
func (c *careless) Succeeds(context.Context) error         { return nil }
func (c *careless) Unclear(context.Context) error          { return errInvalid }
func (c *careless) Yields() iter.Seq2[int, error]          { return func(func(int, error) bool) {} }
func (c *careless) YieldsOne() iter.Seq[int]               { return func(yield func(int) bool) { yield(1) } }
func (c *careless) NoticesNoNil(ctx context.Context) error { return noClient(ctx.Err()) }

// careful is a type with correct methods.
type careful struct{}

func (*careful) Begins(ctx context.Context) error {
	if ctx == nil {
		return fmt.Errorf("%w: the context is nil", errInvalid)
	}
	return noClient(nil)
}
func (*careful) Panics()                { panic("get one from careful.New") }
func (*careful) Says() string           { return "something" }
func (*careful) All() iter.Seq[int]     { return func(func(int) bool) {} }
func (*careful) Split() (int, []string) { return 0, []string{"a"} }

func noClient(err error) error {
	return errors.Join(err, fmt.Errorf("%w: it has no client: make it with New", errInvalid))
}

// findings is a reporter that collects its calls.
type findings struct {
	*testing.T
	found []string
}

func (f *findings) Errorf(format string, args ...any) {
	f.found = append(f.found, fmt.Sprintf(format, args...))
}

func TestMisuseFindsCarelessMethods(t *testing.T) {
	f := &findings{T: t}
	Misuse{Invalid: errInvalid, Zero: map[string]any{"careless": new(careless)}}.useTypes(f)
	for _, want := range []string{
		"zero careless: Dereferences: got panic: runtime error",
		"zero careless: Succeeds: got <nil>",
		"zero careless: Succeeds with a nil context: got <nil>",
		`zero careless: Unclear: "invalid" says none`,
		"zero careless: Unclear with a nil context",
		"zero careless: Yields: got <nil>",
		"zero careless: YieldsOne: got an element from nowhere",
		"zero careless: NoticesNoNil with a nil context: got panic: runtime error",
	} {
		require.Condition(t, func() bool {
			for i, found := range f.found {
				if len(found) >= len(want) && found[:len(want)] == want {
					f.found = append(f.found[:i], f.found[i+1:]...)
					return true
				}
			}
			return false
		}, "%s in %q", want, f.found)
	}
	require.Empty(t, f.found)
}

func TestMisuseFindsNothingInCarefulMethods(t *testing.T) {
	f := &findings{T: t}
	Misuse{
		Invalid: errInvalid, Zero: map[string]any{"careful": new(careful)},
		NoClient: map[string]any{"Read": fmt.Errorf("%w: the client is nil", errInvalid)},
	}.useTypes(f)
	require.Empty(t, f.found)
}

func TestMisuseKnowsTheExportedTypesAndFunctions(t *testing.T) {
	types, _, err := exported()
	require.NoError(t, err)
	require.Contains(t, types, "World")
	require.Contains(t, types, "Misuse")
}
