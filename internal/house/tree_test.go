package house

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestLoadTakesTextAndLeavesOutWhatIsNoSource(t *testing.T) {
	out := tree(t, files{
		"a/a.go":          "package a\n",
		"a/a_test.go":     "package a\n",
		"a/testdata/b.go": "no Go at all",
		"a/picture.png":   "\x89PNG\x00",
		"a/a.test":        "built",
		"a/cpu.out":       "profile",
		".git/config":     "x",
		".cache/x.go":     "broken",
		"bin/zkr.go":      "broken",
		".ci/run":         "#!/bin/bash\n",
		"a/bin/c.go":      "package bin\n",
	})
	var paths []string
	for _, f := range out.Files {
		paths = append(paths, f.Path)
	}
	require.Equal(t, []string{".ci/run", "a/a.go", "a/a_test.go", "a/bin/c.go", "a/testdata/b.go", "go.mod"}, paths)
	require.Equal(t, []string{"a/picture.png"}, out.Others)
	require.Equal(t, "example.org/m", out.Module)
	require.False(t, out.Files[1].Test())
	require.True(t, out.Files[2].Test())
	require.Equal(t, "a/bin", out.Files[3].Dir())
	require.Nil(t, out.Files[4].Syntax, "testdata is text")
	require.Nil(t, out.Files[0].Syntax)
	require.NotNil(t, out.Files[2].Syntax)
}

func TestLoadFailsOnWhatItCannotRead(t *testing.T) {
	_, err := Load(fstest.MapFS{})
	require.ErrorContains(t, err, "go.mod")
	_, err = Load(fstest.MapFS{"go.mod": {Data: []byte("go 1.26\n")}})
	require.ErrorContains(t, err, "names no module")
	_, err = Load(fstest.MapFS{"go.mod": {Data: []byte("module m\n")}, "a.go": {Data: []byte("package")}})
	require.ErrorContains(t, err, "a.go:1")
}

func TestLocalKnowsThePackagesOfTheModule(t *testing.T) {
	m := &Tree{Module: "example.org/m"}
	for p, want := range map[string]string{"example.org/m": ".", "example.org/m/a/b": "a/b"} {
		dir, ok := m.local(p)
		require.True(t, ok)
		require.Equal(t, want, dir)
	}
	_, ok := m.local("example.org/more")
	require.False(t, ok)
	_, ok = m.local("context")
	require.False(t, ok)
}

func TestImportsKnowsTheNameThatAFileUses(t *testing.T) {
	out := tree(t, files{"a.go": "package a\n\nimport (\n\t\"math/rand/v2\"\n\tclock \"time\"\n\t\"example.org/m/lock\"\n)\n"})
	require.Equal(t, map[string]string{"rand": "math/rand/v2", "clock": "time", "lock": "example.org/m/lock"}, out.Files[0].imports())
}

func TestWithinIsAboutFoldersNotLetters(t *testing.T) {
	require.True(t, within("a", "a"))
	require.True(t, within("a/b", "a"))
	require.False(t, within("ab", "a"))
	require.False(t, within("a", "a/b"))
}

func TestAFindingNamesItsPlace(t *testing.T) {
	require.Equal(t, "a/a.go:3: odd", Finding{Path: "a/a.go", Line: 3, Text: "odd"}.String())
	require.Equal(t, "a: odd", Finding{Path: "a", Text: "odd"}.String())
}
