//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// leads starts a master, and waits for its leadership.
func (b *bed) leads(queue string, flags ...string) *zkrProcess {
	b.Helper()
	m := b.start(append([]string{"task", "master", queue}, flags...)...)
	m.says("leads  ")
	return m
}

// serves starts a worker whose command is a script, and waits until the worker
// is registered.
func (b *bed) serves(queue, script string, flags ...string) *zkrProcess {
	b.Helper()
	before := len(b.contenders(queue + "/alive"))
	w := b.start(running(append([]string{"task", "worker", queue}, flags...), "sh", "-c", script)...)
	eventually(b.T, func() bool { return len(b.contenders(queue+"/alive")) > before }, "it takes tasks")
	return w
}

// give submits a task with stdin as its payload, and returns the zkr.
func (b *bed) give(code int, stdin, queue string, flags ...string) *zkrProcess {
	b.Helper()
	cmd := b.command(append([]string{"task", "submit", queue}, flags...)...)
	cmd.Stdin = strings.NewReader(stdin)
	return start(b.T, cmd).ends(code)
}

// taskIs is the task in the output of "show".
func (b *bed) taskIs(queue, id string) (t taskcmd.Task) {
	b.Helper()
	text := b.run("task", "show", queue, id, "-o", "json").ends(0).out.String()
	require.NoError(b, json.Unmarshal([]byte(text), &t), text)
	return t
}

// untilTask waits until the task is in that state.
func (b *bed) untilTask(queue, id string, state dispatch.State) {
	b.Helper()
	eventually(b.T, func() bool { return b.taskIs(queue, id).State == state }, "%s is %s", id, state)
}

// TestResultIsWhatTheCommandWrote, byte for byte, and the exit code says how the task
// has ended.
func TestResultIsWhatTheCommandWrote(t *testing.T) {
	b := newBed(t)
	id := strings.TrimSpace(b.give(0, "early\x00\n\xff", "/q").out.String())
	assert.Regexp(t, `^[0-9a-f-]{36}$`, id)
	b.leads("/q")
	b.serves("/q", `read x; case $x in bad) echo oops >&2; exit 3;; worse) exit 4;; esac; echo "$x"; cat`, "--permanent", "4")
	assert.Equal(t, "early\n\xff", strings.ReplaceAll(b.run("task", "wait", "/q", id).ends(0).out.String(), "\x00", ""))
	assert.Equal(t, "now\nthen", b.give(0, "now\nthen", "/q", "--wait").out.String())
	z := b.give(exit.CodeTaskDead, "bad\n", "/q", "--id", "bad", "--retries", "1", "--backoff", "1ms", "--wait")
	assert.Empty(t, z.out.String())
	assert.Equal(t, "zkr: the task bad is dead: exit code 3: oops\n", z.err.String())
	assert.Equal(t, 2, b.taskIs("/q", "bad").Attempt)
	z = b.give(exit.CodeTaskFailed, "worse\n", "/q", "--wait", "-o", "json", "--collect", "--id", "worse")
	var r taskcmd.Result
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &r), z.out)
	assert.WithinDuration(t, time.Now(), r.Finished, limit)
	r.Worker, r.Submitted, r.Assigned, r.Finished = "", time.Time{}, time.Time{}, time.Time{}
	assert.Equal(t, taskcmd.Result{ID: "worse", State: "failed", Error: "permanent failure: exit code 4", Attempt: 1}, r)
	assert.Equal(t, `{"error":"the task worse has failed: permanent failure: exit code 4","code":65}`+"\n", z.err.String())
	z = b.run("task", "wait", "/q", "worse").ends(exit.CodeFailed) // collected before
	assert.Contains(t, z.err.String(), "no such task: \"worse\"\nzkr: \"zkr task ls /q\" lists the tasks")

	z = b.run("task", "wait", "/q", id, "-o", "json", "--collect").ends(0)
	require.NoError(t, json.Unmarshal([]byte(z.out.String()), &r), z.out)
	assert.EqualValues(t, "done", r.State)
	assert.NotEmpty(t, r.Base64, "it is not text")
	b.run("task", "show", "/q", id).ends(exit.CodeFailed)
}

// TestTasksAreListed without a master and a worker.
func TestTasksAreListed(t *testing.T) {
	b := newBed(t)
	b.empty("no znode /q: no client uses the path now, or the path is misspelled", "task", "ls", "/q")
	assert.Equal(t, `{"queue":"/q","exists":false,"tasks":[]}`+"\n", b.run("task", "ls", "/q", "-o", "json").ends(0).out.String())
	b.give(0, "", "/q", "--id", "one", "--data", "1", "--retries", "0", "--priority", "-7", "--label", "zone=a", "--label", "gpu",
		"--retention", "90m", "--delay", "1h", "--deadline", "2126-01-02T03:04:05Z")
	b.give(0, "2", "/q", "--id", "two")
	assert.Equal(t, `{"queue":"/q","id":"\u001b[2J"}`+"\n", b.give(0, "3", "/q", "--id", "\x1b[2J", "-o", "json").out.String())
	b.run("task", "cancel", "/q", "two").ends(0)
	golden(t, "task-ls", columns(b.run("task", "ls", "/q").ends(0).out.String()))
	golden(t, "task-show", columns(b.run("task", "show", "/q", "one").ends(0).out.String()))
	golden(t, "task-stats-idle", b.run("task", "stats", "/q").ends(0).out.String())
	z := b.run("task", "ls", "/q", "--quiet").ends(0)
	assert.Equal(t, "one\ntwo\n", z.out.String())
	assert.Contains(t, z.err.String(), `left out: "\x1b[2J"`)
	assert.Equal(t, "two\n", b.run("task", "ls", "/q", "-q", "--state", "dead,canceled").ends(0).out.String())
	one := b.taskIs("/q", "one")
	assert.WithinDuration(t, time.Now(), one.Submitted, limit)
	assert.WithinDuration(t, one.Submitted.Add(time.Hour), one.NotBefore, time.Second)
	one.Submitted, one.NotBefore = time.Time{}, time.Time{}
	assert.Equal(t, taskcmd.Task{
		ID: "one", State: "waiting", Attempt: 1, MaxAttempts: 1, Priority: -7, Labels: []string{"gpu", "zone=a"},
		Deadline: time.Date(2126, 1, 2, 3, 4, 5, 0, time.UTC), Retention: "1h30m0s", DeadKept: "720h0m0s", WaitsFor: "a worker",
	}, one)

	// A foreign znode is listed with its fault.
	node, err := b.srv.Get("/q/tasks")
	require.NoError(t, err)
	bucket := b.contenders(node.Path)[0]
	b.plant(node.Path+"/"+bucket+"/stranger {", "/q/alive/stranger {")
	assert.Regexp(t, `(?m)^stranger +invalid .*not a record of this package`, b.run("task", "ls", "/q").ends(0).out.String())
	assert.Contains(t, b.run("task", "stats", "/q").ends(0).out.String(), "1 invalid")
}

// TestSameIDIsTheSameTask, and a full queue takes no other.
func TestSameIDIsTheSameTask(t *testing.T) {
	b := newBed(t)
	m := b.leads("/q", "--max-tasks", "1", "--id", "m")
	b.give(0, "a", "/q", "--id", "a")
	eventually(t, func() bool { return len(b.contenders("/q/admission")) == 0 }, "the master closes the queue")
	z := b.give(exit.CodeBusy, "b", "/q")
	assert.Contains(t, z.err.String(), "the queue is full\nzkr: \"zkr task stats /q\" shows the tasks")
	assert.Equal(t, "a\n", b.give(0, "a", "/q", "--id", "a").out.String())
	z = b.give(exit.CodeBusy, "b", "/q", "--id", "a")
	assert.Contains(t, z.err.String(), "another payload: \"a\"\nzkr: \"zkr task show /q a\" shows")
	eventually(t, func() bool { // the master publishes its counts after the task has begun to wait
		return strings.Contains(b.run("task", "stats", "/q").ends(0).out.String(), "/q takes no tasks: it is full at 1\n1 waiting,")
	}, "the task is counted")
	b.give(exit.CodeUsage, strings.Repeat("x", taskcmd.MaxPayload+1), "/q")
	m.signal(syscall.SIGTERM)
	m.ends(0)
}

// TestOneThatCannotBeChangedKeepsNoOther: the other tasks are changed.
func TestOneThatCannotBeChangedKeepsNoOther(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	b.serves("/q", `read x; exit $x`)
	for id, code := range map[string]string{"fine": "0\n", "bad": "1\n", "worst": "1\n"} {
		b.give(0, code, "/q", "--id", id, "--retries", "0")
	}
	for id, state := range map[string]dispatch.State{"fine": "done", "bad": "dead", "worst": "dead"} {
		b.untilTask("/q", id, state)
	}
	z := b.run("task", "cancel", "/q", "fine", "absent", "bad").ends(exit.CodeFailed)
	assert.Equal(t, 2, strings.Count(z.err.String(), "not in this state"), z.err)
	assert.Contains(t, z.err.String(), `no such task: "absent"`)
	before := b.taskIs("/q", "worst").Finished
	cmd := b.command("task", "requeue", "/q", "fine", "-")
	cmd.Stdin = strings.NewReader("bad\nworst\n")
	start(t, cmd).ends(exit.CodeFailed)
	eventually(t, func() bool { return b.taskIs("/q", "worst").Finished.After(before) }, "it was retried")
	b.give(0, "1\n", "/q", "--id", "later", "--delay", "1h")
	b.run("task", "cancel", "/q", "later").ends(0)
	b.run("task", "cancel", "/q", "later").ends(0)
	assert.Equal(t, "zkr: the task later is canceled: canceled by request\n", b.run("task", "wait", "/q", "later").ends(exit.CodeTaskCanceled).err.String())
}

// TestWaitingForATaskEnds in time, or by a signal; an attached task ends with
// the wait.
func TestWaitingForATaskEnds(t *testing.T) {
	b := newBed(t)
	b.give(0, "x", "/q", "--id", "a")
	z := b.run("task", "wait", "/q", "a", "--timeout", "5s").ends(exit.CodeBusy)
	assert.Equal(t, "zkr: timed out after 5s waiting for the task a\n", z.err.String())
	waits := func(id string, flags ...string) *zkrProcess {
		z := b.start(append([]string{"task", "submit", "/q", "--id", id, "--wait"}, flags...)...)
		eventually(t, func() bool {
			for path := range b.srv.Watches() {
				if strings.HasPrefix(path, "/q/results/") && strings.HasSuffix(path, "/"+id) {
					return true
				}
			}
			return false
		}, "it waits")
		return z
	}
	attached, lasting := waits("attached", "--attached"), waits("lasting")
	for _, z := range []*zkrProcess{attached, lasting} {
		z.signal(syscall.SIGINT)
		assert.Contains(t, z.ends(130).err.String(), "gave up waiting for the task ")
	}
	b.leads("/q")
	b.untilTask("/q", "attached", "canceled")
	assert.EqualValues(t, "waiting", b.taskIs("/q", "lasting").State)
}

// TestSubmissionThatIsNotAnswered is unknown, and can be looked for.
func TestSubmissionThatIsNotAnswered(t *testing.T) {
	b := newBed(t)
	b.give(0, "x", "/q", "--id", "a") // makes the queue's folders
	b.run("task", "cancel", "/q", "a").ends(0)
	b.run("task", "wait", "/q", "a", "--collect").ends(exit.CodeTaskCanceled)
	b.srv.OnRequest(func(r zktest.Request) zktest.Action {
		if r.Op == "multi" && !r.OnlyChecks && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasPrefix(p, "/q/tasks/") }) {
			return zktest.Action{Do: zktest.DelayReply, For: time.Minute}
		}
		return zktest.Action{}
	})
	z := b.give(exit.CodeUnknown, "x", "/q", "--id", "a", "--connect-timeout", "5s")
	assert.Contains(t, z.err.String(), "\nzkr: \"zkr task show /q a\" shows whether the task exists; submitting it again with the same --id has no effect if it exists\n")
	assert.EqualValues(t, "waiting", b.taskIs("/q", "a").State)
}

// TestStatsShowTasksAndWorkers, and each change, over a lost session.
func TestStatsShowTasksAndWorkers(t *testing.T) {
	b := newBed(t)
	gate := filepath.Join(t.TempDir(), "gate")
	b.leads("/q", "--id", "m")
	w := b.serves("/q", "while [ ! -e "+gate+" ]; do sleep 0.1; done", "--name", "w", "--label", "gpu", "--concurrency", "2", "--prefetch", "1")
	watch := []*zkrProcess{
		b.start("task", "stats", "/q", "--watch", "--interval", "20ms"), b.start("task", "stats", "/q", "--watch", "--interval", "20ms", "-o", "json"),
	}
	watch[0].says("  0 waiting, 0 assigned, 0 done, 0 failed, 0 canceled, 0 dead; 1 worker with 0 of 3 tasks; m leads, term 0, token ")
	for range 4 {
		b.give(0, "", "/q")
	}
	watch[0].says("1 waiting, 3 assigned, 0 done, 0 failed, 0 canceled, 0 dead; 1 worker with 3 of 3 tasks; m leads")
	text := columns(b.run("task", "stats", "/q").ends(0).out.String())
	golden(t, "task-stats", regexp.MustCompile(`token \d+`).ReplaceAllString(regexp.MustCompile(`~[0-9a-f]{16}`).ReplaceAllString(text, "~<id>"), "token <token>"))
	watching, err := b.srv.Get("/q/alive/" + b.contenders("/q/alive")[0])
	require.NoError(t, err)
	leading, _ := b.owner("/q/masters")
	for _, s := range b.srv.Sessions() {
		if s.ID != watching.EphemeralOwner && s.ID != leading {
			require.NoError(t, b.srv.ExpireSession(s.ID))
		}
	}
	require.NoError(t, os.WriteFile(gate, nil, 0o600))
	for _, z := range watch {
		eventually(t, func() bool {
			return strings.Contains(z.out.String(), "4 done") || strings.Contains(z.out.String(), `"done":4`)
		}, "it goes on")
		z.signal(syscall.SIGINT)
		z.ends(0)
	}
	for line := range strings.Lines(watch[1].out.String()) {
		var s taskcmd.Stats
		require.NoError(t, json.Unmarshal([]byte(line), &s), line)
		require.Len(t, s.Workers, 1)
		assert.Equal(t, "w", s.Workers[0].Name)
		assert.Equal(t, []string{"gpu"}, s.Workers[0].Labels)
		assert.Equal(t, "m", s.Master)
	}
	w.running()
}

// TestMastersShowTheLeader, and another master takes over after a kill.
func TestMastersShowTheLeader(t *testing.T) {
	b := newBed(t)
	one := b.leads("/q", "--id", "one", "--session-timeout", "8s")
	two, three := b.start("task", "master", "/q", "--id", "two"), b.start("task", "master", "/q", "-o", "json")
	two.says("  stands by  one leads, term 0, token ")
	eventually(t, func() bool { return len(b.contenders("/q/masters")) == 3 }, "three stand")
	three.says(`"leads":false,"leader":{"state":"leads","id":"one"`)
	one.signal(syscall.SIGKILL)
	one.wait()
	eventually(t, func() bool { return len(b.contenders("/q/masters")) == 2 }, "one is gone")
	eventually(t, func() bool { // the order of the candidates is chance
		return strings.Contains(two.out.String(), "  leads  ") != strings.Contains(three.out.String(), `"leads":true`)
	}, "another master leads")
	b.serves("/q", "cat")
	assert.Equal(t, "x", b.give(0, "x", "/q", "--wait").out.String())
	for _, z := range []*zkrProcess{two, three} {
		z.signal(syscall.SIGTERM)
		assert.Empty(t, z.ends(0).err.String())
	}
}
