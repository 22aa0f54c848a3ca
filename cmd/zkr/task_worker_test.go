//go:build unix

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// assignment waits for the only assignment of the queue.
func (b *bed) assignment(queue string) (out zktest.Node) {
	b.Helper()
	eventually(b.T, func() bool {
		for _, w := range b.contenders(queue + "/workers") {
			for _, name := range b.contenders(queue + "/workers/" + w) {
				n, err := b.srv.Get(queue + "/workers/" + w + "/" + name)
				out = n
				return err == nil
			}
		}
		return false
	}, "an assignment")
	return out
}

func TestEnvironmentOfATask(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	gate := filepath.Join(t.TempDir(), "gate")
	w := b.serves("/q", "while [ ! -e "+gate+" ]; do sleep 0.1; done; env")
	b.give(0, "", "/q", "--id", "a b", "--retries", "2", "--deadline", "2126-01-02T03:04:05Z")
	node := b.assignment("/q")
	worker, err := b.srv.Get(strings.Replace(filepath.Dir(node.Path), "/workers/", "/alive/", 1))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	env := map[string]string{}
	for line := range strings.Lines(b.run("task", "wait", "/q", "a b").ends(0).out.String()) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		if strings.HasPrefix(key, "ZKR_") && !ofTests(key) {
			env[key] = value
		}
	}
	assert.Equal(t, map[string]string{
		"ZKR_TASK_ID": "a b", "ZKR_ATTEMPT": "1", "ZKR_MAX_ATTEMPTS": "3", "ZKR_TOKEN": strconv.FormatInt(node.Czxid, 10), "ZKR_QUEUE": "/q",
		"ZKR_ASSIGNMENT": node.Path, "ZKR_SESSION": cli.SessionID(worker.EphemeralOwner), "ZKR_DEADLINE": "2126-01-02T03:04:05Z",
	}, env)
	w.says("  done     a b  attempt 1 of 3\n")
	assert.Regexp(t, `(?m)  began    a b  attempt 1 of 3\n.*  done     a b  attempt 1 of 3\n$`, w.out.String())
}

// TestCommandNeedNotReadNorWrite, and can do as much as there may be, but no more.
func TestCommandNeedNotReadNorWrite(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	b.serves("/q", `case $ZKR_TASK_ID in
		deaf) ;; echo) cat;; more) cat; echo;; endless) trap "" TERM; while :; do echo yes; done;;
		closes) exec >&-; cat >/dev/null;; esac`, "--concurrency", "4")
	most := strings.Repeat("x", taskcmd.MaxOutput)
	assert.Empty(t, b.give(0, most, "/q", "--id", "deaf", "--wait").out.String())
	assert.Equal(t, most, b.give(0, most, "/q", "--id", "echo", "--wait").out.String())
	assert.Empty(t, b.give(0, most, "/q", "--id", "closes", "--wait").out.String())
	for _, id := range []string{"more", "endless"} {
		z := b.give(exit.CodeTaskFailed, most, "/q", "--id", id, "--wait")
		assert.Equal(t, "zkr: the task "+id+" has failed: permanent failure: the output has more than 1000000 bytes\n", z.err.String())
	}
}

// TestEndOfStderrSaysWhy an attempt has failed; all of stderr is passed on.
func TestEndOfStderrSaysWhy(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	w := b.serves("/q", `case $ZKR_TASK_ID in
		long) seq -f "line %g" 1000 >&2; printf '\377 end' >&2; exit 1;; killed) kill -KILL $$;; esac; /no/such/command`)
	give := func(id string) string {
		b.give(exit.CodeTaskDead, "", "/q", "--id", id, "--retries", "0", "--wait")
		return b.taskIs("/q", id).LastFailure
	}
	why := give("long")
	assert.Regexp(t, "^exit code 1: line \\d+\nline ", why, "from the beginning of a line on")
	assert.True(t, strings.HasSuffix(why, "line 1000\n\ufffd end"), why)
	assert.Less(t, len(why), taskcmd.TailLength+50)
	assert.Equal(t, "exit code 137", give("killed"))
	assert.Contains(t, give("absent"), "exit code 127: ")
	eventually(t, func() bool { return strings.Contains(w.err.String(), "line 1\nline 2\n") }, "stderr is passed on")
	w.says("failed   killed  attempt 1 of 1  exit code 137")
	z := b.run("task", "worker", "/q", "--", "/no/such/command").ends(exit.CodeNotFound)
	assert.Contains(t, z.err.String(), "cannot run /no/such/command")
	b.run("task", "worker", "/q", "--", t.TempDir()).ends(exit.CodeCannotRun)
}

// TestCommandEndsWithItsTask: the task is canceled, or the deadline is over.
// The command is asked to end, then killed with all its descendants; a later
// result is refused.
func TestCommandEndsWithItsTask(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	file := filepath.Join(t.TempDir(), "beat")
	script := fmt.Sprintf(`trap 'echo asked >&2; exit 0' TERM; %q %s %s.$ZKR_TASK_ID.daemon daemon; case $ZKR_TASK_ID in
		polite*) while :; do sleep 0.1; done;; esac; exec %q %s %s.$ZKR_TASK_ID stubborn`,
		os.Args[0], helpDaemon, file, os.Args[0], helpBeat, file)
	w := b.serves("/q", script, "--concurrency", "3")
	b.give(0, "", "/q", "--id", "polite-late", "--deadline", "15s")
	b.give(0, "", "/q", "--id", "stubborn")
	b.give(0, "", "/q", "--id", "polite")
	for _, id := range []string{"stubborn", "polite", "polite-late"} {
		beating(t, file+"."+id+".daemon")
	}
	beating(t, file+".stubborn")
	b.run("task", "cancel", "/q", "stubborn", "polite").ends(0)
	for _, id := range []string{"polite", "stubborn", "polite-late"} {
		w.says("  stopped  " + id + "  ")
		silent(t, file+"."+id+".daemon")
	}
	silent(t, file+".stubborn")
	eventually(t, func() bool { return strings.Count(w.err.String(), "asked\n") == 2 }, "both polite ones were asked to end")
	b.untilTask("/q", "polite-late", "failed")
	assert.EqualValues(t, "canceled", b.taskIs("/q", "polite").State)
	assert.EqualValues(t, "canceled", b.taskIs("/q", "stubborn").State)
	w.running()
}

// TestLostTasksCommandIsGoneBefore the master can know of the loss, and the
// next worker makes the next attempt, with a greater token.
func TestLostTasksCommandIsGoneBefore(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	beat := filepath.Join(t.TempDir(), "beat")
	// The worker comes back, as a new worker, and may be given the task again.
	script := fmt.Sprintf(`[ $ZKR_ATTEMPT = 1 ] || { echo $ZKR_ATTEMPT $ZKR_TOKEN; exit; }; %q %s %s.daemon daemon; exec %q %s %s.command stubborn`,
		os.Args[0], helpDaemon, beat, os.Args[0], helpBeat, beat)
	w := b.start(losing([]string{"task", "worker", "/q"}, "sh", "-c", script)...)
	b.give(0, "", "/q", "--id", "a")
	beating(t, beat+".daemon")
	beating(t, beat+".command")
	token := b.assignment("/q").Czxid
	owner, znode := b.owner("/q/alive")
	b.srv.BlackHole(zktest.Link{Session: owner}, zktest.Both)
	freed := b.freed(owner, znode)
	for _, file := range []string{beat + ".daemon", beat + ".command"} {
		assert.Positive(t, freed.Sub(silent(t, file)), "the last beat is before")
	}
	var attempt int
	var next int64
	_, err := fmt.Sscan(b.run("task", "wait", "/q", "a").ends(0).out.String(), &attempt, &next)
	require.NoError(t, err)
	assert.Equal(t, 2, attempt)
	assert.Greater(t, next, token)
	w.says("trust ran out")
	w.says("done     a  attempt 2 of 5")
}

// TestWorkerThatIsTakenForDeadKillsAtOnce: its znode goes, and its session stays.
// Others are given its tasks then, whatever the grace.
func TestWorkerThatIsTakenForDeadKillsAtOnce(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	beat := filepath.Join(t.TempDir(), "beat")
	script := fmt.Sprintf(`[ $ZKR_ATTEMPT = 1 ] && exec %q %s %s stubborn`, os.Args[0], helpBeat, beat) // the worker comes back
	w := b.start("task", "worker", "/q", "--session-timeout", longest.String(), "--grace", "9s", "--", "sh", "-c", script)
	b.give(0, "", "/q", "--retries", "1")
	beating(t, beat)
	_, znode := b.owner("/q/alive")
	at := time.Now()
	require.NoError(t, b.srv.Delete(znode))
	w.says("stopped  ")
	assert.Less(t, silent(t, beat).Sub(at), 9*time.Second, "without the grace")
}

// TestFirstSignalDrainsTheSecondStops_M22: unfinished tasks are given back,
// without counting the attempt.
func TestFirstSignalDrainsTheSecondStops_M22(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	gate := filepath.Join(t.TempDir(), "gate")
	w := b.serves("/q", `trap 'echo usr1 >&2' USR1; trap "" TERM; echo ready >&2; while [ ! -e `+gate+` ]; do sleep 0.1; done; echo $ZKR_ATTEMPT`, "--prefetch", "1")
	b.give(0, "", "/q", "--id", "a")
	w.says("began    a")
	b.give(0, "", "/q", "--id", "b")
	b.untilTask("/q", "b", "assigned")
	eventually(t, func() bool { return strings.Contains(w.err.String(), "ready\n") }, "the command heeds signals")
	w.signal(syscall.SIGUSR1)
	eventually(t, func() bool { return strings.Contains(w.err.String(), "usr1") }, "the signal is passed on")
	w.signal(syscall.SIGTERM)
	b.untilTask("/q", "b", "waiting")
	w.running()
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	assert.Contains(t, w.ends(0).err.String(), "zkr: draining: waiting for the running commands; a second signal kills them\n")
	assert.Equal(t, "1\n", b.run("task", "wait", "/q", "a").ends(0).out.String())
	assert.Empty(t, b.contenders("/q/alive"))

	require.NoError(t, os.Remove(gate))
	w = b.serves("/q", `trap "" TERM; while [ ! -e `+gate+` ]; do sleep 0.1; done; echo $ZKR_ATTEMPT`)
	w.says("began    b")
	w.signal(syscall.SIGHUP)
	eventually(t, func() bool { return strings.Contains(w.err.String(), "draining") }, "it drains")
	w.signal(syscall.SIGINT)
	assert.Contains(t, w.ends(130).err.String(), "everything was given back: ended by signal 2")
	assert.Contains(t, w.out.String(), "stopped  b")
	b.untilTask("/q", "b", "waiting")
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	w = b.serves("/q", "echo $ZKR_ATTEMPT")
	assert.Equal(t, "1\n", b.run("task", "wait", "/q", "b").ends(0).out.String())
	w.signal(syscall.SIGHUP)
	assert.Contains(t, w.ends(129).err.String(), "everything was given back: ended by signal 1")
}

// TestKilledWorkersCommandsEnd with the worker, and with a killed supervisor;
// the attempt counts.
func TestKilledWorkersCommandsEnd(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	dir := t.TempDir()
	script := fmt.Sprintf(`echo $PPID >%s/keeper.$ZKR_ATTEMPT; exec %q %s %s/beat.$ZKR_ATTEMPT stubborn`, dir, os.Args[0], helpBeat, dir)
	w := b.start("task", "worker", "/q", "--session-timeout", "8s", "--", "sh", "-c", script)
	b.give(0, "", "/q", "--id", "a", "--backoff", "1ms")
	beating(t, dir+"/beat.1")
	require.NoError(t, syscall.Kill(pidIn(t, dir+"/keeper.1"), syscall.SIGKILL))
	beating(t, dir+"/beat.2")
	silent(t, dir+"/beat.1")
	assert.Equal(t, "signal 9", b.taskIs("/q", "a").LastFailure)
	w.signal(syscall.SIGKILL)
	eventually(t, func() bool { return dead(t, pidIn(t, dir+"/keeper.2")) }, "the keeper ends")
	silent(t, dir+"/beat.2")
	b.serves("/q", "echo $ZKR_ATTEMPT")
	assert.Equal(t, "3\n", b.run("task", "wait", "/q", "a").ends(0).out.String())
}
