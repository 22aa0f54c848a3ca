package apache

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// emptyCache makes a new, empty cache folder for the archives of a test.
func emptyCache(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", dir)
	return filepath.Join(dir, "zktest")
}

// mappedArchives lists the archives mapped into a server's memory.
func mappedArchives(t *testing.T, c *Cluster, i int) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", c.back.(*jarBackend).findProcess(i).cmd.Process.Pid))
	require.NoError(t, err)
	return string(text)
}

func TestServersMapTheClassesThatTheFirstHasLoaded(t *testing.T) {
	cache := emptyCache(t)
	for range 2 {
		t.Chdir(t.TempDir()) // wherever a test runs
		c := Require(t, &Options{Mode: Jars, Own: true})
		found, err := filepath.Glob(filepath.Join(cache, "*.jsa*"))
		require.NoError(t, err)
		require.Len(t, found, 2, "the archive and its lock file; no partial file")
		require.Contains(t, mappedArchives(t, c, 0), found[0])
		require.NoError(t, c.Close())
	}
}

// The server starts also with a bad archive.
func TestServersStartWithoutAnArchive(t *testing.T) {
	java, classPath, err := findJars(os.Getenv(EnvHome))
	if err != nil {
		Require(t, &Options{Mode: Jars}) // skips
	}
	name := func() string {
		name, err := archiveName(java, classPath)
		require.NoError(t, err)
		return name
	}
	for what, spoil := range map[string]func(cache string){
		"no folder": func(cache string) { require.NoError(t, os.WriteFile(cache, nil, 0o600)) },
		"another makes it": func(string) {
			claim, err := claimFile(name() + ".lock")
			require.NoError(t, err)
			t.Cleanup(func() { claim.Close() })
		},
		"this Java makes none": func(string) { require.NoError(t, os.WriteFile(name(), nil, 0o600)) },
	} {
		t.Run(what, func(t *testing.T) {
			spoil(emptyCache(t))
			require.Empty(t, new(Cluster).classArchive(t.Context(), java, classPath))
		})
	}
	emptyCache(t)
	require.NoError(t, os.WriteFile(name(), []byte(strings.Repeat("garbage", 1000)), 0o600))
	c := Require(t, &Options{Mode: Jars, Own: true})
	require.NotContains(t, mappedArchives(t, c, 0), name())
}

// A Java that does not know the option ends at once. The failure is remembered
// and not retried.
func TestThatJavaMakesNoArchiveIsRemembered(t *testing.T) {
	emptyCache(t)
	java, err := exec.LookPath("false")
	require.NoError(t, err)
	c := &Cluster{dir: t.TempDir()}
	require.Empty(t, c.classArchive(t.Context(), java, java))
	name, err := archiveName(java, java)
	require.NoError(t, err)
	info, err := os.Stat(name)
	require.NoError(t, err)
	require.Zero(t, info.Size())
	require.Empty(t, c.classArchive(t.Context(), java, java))
}
