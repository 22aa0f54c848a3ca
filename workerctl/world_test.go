package workerctl_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// root and path are where most tests have their job.
const (
	root = "/twister2"
	path = root + "/words"
)

// World is a world with jobs.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// named is a worker's identity.
func named(name string) workerctl.Identity { return workerctl.Identity{Name: name} }

// nth is the identity of the n-th worker of a test.
func nth(n int) workerctl.Identity { return named(fmt.Sprintf("worker-%d", n)) }

// submit submits the job of n workers.
func (w *World) submit(c *session.Client, workers int) *workerctl.Job {
	w.Helper()
	return w.submitSpec(c, workerctl.Spec{Name: "words", Workers: workers})
}

func (w *World) submitSpec(c *session.Client, spec workerctl.Spec) *workerctl.Job {
	w.Helper()
	j, err := workerctl.Submit(w.Within(time.Minute), c, spec, nil)
	require.NoError(w, err)
	return j
}

// attach finds the job by another client.
func (w *World) attach(c *session.Client) *workerctl.Job {
	w.Helper()
	j, err := workerctl.Attach(w.Within(time.Minute), c, "words", nil)
	require.NoError(w, err)
	return j
}

// join joins within a virtual minute.
func (w *World) join(j *workerctl.Job, identity workerctl.Identity) *workerctl.Worker {
	w.Helper()
	k, err := j.Join(w.Within(time.Minute), identity)
	require.NoError(w, err)
	return k
}

// crew returns n joined workers, in order, each with its own client.
func (w *World) crew(n int) []*workerctl.Worker {
	w.Helper()
	var out []*workerctl.Worker
	for i := range n {
		out = append(out, w.join(w.attach(w.Client()), nth(i)))
		require.Equal(w, i, out[i].ID())
	}
	return out
}

// leave leaves within a virtual minute.
func (w *World) leave(k *workerctl.Worker) {
	w.Helper()
	require.NoError(w, k.Leave(w.Within(time.Minute)))
}

// info is how the job stands.
func (w *World) info(j *workerctl.Job) workerctl.Info {
	w.Helper()
	in, err := j.Info(w.Within(time.Minute))
	require.NoError(w, err)
	return in
}

// removed wants nothing of the job to be left.
func (w *World) removed() {
	w.Helper()
	require.NoError(w, nothingLeft(w.Server))
}

// nothingLeft is nil if nothing of any job is left.
func nothingLeft(s *zktest.Server) error {
	for _, n := range s.Dump() {
		if strings.HasPrefix(n.Path, root+"/") && !strings.HasPrefix(n.Path, root+"/.") {
			return fmt.Errorf("%s is left", n.Path)
		}
	}
	return nil
}

// result is the result of a call that ran concurrently with the test.
type result struct {
	round int64
	err   error
	at    time.Time
}

// beside starts f and returns when f waits or has ended.
func (w *World) beside(f func(ctx context.Context) (int64, error)) <-chan result {
	out := make(chan result, 1)
	// The bubble waits for this goroutine; it ends with the world's context at
	// the latest.
	go func() {
		n, err := f(w.Ctx)
		out <- result{n, err, time.Now()}
	}()
	w.Settle()
	return out
}

// pending wants the call of out to be waiting still.
func (w *World) pending(out <-chan result) {
	w.Helper()
	select {
	case r := <-out:
		w.Fatalf("it returned (%v) when it should wait", r.err)
	default:
	}
}

// besideUnsettled is beside without waiting for anything.
func (w *World) besideUnsettled(f func(ctx context.Context) (int64, error)) <-chan result {
	out := make(chan result, 1)
	// The bubble waits for this goroutine; it ends with the world's context at
	// the latest.
	go func() {
		n, err := f(w.Ctx)
		out <- result{n, err, time.Now()}
	}()
	return out
}

// BlackHole drops everything that k's session sends and receives.
func (w *World) BlackHole(k *workerctl.Worker) {
	w.Server.BlackHole(zktest.Link{Session: k.Session().ID()}, zktest.Both)
}

// linkOf is the link of the world's n-th client.
func linkOf(n int) zktest.Link { return zktest.Link{Client: fmt.Sprintf("c%d", n)} }

func isDelete(r zktest.Request) bool { return r.Op == "delete" }

// countRemovals counts how often the job was deleted.
func countRemovals(w *World) *int {
	n := 0
	w.Server.OnApply(func(txn zktest.Txn) {
		if txn.Op == "multi" && txn.Code == 0 && len(txn.Paths) == 3 && txn.Paths[2] == path {
			n++
		}
	})
	return &n
}
