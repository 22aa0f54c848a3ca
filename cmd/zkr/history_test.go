//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// scene has files that a real server has written; what happened is in scene.golden beside it.
const scene = "internal/history/testdata/scene"

// stay is a line of zkr history in JSON.
type stay struct {
	Path, Kind, Client, As, How, Token string
	By                                 string
	Entered, Granted, Ended            struct{ Time, Zxid string }
}

func history(t *testing.T, args ...string) (out []stay) {
	t.Helper()
	z := start(t, command("", append([]string{"history", "-o", "json"}, args...)...)).ends(0)
	for line := range strings.Lines(z.out.String()) {
		var s stay
		require.NoError(t, json.Unmarshal([]byte(line), &s))
		out = append(out, s)
	}
	return out
}

func TestHistoryTellsWhoHeldAndHowItEnded(t *testing.T) {
	t.Parallel()
	all := history(t, "/locks/report", "--logs", scene)
	require.Len(t, all, 5)
	two := all[2]
	assert.Equal(t, "two holds session expired", strings.Join([]string{two.Client, two.As, two.How}, " "))
	assert.NotEmpty(t, two.Token)
	assert.Equal(t, all[1].Ended, two.Granted)
	assert.Equal(t, "removed", all[3].How)
	assert.NotEmpty(t, all[3].By)

	z := start(t, command("", "history", "/locks/report", "--logs", scene)).ends(0)
	for _, line := range [][]string{
		{"FROM", "TO", "PATH", "WHO", "AS", "WAITED", "HELD", "TOKEN", "END"},
		{"/locks/report", "impatient", "waits for", "gave up"}, {"two", "holds", two.Token, "session expired"},
		{"three", "removed by " + all[3].By},
	} {
		assert.True(t, hasLine(z.out.String(), line), "%q in:\n%s", line, z.out)
	}
	assert.Contains(t, z.err.String(), "zkr: read 41 transactions, of which 11 changed something here, from ")
}

func TestHistoryOfAMoment(t *testing.T) {
	t.Parallel()
	at := history(t, "/locks/report", "--logs", scene)[2].Granted.Time // of "two"
	z := start(t, command("", "history", "--logs", scene, "--at", at)).ends(0)
	assert.Equal(t, 3, strings.Count(z.out.String(), "\n"), z.out)
	assert.True(t, hasLine(z.out.String(), []string{"two", "holds", "0s", "session expired"}), z.out)
	assert.True(t, hasLine(z.out.String(), []string{"three", "waits for", "removed by"}), z.out)

	for args, want := range map[string]int{"--from " + at: 4, "--to " + at: 4, "--from 2001-01-01 --to 2001-01-02": 0, "--from 2001-01-01": 5} {
		got := history(t, append([]string{"/locks/report", "--logs", scene}, strings.Fields(args)...)...)
		assert.Len(t, got, want, args)
	}
	z = start(t, command("", "history", "--logs", scene, "--at", "2001-01-01")).ends(0)
	assert.Contains(t, z.err.String(), "zkr: the files do not reach back to 2001-01-01")
	z = start(t, command("", "history", "--logs", scene, "--at", "0s")).ends(0)
	assert.Contains(t, z.err.String(), "zkr: the files end before ")
	assert.True(t, hasLine(z.out.String(), []string{"/crew", "ann", "is in", "lasts"}), z.out)
}

func TestHistoryShowsWhatIsSuspicious(t *testing.T) {
	t.Parallel()
	z := start(t, command("", "history", "--logs", scene, "--suspicious")).ends(exit.CodeFailed)
	assert.True(t, hasLine(z.out.String(), []string{"warn", "lost hold", "/locks/report", "the session of two expired"}), z.out)
	assert.True(t, hasLine(z.out.String(), []string{"bad", "taken away", "/locks/report", "removed the znode of three"}), z.out)
	assert.Contains(t, z.err.String(), "zkr: 2 suspicions\n")
	z = start(t, command("", "history", "/leader", "--logs", scene, "--suspicious")).ends(0)
	assert.Contains(t, z.err.String(), "zkr: nothing suspicious\n")

	// A damaged file is one of them, and what can be read is told.
	dir := t.TempDir()
	require.NoError(t, os.CopyFS(dir, os.DirFS(scene)))
	log := filepath.Join(dir, "log.1")
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	text[len(text)/2] ^= 1
	require.NoError(t, os.WriteFile(log, text, 0o600))
	z = start(t, command("", "history", "--logs", dir, "--suspicious")).ends(exit.CodeFailed)
	assert.True(t, hasLine(z.out.String(), []string{"files", log, "corrupt"}), z.out)
	z = start(t, command("", "history", "--logs", dir)).ends(0)
	assert.Contains(t, z.err.String(), " about the files: --suspicious shows them")
	assert.True(t, hasLine(z.out.String(), []string{"one", "holds", "released"}), z.out)
}

func TestHistoryRefusesWrongArguments(t *testing.T) {
	t.Parallel()
	for args, want := range map[string]string{
		"": "--logs is missing", "x --logs " + scene: `invalid path "x"`, "--logs " + scene + " --at 3": `--at is "3"`,
		"--logs " + scene + " --at 1h --from 2h": "--at shows one moment", "--logs " + scene + " --from 1h --to 2h": "before --from",
		"--logs a=" + scene + " --logs a=" + scene: `the server "a" twice`, "/a /b --logs " + scene: "one word too many",
	} {
		z := start(t, command("", append([]string{"history"}, strings.Fields(args)...)...)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), want, args)
		assert.Empty(t, z.out.String(), args)
	}
	for logs, want := range map[string]string{"nothing": "no such file", "internal": "name a server's dataDir"} {
		z := start(t, command("", "history", "--logs", logs)).ends(exit.CodeFailed)
		assert.Contains(t, z.err.String(), want)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(scene, "log.1"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.100000017"), text, 0o600))
	z := start(t, command("", "history", "--logs", dir)).ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "no state to begin with")
	assert.Contains(t, z.err.String(), "--logs needs the snapshots, too")
}
