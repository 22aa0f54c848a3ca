//go:build unix

package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// startPast starts "zkr ui --history", and waits until the files have been read.
func startPast(t *testing.T, args ...string) (z *zkrProcess, url string) {
	t.Helper()
	z = start(t, command("", append([]string{"ui", "--listen", "127.0.0.1:0", "-o", "json"}, args...)...))
	z.says("\n")
	var got struct{ URL string }
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &got))
	url = strings.TrimSuffix(got.URL, "/")
	eventually(t, func() bool {
		_, text := fetchPage(t, url+"/api/things")
		return strings.Contains(text, `"loaded": true`)
	}, "the files are read")
	return z, url
}

func TestUIShowsThePast(t *testing.T) {
	t.Parallel()
	z, url := startPast(t, "--history", "zk1="+scene)
	code, text := fetchPage(t, url+"/locks?at=0xf")
	assert.Equal(t, http.StatusOK, code)
	assert.Contains(t, text, "held by two, 1 waits")
	assert.Contains(t, text, "from files of <code>zk1</code>")
	_, text = fetchPage(t, url+"/api/things?at=0xe&q=report")
	assert.Contains(t, text, `"state": "held by one, 2 wait"`)
	_, text = fetchPage(t, url+"/locks?at=90m") // is redirected
	assert.Contains(t, text, "The files end before that moment.")
	z.signal(syscall.SIGINT)
	z.ends(0)
}

// A variable for other commands says nothing about the files.
func TestUIOfThePastAsksNoServer(t *testing.T) {
	t.Parallel()
	cmd := command("", "ui", "--listen", "127.0.0.1:0", "--history", scene, "--root", "/locks")
	cmd.Env = append(cmd.Env, "ZKR_SERVERS=127.0.0.1:1")
	z := start(t, cmd)
	z.says("shows the past, and changes nothing")
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

func TestUIOfThePastSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	empty, part := t.TempDir(), t.TempDir()
	log, err := os.ReadFile("internal/txnlog/testdata/zookeeper-3.9.3/plain/log.100000001")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(part, "log.500000007"), log, 0o600))
	for args, want := range map[string]struct {
		code int
		says string
	}{
		"--history " + empty + "/none":          {exit.CodeFailed, "no such file or directory"},
		"--history " + empty:                    {exit.CodeFailed, "no transaction logs and no snapshots"},
		"--history " + part:                     {exit.CodeFailed, "--history needs the snapshots, too"},
		"--history " + scene + " --servers a:1": {exit.CodeUsage, "--history reads files, and asks no --servers"},
		"--history " + scene + " --actions --trust-header X-User --host a.example.org": {exit.CodeUsage, "--actions changes the present, and --history shows the past"},
		"--history " + scene + " --history " + scene:                                   {exit.CodeUsage, "names the server"},
		"--history " + scene + " --root locks":                                         {exit.CodeUsage, "begins with /"},
	} {
		z := start(t, command("", append([]string{"ui", "--listen", "127.0.0.1:0"}, strings.Fields(args)...)...)).ends(want.code)
		assert.Contains(t, z.err.String(), want.says, args)
	}
}
