//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestWorkersTellTheirCommandsTheirIdentity(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "2", "--root", "/jobs")
	env := environmentOf(b, []string{"job", "join", "words", "--address", "h:1", "--root", "/jobs"})
	assert.True(t, strings.HasPrefix(env["ZKR_WORKER_PATH"], strings.Replace(live("words", id), "/twister2", "/jobs", 1)+"/0-1-"), env)
	b.mu.Lock()
	applied := slices.Clone(b.applied)
	b.mu.Unlock()
	made := slices.IndexFunc(applied, func(txn zktest.Txn) bool { return slices.Contains(txn.Paths, env["ZKR_WORKER_PATH"]) })
	require.GreaterOrEqual(t, made, 0)
	txn := applied[made]
	assert.Equal(t, cli.SessionID(txn.Session), env["ZKR_WORKER_SESSION"])
	assert.Equal(t, fmt.Sprint(txn.Zxid), env["ZKR_WORKER_TOKEN"])
	for _, changes := range []string{"ZKR_WORKER_PATH", "ZKR_WORKER_SESSION", "ZKR_WORKER_TOKEN"} {
		delete(env, changes)
	}
	assert.Equal(t, map[string]string{
		"ZKR_WORKER_ID": "0", "ZKR_WORKER_COUNT": "2", "ZKR_WORKER_IDENTITY": "h:1", "ZKR_WORKER_INCARNATION": "1",
		"ZKR_WORKER_JOB": "words", "ZKR_WORKER_JOB_ID": id, "ZKR_JOB_ROOT": "/jobs",
	}, env)
	host, err := os.Hostname()
	require.NoError(t, err)
	env = environmentOf(b, []string{"job", "join", "words", "--root", "/jobs"})
	assert.Equal(t, host, env["ZKR_WORKER_IDENTITY"])
	assert.Empty(t, b.jobs("--root", "/jobs"), "the last one out has removed the job")
}

// TestWorkerHasFinishedIfItsCommandEndsWellOnly: otherwise the worker comes
// back, with the same id, the next incarnation and a greater token.
func TestWorkerHasFinishedIfItsCommandEndsWellOnly(t *testing.T) {
	b := newBed(t)
	b.submit("words", "1")
	join := []string{"job", "join", "words", "--identity", "a"}
	show := "echo $ZKR_WORKER_ID $ZKR_WORKER_INCARNATION; "
	for script, code := range map[string]int{"exit 3": 3, "kill -TERM $$": 143} {
		z := b.run(running(join, "sh", "-c", show+script)...).ends(code)
		assert.Empty(t, z.err.String())
		all := b.jobs()
		require.Len(t, all, 1)
		assert.Equal(t, 0, all[0].Running+all[0].Left, "it has failed, and zkr has taken it along")
	}
	b.run(running(join, broken(t))...).ends(exit.CodeNotFound)
	assert.Equal(t, 0, b.jobs()[0].Running+b.jobs()[0].Left)
	z := b.run(running([]string{"job", "join", "words", "--identity", "b"}, "true")...).ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the place in the job words is taken: ")
	assert.Contains(t, z.err.String(), "the job has all its workers\nzkr: \"zkr job workers words\" shows the holders")
	z = b.run(running(join, "sh", "-c", show)...).ends(0)
	assert.Equal(t, "0 4\n", z.out.String())
	assert.Empty(t, b.jobs())
	b.run(running(join, "true")...).ends(exit.CodeFailed)
}

// TestLostWorkersCommandIsGoneBefore the servers can tell others the worker's
// death.
func TestLostWorkersCommandIsGoneBefore(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "1")
	beat := filepath.Join(t.TempDir(), "beat")
	z := b.start(losing([]string{"job", "join", "words"}, stubbornFamily(beat)...)...)
	beating(t, beat+".child")
	beating(t, beat+".parent")
	owner, znode := b.owner(live("words", id))
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	z.ends(exit.CodeLost)
	freed := b.freed(owner, znode)
	for _, file := range []string{beat + ".child", beat + ".parent"} {
		assert.Positive(t, freed.Sub(silent(t, file)), "the last beat is before")
	}
	assert.Contains(t, z.err.String(), "trust ran out")
}

// TestNextSelfTakesThePlace: another process joins under the identity of a
// running worker, whose command is killed.
func TestNextSelfTakesThePlace(t *testing.T) {
	b := newBed(t)
	b.submit("words", "1")
	beat := filepath.Join(t.TempDir(), "beat")
	z := b.start(running([]string{"job", "join", "words", "--identity", "a"}, os.Args[0], helpBeat, beat, "stubborn")...)
	beating(t, beat)
	at := time.Now()
	next := b.run(running([]string{"job", "join", "words", "--identity", "a"}, "sh", "-c", "echo $ZKR_WORKER_ID $ZKR_WORKER_INCARNATION")...).ends(0)
	assert.Equal(t, "0 2\n", next.out.String())
	z.ends(exit.CodeLost)
	assert.Less(t, silent(t, beat).Sub(at), 12*time.Second, "before trust in its session would end")
	assert.Contains(t, z.err.String(), "KILL after 0s")
	assert.Empty(t, b.jobs())
}

// TestCompletionIsRecordedBeforeZkrEnds: the servers are away when the commands
// end with 0. zkr waits for them, or until a signal.
func TestCompletionIsRecordedBeforeZkrEnds(t *testing.T) {
	b := newBed(t)
	b.submit("words", "2")
	gate := filepath.Join(t.TempDir(), "gate")
	var all []*zkrProcess
	for _, identity := range []string{"a", "b"} {
		// The command ignores TERM, which is for its zkr, as soon as zkr waits.
		z := b.start(running([]string{"job", "join", "words", "--identity", identity}, "sh", "-c",
			"trap '' TERM; echo in; while [ ! -e "+gate+" ]; do sleep 0.1; done; echo out")...)
		z.says("in")
		all = append(all, z)
	}
	require.NoError(t, b.srv.Freeze(1))
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	for _, z := range all {
		z.says("out")
	}
	// A signal before zkr records anything is for the command; a signal at the
	// command's end would kill the command.
	for ended := false; !ended; {
		if err := all[1].cmd.Process.Signal(syscall.SIGTERM); !errors.Is(err, os.ErrProcessDone) {
			require.NoError(t, err)
		}
		select {
		case <-all[1].over:
			ended = true
		case <-time.After(2 * time.Second):
		}
	}
	all[1].ends(143)
	assert.Contains(t, all[1].err.String(), "the command has ended; gave up recording that")
	all[0].running()
	require.NoError(t, b.srv.Thaw(1))
	all[0].ends(0)
	if left := b.jobs(); len(left) > 0 { // the request of b may have been carried out
		assert.Equal(t, 1, left[0].Left)
	}
}

// TestWorkerLostBeforeItCouldLeaveHasNotFinished: the session expires after the
// end of the command, and before the end is recorded.
func TestWorkerLostBeforeItCouldLeaveHasNotFinished(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "1")
	z, open := b.worker("words", "a", "0")
	owner, _ := b.owner(live("words", id))
	b.srv.FailNth(func(r zktest.Request) bool { return r.Session == owner && r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.ExpireBefore})
	open()
	z.ends(exit.CodeLost)
	assert.Contains(t, z.err.String(), "the command has ended, but the place in the job words was lost before that was recorded")
	assert.Equal(t, 0, b.jobs()[0].Left)
}
