package world

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Golden compares got with testdata/layout.golden, and writes the file first if
// update is set.
func Golden(t testing.TB, update bool, got string) {
	t.Helper()
	const file = "testdata/layout.golden"
	if update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	if !Has(Containers) { // they are persistent
		want = bytes.ReplaceAll(want, []byte(" container "), []byte(" persistent "))
	}
	require.Equal(t, string(want), got)
}

// Tree has a line for each znode below prefix: its path, mode and data, with
// the unique parts replaced by clean.
func (w *World) Tree(prefix string, clean func(string) string) string {
	var out strings.Builder
	for _, n := range w.Server.Dump() {
		if !strings.HasPrefix(n.Path, prefix) {
			continue
		}
		mode := "persistent"
		switch {
		case n.EphemeralOwner != 0:
			mode = "ephemeral"
		case n.Container:
			mode = "container"
		}
		fmt.Fprintf(&out, "%s %s %s\n", clean(n.Path), mode, clean(string(n.Data)))
	}
	return out.String()
}
