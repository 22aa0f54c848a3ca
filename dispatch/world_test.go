package dispatch_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// path is where most tests have their queue.
const path = "/queue"

// World is a world with a queue.
type World struct {
	*world.World

	// mu guards the fields below: heartbeats by session.
	mu    sync.Mutex
	beats map[int64]int
}

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{World: w}) })
}

// role is a master or a worker running concurrently with a test.
type role struct {
	stop context.CancelFunc
	done chan error
}

// end stops the role and waits for its end.
func (r *role) end() error {
	r.stop()
	return <-r.done
}

// beside runs a role until its end or the world's end.
func (w *World) beside(run func(ctx context.Context) error) *role {
	ctx, cancel := context.WithCancel(w.Ctx)
	r := &role{cancel, make(chan error, 1)}
	// The clean-up waits for the role; ends with ctx.
	go func() { r.done <- run(ctx); close(r.done) }()
	w.Cleanup(func() { cancel(); <-r.done })
	return r
}

// master runs a master with a client of its own.
func (w *World) master(o *dispatch.Options) *role {
	c := w.Client()
	return w.beside(dispatch.NewMaster(c, path, o).Run)
}

// worker runs a worker with a client of its own.
func (w *World) worker(h dispatch.Handler, o *dispatch.WorkerOptions) *role {
	c := w.Client()
	return w.beside(dispatch.NewWorker(c, path, h, o).Run)
}

// queue is a client of the queue, with a connection of its own.
func (w *World) queue() *dispatch.Queue { return dispatch.New(w.Client(), path, nil) }

// submit submits within a virtual minute.
func (w *World) submit(q *dispatch.Queue, t dispatch.Task) string {
	w.Helper()
	id, err := q.Submit(w.Within(time.Minute), t)
	require.NoError(w, err)
	return id
}

// collect waits for the end of a task, and removes it.
func (w *World) collect(q *dispatch.Queue, id string) dispatch.Result {
	w.Helper()
	r, err := q.Collect(w.Within(10*time.Minute), id)
	require.NoError(w, err)
	return r
}

// get is how a task stands.
func (w *World) get(q *dispatch.Queue, id string) dispatch.Info {
	w.Helper()
	in, err := q.Get(w.Within(time.Minute), id)
	require.NoError(w, err)
	return in
}

// echo is a handler that returns its payload.
func echo(_ context.Context, a *dispatch.Attempt) ([]byte, error) { return a.Payload, nil }

// takes is a handler that works for this duration, or until its context ends.
func takes(d time.Duration) dispatch.Handler {
	return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		world.SleepContext(ctx, d)
		return a.Payload, ctx.Err()
	}
}

// numbered is the n-th task of a test.
func numbered(n int) dispatch.Task {
	return dispatch.Task{ID: fmt.Sprintf("task-%03d", n), Payload: fmt.Appendf(nil, "%d", n)}
}

// remains lists the znodes of tasks, results, assignments and workers.
func remains(s *zktest.Server) []string {
	var out []string
	for _, n := range s.Dump() {
		rest, inside := strings.CutPrefix(n.Path, path+"/")
		if !inside {
			continue
		}
		elems := strings.Split(rest, "/")
		deep := map[string]int{"tasks": 3, "data": 3, "results": 3, "workers": 2, "alive": 2}[elems[0]]
		if deep > 0 && len(elems) >= deep {
			out = append(out, rest)
		}
	}
	return out
}

// empty wants nothing to be left but folders, within two minutes.
func (w *World) empty() {
	w.Helper()
	for range 120 {
		if len(remains(w.Server)) == 0 {
			return
		}
		w.Pass(time.Second)
	}
	require.Empty(w, remains(w.Server))
}

// linkOf is the link of the world's n-th client.
func linkOf(n int) zktest.Link { return zktest.Link{Client: fmt.Sprintf("c%d", n)} }
