//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/jobcmd"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestWatchAndWaitHearOfAWorkerThatDies, of its return, of a new size, and of how
// the job ends.
func TestWatchAndWaitHearOfAWorkerThatDies(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "2")
	old, _ := b.worker("words", "old", "0")
	watching := []*zkrProcess{b.start("job", "workers", "words", "--watch"), b.start("job", "workers", "words", "--watch", "-o", "json")}
	lines := 0
	shows := func(what ...string) { // both, so that neither skips the lines
		t.Helper()
		lines += len(what)
		for _, z := range watching {
			eventually(t, func() bool { return strings.Count(z.out.String(), "\n") == lines }, "%d lines", lines)
		}
		for _, one := range what {
			watching[0].says(one)
		}
	}
	shows("present    0  old  incarnation 1  -  running\n", "ready      1 of 2 workers joined, 0 left; missing: 1\n")
	joined, finished := b.start("job", "wait", "words"), b.start("job", "wait", "words", "--for", "finished")

	// The worker dies, with its session.
	old.signal(syscall.SIGKILL)
	old.wait()
	owner, _ := b.owner(live("words", id))
	require.NoError(t, b.srv.ExpireSession(owner))
	shows("dead       0  old  incarnation 1  -  missing: 0-1\n")
	joined.running()
	finished.running()

	new2, openNew := b.worker("words", "new", "0", "--address", "h:1")
	shows("joined     1  new  incarnation 1  h:1  missing: 0\n")
	joined.ends(0)
	back, openBack := b.worker("words", "old", "0")
	assert.Equal(t, "in 0\n", back.out.String(), "its id again")
	shows("restarted  0  old  incarnation 2  -  no worker is missing\n")

	job, err := workerctl.Attach(b.ctx, b.client(), "words", nil)
	require.NoError(t, err)
	require.NoError(t, job.Scale(b.ctx, 3))
	shows("resized    2 of 3 workers joined, 0 left; missing: 2\n")
	require.NoError(t, job.Scale(b.ctx, 2))
	shows("resized    2 of 2 workers joined, 0 left; no worker is missing\n")

	openNew()
	new2.ends(0)
	shows("left       1  new  incarnation 1  h:1  no worker is missing\n")
	finished.running()
	openBack()
	back.ends(0)
	shows("left       0  old  incarnation 2  -  no worker is missing\n", "finished   the job is over\n")
	assert.Empty(t, finished.ends(0).err.String())
	for _, z := range watching {
		z.ends(0)
	}
	golden(t, "job-workers-watch", watching[0].out.String())
	var events []string
	for line := range strings.Lines(watching[1].out.String()) {
		var e jobcmd.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		text := e.Event
		if e.Worker != nil {
			text += " " + e.Worker.Identity
		}
		if e.Missing != nil {
			text += ": " + *e.Missing
		}
		events = append(events, text)
	}
	assert.Equal(t, []string{
		"present old", "ready: 1", "dead old: 0-1", "joined new: 0", "restarted old: ", "resized: 2", "resized: ",
		"left new: ", "left old: ", "finished",
	}, events)
}

// TestKilledJobEndsWatchAndWait, with and without workers. The end is a success for
// "workers --watch", and a failure for "wait".
func TestKilledJobEndsWatchAndWait(t *testing.T) {
	t.Parallel()
	for name, joins := range map[string]bool{"no worker has joined": false, "a worker has joined": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			run := strings.TrimSuffix(live("words", b.submit("words", "2")), "live")
			watch := b.start("job", "workers", "words", "--watch")
			joined, finished := b.start("job", "wait", "words"), b.start("job", "wait", "words", "--for", "finished")
			watch.says("ready ")
			eventually(t, func() bool {
				all := b.srv.Watches()
				return len(all[run+"state"]) == 1 && len(all[run+"full"]) == 1 && len(all[run+"size"]) == 3
			}, "they wait")
			if joins {
				w, _ := b.worker("words", "a", "0")
				watch.says("joined     0  a")
				defer func() {
					assert.Contains(t, w.ends(exit.CodeLost).err.String(), "lost the place in the job words, and stopped the command")
				}()
			}
			b.run("job", "kill", "words").ends(0)
			assert.True(t, strings.HasSuffix(watch.ends(0).out.String(), "killed     the job is over\n"), watch.out)
			assert.Contains(t, joined.ends(exit.CodeFailed).err.String(), "the workers of the job words have not all joined: it was killed")
			assert.Contains(t, finished.ends(exit.CodeFailed).err.String(), "the job words was not finished, but killed")
		})
	}
}

// TestJobWatchGoesOnOverALostSession, and ends with 0 after an interrupt.
func TestJobWatchGoesOnOverALostSession(t *testing.T) {
	b := newBed(t)
	b.submit("words", "2")
	w := b.start("job", "workers", "words", "--watch")
	w.says("ready ")
	for _, s := range b.srv.Sessions() {
		require.NoError(t, b.srv.ExpireSession(s.ID))
	}
	b.worker("words", "a", "0")
	w.says("joined     0  a  incarnation 1  -  missing: 1\n")
	w.signal(syscall.SIGINT)
	w.ends(0)
}

// TestEndOfAJobIsShownHoweverSlowTheAnswers: the watches' events arrive when nothing is
// left of the job.
func TestEndOfAJobIsShownHoweverSlowTheAnswers(t *testing.T) {
	b := newBed(t)
	run := strings.TrimSuffix(live("words", b.submit("words", "2")), "live")
	watch, finished := b.start("job", "workers", "words", "--watch"), b.start("job", "wait", "words", "--for", "finished")
	watch.says("ready ")
	eventually(t, func() bool {
		all := b.srv.Watches()
		return len(all[run+"state"]) == 1 && len(all[run+"size"]) == 2
	}, "they wait")
	for _, sessions := range b.srv.Watches() {
		for _, id := range sessions {
			b.srv.BlackHole(zktest.Link{Session: id}, zktest.ToClient)
		}
	}
	b.run("job", "kill", "words").ends(0)
	assert.Empty(t, b.jobs())
	watch.running()
	b.srv.Heal()
	assert.True(t, strings.HasSuffix(watch.ends(0).out.String(), "killed     the job is over\n"), watch.out)
	assert.Contains(t, finished.ends(exit.CodeFailed).err.String(), "the job words was not finished, but killed")
}

// TestFailFastEndsTheWaitForAJob, and names the failed worker and the reason.
func TestFailFastEndsTheWaitForAJob(t *testing.T) {
	b := newBed(t)
	b.submit("words", "3")
	job, err := workerctl.Attach(b.ctx, b.client(), "words", nil)
	require.NoError(t, err)
	for _, name := range []string{"a", "b"} {
		w, err := job.Join(b.ctx, workerctl.Identity{Name: name})
		require.NoError(t, err)
		if name == "b" {
			require.NoError(t, w.Fail(b.ctx, "disk full"))
		}
	}
	for _, what := range []string{"joined", "finished"} {
		z := b.run("job", "wait", "words", "--for", what, "--fail-fast").ends(exit.CodeFailed)
		assert.Equal(t, "zkr: 1 worker of the job words died or failed; failed: 1; 1 failed: disk full\n", z.err.String())
	}
	assert.Contains(t, b.run("job", "workers", "words").ends(0).out.String(), "1   b         1            failed   disk full  -")
	in := b.jobs()[0]
	assert.Equal(t, []int{2, 1, 0, 1}, []int{in.Joined, in.Running, in.Left, in.Failed})
}
