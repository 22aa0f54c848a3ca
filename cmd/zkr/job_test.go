//go:build unix

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/jobcmd"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// submit submits a job and returns its id.
func (b *bed) submit(name, workers string, flags ...string) (id string) {
	b.Helper()
	z := b.run(append([]string{"job", "submit", name, "--workers", workers}, flags...)...).ends(0)
	return strings.TrimSpace(z.out.String())
}

// worker starts a zkr as a worker of the job, until its gate opens; CMD then
// ends with the code.
func (b *bed) worker(job, identity, code string, flags ...string) (z *zkrProcess, open func()) {
	b.Helper()
	gate := filepath.Join(b.TempDir(), "gate")
	args := append([]string{"job", "join", job, "--identity", identity}, flags...)
	z = b.start(running(args, "sh", "-c", "echo in $ZKR_WORKER_ID; while [ ! -e "+gate+" ]; do sleep 0.1; done; exit "+code)...)
	z.says("in ")
	return z, func() { require.NoError(b, os.WriteFile(gate, nil, 0o600)) }
}

// live is where the live nodes are of a job's workers.
func live(job, id string) string {
	return "/twister2/" + job + "/" + strings.ReplaceAll(id, "-", "")[:16] + "/live"
}

// jobs reads "zkr job ls -o json".
func (b *bed) jobs(flags ...string) []jobcmd.Info {
	b.Helper()
	var got struct{ Jobs []jobcmd.Info }
	text := b.run(append([]string{"job", "ls", "-o", "json"}, flags...)...).ends(0).out.String()
	require.NoError(b, json.Unmarshal([]byte(text), &got), text)
	return got.Jobs
}

func TestJobIsSubmittedListedKilledAndRemoved(t *testing.T) {
	b := newBed(t)
	b.empty("there are no jobs below /twister2", "job", "ls")
	assert.Equal(t, `{"root":"/twister2","jobs":[]}`+"\n", b.run("job", "ls", "-o", "json").ends(0).out.String())
	id := b.submit("words", "3", "--meta", "owner=me", "--meta", "in=a=b", "--reuse-ids")
	z := b.run("job", "submit", "words", "--workers", "2").ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the job words is submitted, and waits for its workers\nzkr: \"zkr job kill words\" ends the job")
	z = b.run("job", "rm", "words").ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), "the job words is submitted, and waits for its workers\nzkr: \"zkr job kill words\" ends the job")
	text := b.run("job", "submit", "a\x1b[2J", "--workers", "1", "-o", "json").ends(0).out.String()
	assert.Contains(t, text, `"name":"a\u001b[2J"`)
	b.worker("words", "w", "0")
	for _, line := range []string{"job submit words --workers 2", "job rm words"} {
		z = b.run(strings.Fields(line)...).ends(exit.CodeBusy)
		assert.Contains(t, z.err.String(), "the job is running\nzkr: \"zkr job kill words\" ends the job")
	}

	table := columns(b.run("job", "ls").ends(0).out.String())
	golden(t, "job-ls", regexp.MustCompile(`  [0-9a-f]{8}  `).ReplaceAllString(table, "  <short>  "))
	assert.Contains(t, table, "  "+id[:8]+"  ")
	all := b.jobs()
	require.Len(t, all, 2)
	assert.WithinDuration(t, time.Now(), all[1].Created, limit)
	all[1].Created = time.Time{}
	assert.Equal(t, jobcmd.Info{
		Name: "words", ID: id, State: "running", Workers: 3, Joined: 1, Running: 1, ReuseIDs: true,
		Metadata: map[string]string{"owner": "me", "in": "a=b"}, Path: "/twister2/words",
	}, all[1])

	assert.Empty(t, b.run("job", "kill", "words").ends(0).out.String())
	assert.Len(t, b.jobs(), 1)
	for _, sub := range []string{"kill", "rm", "workers", "wait"} {
		z = b.run("job", sub, "words").ends(exit.CodeFailed)
		assert.Contains(t, z.err.String(), "no such job\nzkr: \"zkr job ls\" lists the jobs")
	}
	z = b.run("job", "wait", "other", "--for", "finished").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "no such job")
	z = b.run("job", "wait", "words", "--for", "finished").ends(exit.CodeFailed)
	assert.Contains(t, z.err.String(), "the job words was not finished, but killed")
	assert.NotEqual(t, id, b.submit("words", "1"))
}

// TestRemovalThatWasNotCompletedIsCompleted: the worker that finished the job
// died before the removal of the job. "ls" shows the job, and "rm" removes the
// job.
func TestRemovalThatWasNotCompletedIsCompleted(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "1")
	state := strings.TrimSuffix(live("words", id), "live") + "state"
	require.NoError(t, b.srv.Set(state, []byte(`{"state":"finished","workers":1,"next":1,"left":1,"joins":1}`)))
	all := b.jobs()
	require.Len(t, all, 1)
	assert.EqualValues(t, "finished", all[0].State)
	b.run("job", "wait", "words", "--for", "finished").ends(0)
	b.run("job", "wait", "words", "--timeout", "1m").ends(0)
	w := b.run("job", "workers", "words", "--watch").ends(0)
	assert.Contains(t, w.out.String(), "finished   the job is over\n")
	b.run("job", "rm", "words").ends(0)
	assert.Empty(t, b.jobs())
}

// TestEndOfAJobThatWasNotSeenIsNotMadeUp: the status is gone without an
// outcome.
func TestEndOfAJobThatWasNotSeenIsNotMadeUp(t *testing.T) {
	b := newBed(t)
	run := strings.TrimSuffix(live("words", b.submit("words", "1")), "live")
	watch, wait := b.start("job", "workers", "words", "--watch"), b.start("job", "wait", "words", "--for", "finished")
	eventually(t, func() bool {
		all := b.srv.Watches()
		return len(all[run+"state"]) == 1 && len(all[run+"size"]) == 2
	}, "they follow it")
	s, err := b.client().Session(b.ctx)
	require.NoError(t, err)
	_, err = s.Txn(b.ctx, session.DeleteOp(run+"state", -1), session.DeleteOp(run+"size", -1)) // no client sees a state with one of them
	require.NoError(t, err)
	assert.Contains(t, wait.ends(exit.CodeUnknown).err.String(), "wait for the end of /twister2/words: the job is over")
	watch.ends(0)
	assert.True(t, strings.HasSuffix(watch.out.String(), "over       removed; the outcome is unknown\n"), watch.out)
}

func TestRootOfJobsComesFromFlagOrEnvironment(t *testing.T) {
	b := newBed(t)
	b.submit("one", "1", "--root", "/a/jobs")
	z := start(t, with(b.command("job", "submit", "two", "--workers", "1"), "ZKR_JOB_ROOT=/b")).ends(0)
	assert.NotEmpty(t, z.out.String())
	z = start(t, with(b.command("job", "ls"), "ZKR_JOB_ROOT=/b")).ends(0)
	assert.Contains(t, z.out.String(), "\ntwo ")
	all := b.jobs("--root", "/a/jobs")
	require.Len(t, all, 1)
	assert.Equal(t, "/a/jobs/one", all[0].Path)
	z = start(t, with(b.command("job", "ls", "--root", "/a/jobs"), "ZKR_JOB_ROOT=b", "ZKR_JOB_JOIN_WAIT=10s")).ends(0)
	assert.Contains(t, z.out.String(), "\none ", "the command line goes first")
	z = b.run("job", "rm", "one", "--root", "/a/jobs").ends(exit.CodeBusy)
	assert.Contains(t, z.err.String(), `"zkr job kill one --root /a/jobs" ends the job`)

	for env, says := range map[string]string{
		"ZKR_JOB_ROOT=b": "ZKR_JOB_ROOT", "ZKR_JOB_ROOT=/": "ZKR_JOB_ROOT", "ZKR_JOB_JOIN_WAIT=soon": `ZKR_JOB_JOIN_WAIT is "soon"`,
		"ZKR_JOB_ABANDONED=-1s": "ZKR_JOB_ABANDONED",
	} {
		z = start(t, with(b.command("job", "ls"), env)).ends(exit.CodeUsage)
		assert.Contains(t, z.err.String(), says)
	}
	b.waitsInVain("zkr: timed out after 5s waiting for the workers of the job two", "; 1 of 1 are missing: 0\n", func() *zkrProcess {
		return start(t, with(b.command("job", "wait", "two"), "ZKR_JOB_ROOT=/b", "ZKR_JOB_JOIN_WAIT=5s"))
	})
}

func TestJobWorkersShowsStatesAndMissingIDs(t *testing.T) {
	b := newBed(t)
	id := b.submit("words", "5")
	assert.Equal(t, "words is submitted: 0 of 5 workers joined, 0 running, 0 left, 0 failed, 0 dead; missing: 0-4\n",
		b.run("job", "workers", "words").ends(0).out.String())
	b.run(running([]string{"job", "join", "words", "--identity", "a"}, "false")...).ends(1)
	b.run(running([]string{"job", "join", "words", "--identity", "b"}, "true")...).ends(0)
	b.worker("words", "c\x1b[2J", "0", "--address", "10.0.0.1:90", "--address", "h:1", "--node", "n", "--rack", "r", "--data-center", "d", "--kv", "k=v=w")
	golden(t, "job-workers", columns(b.run("job", "workers", "words").ends(0).out.String()))
	var got struct {
		Job     jobcmd.Info
		Workers []jobcmd.Worker
		Missing string
	}
	text := b.run("job", "workers", "words", "-o", "json").ends(0).out.String()
	require.NoError(t, json.Unmarshal([]byte(text), &got), text)
	assert.Equal(t, id, got.Job.ID)
	assert.Equal(t, "0, 3-4", got.Missing)
	require.Len(t, got.Workers, 3)
	for i, state := range []workerctl.State{"dead", "left", "running"} {
		assert.Equal(t, i, got.Workers[i].ID)
		assert.Equal(t, state, got.Workers[i].State)
	}
	last := got.Workers[2]
	assert.WithinDuration(t, time.Now(), last.Joined, limit)
	last.Joined, last.Changed = time.Time{}, time.Time{}
	assert.Equal(t, jobcmd.Worker{
		ID: 2, Identity: "c\x1b[2J", Incarnation: 1, State: "running", Addresses: []string{"10.0.0.1:90", "h:1"},
		Node: "n", Rack: "r", DataCenter: "d", KV: map[string]string{"k": "v=w"},
	}, last)
}

// waitsInVain requires of a wait that ends by its timeout that it says so, and names the
// missing workers. After a timeout there is one second to find them out, which may be too
// short on a busy machine: the message is then without them, and the wait begins again.
func (b *bed) waitsInVain(says, names string, wait func() *zkrProcess) {
	b.Helper()
	var said string
	named := soon(func() bool {
		said = wait().ends(exit.CodeBusy).err.String()
		require.True(b, strings.HasPrefix(said, says), said)
		return said == says+names
	})
	require.True(b, named, said)
}

func TestJobWaitNamesTheMissingWorkers(t *testing.T) {
	b := newBed(t)
	run := strings.TrimSuffix(live("words", b.submit("words", "4")), "live")
	all, finished := b.start("job", "wait", "words"), b.start("job", "wait", "words", "--for", "finished")
	eventually(t, func() bool { return len(b.srv.Watches()[run+"size"]) == 2 }, "it follows the job")
	_, open := b.worker("words", "a", "0")
	b.run(running([]string{"job", "join", "words", "--identity", "b"}, "false")...).ends(1)
	b.waitsInVain("zkr: timed out after 15s waiting for the workers of the job words", "; 2 of 4 are missing: 2-3\n", func() *zkrProcess {
		return b.start("job", "wait", "words", "--timeout", "15s")
	})
	open()
	eventually(t, func() bool { return b.jobs()[0].Left == 1 }, "a has left")
	b.waitsInVain(`{"error":"timed out after 15s waiting for the job words to be finished`, `; 3 of 4 are missing: 1-3; dead: 1","code":75}`+"\n", func() *zkrProcess {
		return b.start("job", "wait", "words", "--for", "finished", "--timeout", "15s", "-o", "json")
	})
	all.running()
	b.worker("words", "c", "0")
	b.worker("words", "d", "0")
	assert.Empty(t, all.ends(0).err.String(), "all have joined, whatever has become of them")
	finished.running()
	finished.signal(syscall.SIGINT)
	assert.Contains(t, finished.ends(130).err.String(), "gave up waiting for the job words to be finished")
}

// TestFinishedJobIsFoundFinishedLater, and a job with a failed worker is told
// apart.
func TestFinishedJobIsFoundFinishedLater(t *testing.T) {
	b := newBed(t)
	ctx := b.ctx
	for _, reason := range []string{"", "out of memory"} {
		job, err := workerctl.Submit(ctx, b.client(), workerctl.Spec{Name: "words", Workers: 1}, nil)
		require.NoError(t, err)
		w, err := job.Join(ctx, workerctl.Identity{Name: "a"})
		require.NoError(t, err)
		if reason != "" {
			require.NoError(t, w.Fail(ctx, reason))
			z := b.run("job", "wait", "words", "--for", "finished").ends(exit.CodeFailed)
			assert.Contains(t, z.err.String(), "the job words was not finished, but failed: 1 of 1 worker failed")
			continue
		}
		require.NoError(t, w.Leave(ctx))
		z := b.run("job", "wait", "words", "--for", "finished").ends(0)
		assert.Contains(t, z.err.String(), "the job words ended at ")
	}
}

// TestJanitorRemovesAbandonedJobs: at the second look, when the time is over.
func TestJanitorRemovesAbandonedJobs(t *testing.T) {
	b := newBed(t)
	b.submit("words", "1")
	assert.Contains(t, b.run("job", "janitor", "--abandoned", "1ms").ends(0).err.String(), "no job was removed")
	assert.Equal(t, "words\n", b.run("job", "janitor", "--abandoned", "1ms").ends(0).out.String())
	assert.Equal(t, `{"removed":[]}`+"\n", b.run("job", "janitor", "-o", "json").ends(0).out.String())
	w := b.start("job", "janitor", "--watch")
	eventually(t, func() bool {
		_, err := b.srv.Get("/twister2/.janitor")
		return err == nil
	}, "it stands for election")
	w.signal(syscall.SIGTERM)
	w.ends(0)
	b.run("job", "janitor", "--abandoned", "-1s").ends(exit.CodeUsage)
}

// TestJobWithoutARecordIsRemovedByForce, and a job with a record is not.
func TestJobWithoutARecordIsRemovedByForce(t *testing.T) {
	b := newBed(t)
	b.submit("words", "1")
	b.run("job", "rm", "words", "--force").ends(exit.CodeBusy)
	require.NoError(t, b.srv.Set("/twister2/words", []byte(`{"format":2}`)))
	assert.Contains(t, b.run("job", "rm", "words", "--force").ends(exit.CodeFailed).err.String(), "format 2")
	require.NoError(t, b.srv.Set("/twister2/words", []byte("garbage")))
	assert.Contains(t, b.run("job", "rm", "words").ends(exit.CodeFailed).err.String(), `("zkr job rm --force") deletes the znode`)
	b.run("job", "rm", "words", "--force").ends(0)
	b.submit("words", "1")
}
