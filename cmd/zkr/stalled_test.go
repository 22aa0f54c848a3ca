//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/pipetest"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestCommandIsGoneInTimeWithUnreadNotes: no note keeps zkr from its work.
func TestCommandIsGoneInTimeWithUnreadNotes(t *testing.T) {
	t.Parallel()
	for path, args := range map[string][]string{"/locks/a": {"lock", "/locks/a"}, "/g/clients": {"rebalance", "join", "/g"}} {
		t.Run(args[0], func(t *testing.T) {
			b := newBed(t)
			b.shared("/g", "a")
			beat := filepath.Join(t.TempDir(), "beat")
			// A member that comes back runs the script again, which then does not
			// beat.
			script := fmt.Sprintf("test -e %s && exec sleep 1000; exec 2>/dev/null; exec %q %s %s stubborn", beat, os.Args[0], helpBeat, beat)
			cmd := b.command(losing(args, "sh", "-c", script)...)
			_, cmd.Stderr = pipetest.Stalled(t)
			start(t, cmd)
			beating(t, beat)
			owner, znode := b.owner(path)
			b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
			freed := b.freed(owner, znode)
			assert.Positive(t, freed.Sub(silent(t, beat)), "the last beat is before the next grant")
		})
	}
}

// TestTasksDoNotWaitForReaders: a line about a task delays no task; and no
// command is started for a task that has ended meanwhile.
func TestTasksDoNotWaitForReaders(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	cmd := b.command(running([]string{"task", "worker", "/q", "--concurrency", "2"}, "sh", "-c", "cat")...)
	_, cmd.Stdout = pipetest.Stalled(t)
	z := start(t, cmd)
	for _, id := range []string{"x", "y"} {
		assert.Equal(t, id, b.give(0, id, "/q", "--id", id, "--wait").out.String())
	}
	z.signal(syscall.SIGTERM)
	z.ends(0)
}

// TestSecondSignalEndsACommandThatWritesTooMuch at once, also during its grace.
func TestSecondSignalEndsACommandThatWritesTooMuch(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	const grace = 9 * time.Second
	w := b.start(under(longest, grace, []string{"task", "worker", "/q"}, "sh", "-c", `trap "" TERM; while :; do echo yesyesyesyesyesyesyesyesyesyes; done`)...)
	b.give(0, "", "/q", "--id", "x")
	w.says("began")
	<-time.After(3 * time.Second) // the command has written too much
	w.signal(syscall.SIGTERM)
	eventually(t, func() bool { return strings.Contains(w.err.String(), "draining") }, "it drains")
	begun := time.Now()
	w.signal(syscall.SIGTERM)
	w.ends(exit.CodeSignal + int(syscall.SIGTERM))
	require.Less(t, time.Since(begun), grace)
}
