package main

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestNothingOutlivesAHold, for each killed process: grandchildren and
// daemons are gone before the next holder begins.
func TestNothingOutlivesAHold(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		args []string
		path string // "": that of the live workers of the job words
	}{
		"lock":             {[]string{"lock", "/x"}, "/x"},
		"rwlock read":      holding["rwlock read"],
		"rwlock write":     holding["rwlock write"],
		"elect":            holding["elect"],
		"barrier":          holding["barrier"],
		"job join":         {[]string{"job", "join", "words", "--identity", "a"}, ""},
		"keep":             {[]string{"keep", "/g/a"}, "/g"},
		"members join":     {[]string{"members", "join", "/g", "a"}, "/g"},
		"service register": {[]string{"service", "register", "web", "--id", "a"}, "/services/web"},
	} {
		for _, whom := range []string{"zkr", "keeper"} {
			t.Run(name+" "+whom, func(t *testing.T) {
				b := newBed(t)
				path := c.path
				if path == "" {
					path = live("words", b.submit("words", "1"))
				}
				beat := filepath.Join(t.TempDir(), "beat")
				script := fmt.Sprintf(`echo $PPID >%s.keeper; %q %s %s.daemon daemon; %q %s %s.job stubborn & wait`,
					beat, os.Args[0], helpDaemon, beat, os.Args[0], helpBeat, beat)
				z := b.start(under(longest/2, grace, c.args, "sh", "-c", script)...)
				beating(t, beat+".daemon")
				beating(t, beat+".job")
				owner, znode := b.owner(path)
				if whom == "zkr" {
					z.signal(syscall.SIGKILL)
					z.wait()
				} else {
					require.NoError(t, syscall.Kill(pidIn(t, beat+".keeper"), syscall.SIGKILL))
					z.ends(exit.CodeSignal + int(syscall.SIGKILL))
				}
				freed := b.freed(owner, znode)
				for _, file := range []string{beat + ".daemon", beat + ".job"} {
					assert.True(t, silent(t, file).Before(freed), "the last beat is before the next grant")
				}
			})
		}
	}
}
