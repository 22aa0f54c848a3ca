//go:build unix

package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// machines is the number of times that a command runs that is to run "on each machine".
const machines = 4

// programs are what the examples run.
//
// read only
var programs = map[string]string{
	"send": "cat", "gateway": "true", "consume": "exec sleep 1000", "count": "until [ -e counted ]; do sleep 0.05; done", "report": "true", "hostname": "echo host-$$",
}

// The commands of the pages about recipes run one after the other, as a reader types them on
// an ensemble of its own: those of the background stay until the others are done.
func TestCommandsOfThePagesOfRecipesRun(t *testing.T) {
	for _, page := range []string{"dispatch", "keeping", "rebalanser", "workerctl", "doctor", "metrics", "connecting"} {
		t.Run(page, func(t *testing.T) {
			b := newBed(t)
			b.run("value", "set", "/app", "x").ends(0)
			bin := t.TempDir()
			scripts := maps.Clone(programs)
			scripts["zkr"] = "exec '" + os.Args[0] + `' "$@"`
			for name, script := range scripts {
				require.NoError(t, os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700))
			}
			require.NoError(t, os.WriteFile(filepath.Join(bin, "letter"), []byte("Dear reader"), 0o600))
			runPage(b, page, bin)
		})
	}
}

// schemeOfKerberos is in the commands that need a KDC.
const schemeOfKerberos = "--auth-scheme kerberos"

// comment is the end of a line that is not part of the command: & and a comment.
var comment = regexp.MustCompile(`\s*(&)?\s*(\s#\s.*)?$`) // read only

func runPage(b *bed, page, bin string) {
	var background []*zkrProcess
	for _, line := range commandsOf(b.T, page) {
		if strings.Contains(line, schemeOfKerberos) {
			continue // TestKerberosCommandsRunOnApache
		}
		if strings.HasSuffix(line, "--for finished") {
			require.NoError(b.T, os.WriteFile(filepath.Join(bin, "counted"), nil, 0o600))
		}
		after := comment.FindStringSubmatch(line)
		run := strings.NewReplacer("zk1:2181,zk2:2181,zk3:2181", b.srv.Addr(), ":9381", "127.0.0.1:0", "./", "").Replace(strings.TrimSuffix(line, after[0]))
		begin := func() *zkrProcess {
			cmd := b.command()
			cmd.Path, cmd.Args, cmd.Dir = "/bin/sh", []string{"sh", "-c", "PATH=" + bin + ":$PATH; " + execOf(run)}, bin
			return start(b.T, cmd)
		}
		stay := func() {
			others := len(b.srv.Sessions())
			z := begin()
			eventually(b.T, func() bool { return len(b.srv.Sessions()) > others || over(z) }, "%s: it connects", line)
			if strings.HasPrefix(run, "zkr keep") || strings.HasPrefix(run, "zkr exporter") {
				eventually(b.T, func() bool { return z.out.String() != "" }, "%s: it says that it works", line)
			}
			background = append(background, z)
		}
		switch {
		case strings.Contains(after[2], "on each machine"):
			for range machines {
				stay()
			}
		case after[1] != "", strings.Contains(after[2], "until INT"), strings.Contains(line, "zkr exporter"), strings.HasSuffix(line, "--wait"):
			stay()
		default:
			z := begin().wait()
			assert.True(b.T, z.code == 0 || z.code == exit.CodeFailed && strings.HasPrefix(line, "zkr doctor"), "%s: %d\n%s%s", line, z.code, z.out, z.err)
		}
	}
	for _, z := range slices.Backward(background) {
		if !over(z) {
			z.signal(syscall.SIGINT)
		}
		assert.Zero(b.T, z.wait().code, "%s\n%s%s", z.cmd.Args[2], z.out, z.err)
	}
}

// over reports whether a process has ended.
func over(z *zkrProcess) bool {
	select {
	case <-z.over:
		return true
	default:
		return false
	}
}

// execOf makes the shell become the command, with its variables.
func execOf(line string) string {
	if strings.HasPrefix(line, "zkr ") {
		return "exec " + line
	}
	name, rest, _ := strings.Cut(line, " ")
	return "export " + name + "; exec " + rest
}
