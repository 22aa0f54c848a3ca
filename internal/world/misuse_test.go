package world

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
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

// Value has a receiver that a nil pointer cannot be: Go names it in its panic.
func (careless) Value() {}

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
	Misuse{Invalid: errInvalid, Zero: map[string]any{"careless": new(careless)}}.useTypes(f, map[string]bool{"careless.Value": true})
	for _, finding := range []string{
		"Dereferences: got panic: runtime error",
		"Succeeds: got <nil>",
		"Succeeds with a nil context: got <nil>",
		`Unclear: "invalid" says none`,
		"Unclear with a nil context",
		"Yields: got <nil>",
		"YieldsOne: got an element from nowhere",
		"NoticesNoNil with a nil context: got panic: runtime error",
	} {
		for _, receiver := range []string{"zero", "nil"} {
			want := receiver + " careless: " + finding
			at := slices.IndexFunc(f.found, func(found string) bool { return strings.HasPrefix(found, want) })
			require.GreaterOrEqual(t, at, 0, "%s in %q", want, f.found)
			f.found = slices.Delete(f.found, at, at+1)
		}
	}
	require.Empty(t, f.found)
}

func TestMisuseFindsNothingInCarefulMethods(t *testing.T) {
	f := &findings{T: t}
	Misuse{
		Invalid: errInvalid, Zero: map[string]any{"careful": new(careful)},
		NoClient: map[string]any{"Read": fmt.Errorf("%w: the client is nil", errInvalid)},
	}.useTypes(f, nil)
	require.Empty(t, f.found)
}

func TestMisuseKnowsTheExportedTypesAndFunctions(t *testing.T) {
	found, err := exported()
	require.NoError(t, err)
	require.Contains(t, found.types, "World")
	require.Contains(t, found.types, "Misuse")
	require.Contains(t, found.valueMethods, "Misuse.Check")
	require.NotContains(t, found.valueMethods, "World.Client")
}
