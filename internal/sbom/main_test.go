package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDocumentDescribesABinary(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "sbom.json")
	require.NoError(t, write(self, file))
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var d document
	require.NoError(t, json.Unmarshal(text, &d))
	require.Equal(t, "CycloneDX", d.Format)
	require.Len(t, d.Metadata.Component.Hashes, 1)
	var names []string
	for _, c := range d.Components {
		names = append(names, c.Name)
	}
	require.Contains(t, names, "std")
}

func TestComponentsHaveTheVersionThatWasBuilt(t *testing.T) {
	d := describe(&debug.BuildInfo{GoVersion: "go1.26.0", Main: debug.Module{Path: "example.org/a", Version: "v1.0.0+dirty"}, Deps: []*debug.Module{
		{Path: "example.org/b", Version: "v1.2.3"},
		{Path: "example.org/c", Version: "v1.0.0", Replace: &debug.Module{Path: "example.org/d", Version: "v2.0.0"}},
		{Path: "example.org/e", Version: "(devel)"},
	}})
	require.Equal(t, "pkg:golang/example.org/a@v1.0.0%2Bdirty", d.Metadata.Component.PURL)
	var all []string
	for _, c := range d.Components {
		all = append(all, c.PURL)
	}
	require.Equal(t, []string{
		"pkg:golang/std@1.26.0", "pkg:golang/example.org/b@v1.2.3", "pkg:golang/example.org/d@v2.0.0", "pkg:golang/example.org/e",
	}, all)
}

func TestFileThatIsNotAGoBinaryIsAnError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "text")
	require.NoError(t, os.WriteFile(file, []byte("text"), 0o600))
	require.Error(t, write(file, file+".json"))
	require.NoFileExists(t, file+".json")
}
