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

// A new type that can be held must be in the table.
func TestTableHasEveryTypeThatCanBeHeld(t *testing.T) {
	tested := map[string]bool{}
	for name := range kinds() {
		typ, _, _ := strings.Cut(name, ",")
		tested[typ] = true
	}
	found := map[string]bool{}
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range assertion.FindAllSubmatch(text, -1) {
			found[filepath.Base(filepath.Dir(path))+"."+string(match[1])] = true
		}
		return err
	}))
	require.Equal(t, found, tested)
	require.NotEmpty(t, found)
}
