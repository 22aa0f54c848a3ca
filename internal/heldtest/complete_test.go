package heldtest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// assertion matches the line beside every type that implements session.Held.
var assertion = regexp.MustCompile(`(?m)^var _ session\.Held = \(\*(\w+)\)\(nil\)$`) // read only

// guard matches a method by which an exported type fences writes: only what is held can.
var guard = regexp.MustCompile(`(?m)^func \(\w* ?\*?([A-Z]\w*)\) Guard\(\) `) // read only

// A new type that can be held must be in the table, and assert that it implements
// session.Held. A type with a guard can be held.
func TestTableHasEveryTypeThatCanBeHeld(t *testing.T) {
	tested := map[string]bool{}
	for name := range kinds() {
		typ, _, _ := strings.Cut(name, ",")
		tested[typ] = true
	}
	found, guarded := map[string]bool{}, map[string]bool{}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		if !strings.HasSuffix(path, "_test.go") {
			for _, match := range guard.FindAllSubmatch(text, -1) {
				guarded[filepath.Base(filepath.Dir(path))+"."+string(match[1])] = true
			}
		}
		for _, match := range assertion.FindAllSubmatch(text, -1) {
			found[filepath.Base(filepath.Dir(path))+"."+string(match[1])] = true
		}
		return err
	}))
	require.Equal(t, found, tested)
	require.NotEmpty(t, found)
	delete(guarded, "session.Hold")       // the part that recipes are made of: its user gives it back
	delete(guarded, "keeping.Registrant") // the part that registrations are made of
	delete(guarded, "locktable.Owner")    // no grant: its znode is never another's, so no token grows; its locks have one each
	for typ := range guarded {
		require.Contains(t, found, typ, "a type with Guard: add the line var _ session.Held = (*T)(nil)")
	}
}
