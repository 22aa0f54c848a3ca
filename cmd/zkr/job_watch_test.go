package main

import (
	"encoding/json"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// TestWatchAndWaitHearOfAWorkerThatDies, of its return, of a new size, and of how
// the job ends.
func TestWatchAndWaitHearOfAWorkerThatDies(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "2")
	old, _ := b.worker("words", "old", "0")
	watching := []*zkrProcess{b.start("job", "workers", "words", "--watch"), b.start("job", "workers", "words", "--watch", "-o", "json")}
	lines := 0
	shows := func(what ...string) { // both, so that neither skips it
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

	// It dies, with its session.
	old.signal(syscall.SIGKILL)
	old.wait()
	owner, _ := b.owner(live("words", id))
	require.NoError(t, b.srv.ExpireSession(owner))
	shows("failed     0  old  incarnation 1  -  missing: 0-1\n")
	joined.running()
	finished.running()

	new2, openNew := b.worker("words", "new", "0", "--address", "h:1")
	shows("joined     1  new  incarnation 1  h:1  missing: 0\n")
	joined.ends(0)
	back, openBack := b.worker("words", "old", "0")
	assert.Equal(t, "in 0\n", back.out.String(), "its id again")
	shows("restarted  0  old  incarnation 2  -  nobody is missing\n")

	job, err := workerctl.Attach(b.ctx, b.client(), "words", nil)
	require.NoError(t, err)
	require.NoError(t, job.Scale(b.ctx, 3))
	shows("resized    2 of 3 workers joined, 0 left; missing: 2\n")
	require.NoError(t, job.Scale(b.ctx, 2))
	shows("resized    2 of 2 workers joined, 0 left; nobody is missing\n")

	openNew()
	new2.ends(0)
	shows("left       1  new  incarnation 1  h:1  nobody is missing\n")
	finished.running()
	b.slowRemoval()
	openBack()
	back.ends(0)
	shows("left       0  old  incarnation 2  -  nobody is missing\n", "finished   the job is over\n")
	assert.Empty(t, finished.ends(0).err.String())
	for _, z := range watching {
		z.ends(0)
	}
	golden(t, "job-workers-watch", watching[0].out.String())
	var events []string
	for line := range strings.Lines(watching[1].out.String()) {
		var e jobEvent
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
		"present old", "ready: 1", "failed old: 0-1", "joined new: 0", "restarted old: ", "resized: 2", "resized: ",
		"left new: ", "left old: ", "finished",
	}, events)
}

// TestKilledJobEndsWatchAndWait, whoever has joined; only who watches wanted no
// more than that.
func TestKilledJobEndsWatchAndWait(t *testing.T) {
	t.Parallel()
	for name, joins := range map[string]bool{"nobody has joined": false, "somebody has joined": true} {
		t.Run(name, func(t *testing.T) {
			b := newBed(t)
			run := strings.TrimSuffix(live("words", b.submit("words", "2")), "live")
			watch := b.start("job", "workers", "words", "--watch")
			joined, finished := b.start("job", "wait", "words"), b.start("job", "wait", "words", "--for", "finished")
			watch.says("ready ")
			eventually(t, func() bool {
				all := b.srv.Watches()
				return len(all[run+"state"]) == 2 && len(all[run+"full"]) == 1
			}, "they wait")
			if joins {
				w, _ := b.worker("words", "a", "0")
				watch.says("joined     0  a")
				defer func() {
					assert.Contains(t, w.ends(exitLost).err.String(), "lost the place in the job words, and stopped the command")
				}()
			}
			b.slowRemoval()
			b.run("job", "kill", "words").ends(0)
			assert.True(t, strings.HasSuffix(watch.ends(0).out.String(), "killed     the job is over\n"), watch.out)
			assert.Contains(t, joined.ends(exitFailed).err.String(), "the job is over")
			assert.Contains(t, finished.ends(exitFailed).err.String(), "the job words was not finished, but killed")
		})
	}
}

// TestWhoJoinsBeforeTheRosterIsReadHasJoined, and was not present: that the job is
// there, with nobody in it, has been said before.
func TestWhoJoinsBeforeTheRosterIsReadHasJoined(t *testing.T) {
	var out text
	r, stdout, err := os.Pipe()
	require.NoError(t, err)
	w := &jobWatch{app: &app{stdout: stdout}, states: map[int]workerctl.State{}}
	require.NoError(t, w.resize(jobStatus{State: "submitted", Workers: 3}))
	for id, state := range []workerctl.State{"running", "left", "failed"} {
		m := workerctl.Member{ID: id, Incarnation: 1, State: state}
		require.NoError(t, w.change(workerctl.Change{What: "present", Member: m}))
	}
	require.NoError(t, stdout.Close())
	_, err = io.Copy(&out, r)
	require.NoError(t, err)
	for _, says := range []string{"ready ", "joined     0    incarnation 1  -  missing: 1-2\n", "left       1    incarnation 1  -  missing: 2\n", "failed     2    incarnation 1  -  missing: 2\n"} {
		assert.Contains(t, out.String(), says)
	}
}

// TestJobWatchGoesOnOverALostSession, and ends with 0 when it is interrupted.
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
