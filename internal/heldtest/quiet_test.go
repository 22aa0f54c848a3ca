package heldtest

import (
	"bytes"
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// warnings are the lines of logs.
type warnings struct {
	mu   sync.Mutex // guards text
	text bytes.Buffer
}

// Write makes warnings the output of a logger.
func (l *warnings) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *warnings) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// healthy is a world without faults: two clients, and roles that run until stop.
type healthy struct {
	*world.World
	a, b    *session.Client
	ctx     context.Context
	running sync.WaitGroup
}

// run runs a role.
func (h *healthy) run(role func(context.Context) error) {
	// Waited for by the test; ends with ctx.
	h.running.Go(func() { require.NoError(h, role(h.ctx)) })
}

// work is what programs do.
func work() map[string]func(*healthy) {
	return map[string]func(*healthy){"tasks": doTasks, "resources": shareResources, "job": doJob, "holds": holdThings}
}

// inHealth does some work in a world without faults.
func inHealth(t *testing.T, o session.Options, work func(*healthy)) {
	t.Helper()
	world.In(t, nil, func(w *world.World) {
		h := &healthy{World: w, a: w.ClientWith(o), b: w.ClientWith(o)}
		var stop context.CancelFunc
		h.ctx, stop = context.WithCancel(w.Ctx)
		work(h)
		w.Pass(time.Minute)
		stop()
		h.running.Wait()
	})
}

// None of the recipes logs a warning as long as nothing goes wrong: answers that a recipe
// expects, such as that a znode exists already, are no failures.
func TestWorkWithoutFaultsLogsNoWarning(t *testing.T) {
	for name, do := range work() {
		t.Run(name, func(t *testing.T) {
			var log warnings
			inHealth(t, session.Options{Logger: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))}, do)
			require.Empty(t, log.String())
		})
	}
}

// A path in an event is a label of metrics: it has no part that is another one in each process,
// or in each session.
func TestPathsInEventsAreTheSameInEveryRun(t *testing.T) {
	for name, do := range work() {
		t.Run(name, func(t *testing.T) {
			var runs [2]map[string]bool
			for i := range runs {
				var mu sync.Mutex
				paths := map[string]bool{}
				inHealth(t, session.Options{Observer: observe.Func(func(_ context.Context, e observe.Event) {
					mu.Lock()
					defer mu.Unlock()
					paths[e.Name()+" "+pathOf(e)] = true
				})}, do)
				runs[i] = paths
			}
			require.Equal(t, runs[0], runs[1])
		})
	}
}

// pathOf is the path in an event; "" if it has none.
func pathOf(e observe.Event) string {
	switch e := e.(type) {
	case observe.WaitBegun:
		return e.Path
	case observe.HoldBegun:
		return e.Path
	case observe.RoundPassed:
		return e.Path
	case observe.BatchWritten:
		return e.Path
	case observe.CacheBegun:
		return e.Path
	case observe.MemberChanged:
		return e.Path
	case observe.Rebalanced:
		return e.Path
	case observe.CoordinationEnded:
		return e.Path
	case observe.AssignmentTaken:
		return e.Path
	case observe.TaskChanged:
		return e.Path
	}
	return ""
}

func doTasks(h *healthy) {
	for _, c := range []*session.Client{h.a, h.b} {
		h.run(dispatch.NewMaster(c, "/tasks", nil).Run)
		h.run(dispatch.NewWorker(c, "/tasks", func(context.Context, *dispatch.Attempt) ([]byte, error) { return nil, nil }, nil).Run)
	}
	for _, id := range []string{"a", "a", "b", "c"} {
		_, err := dispatch.New(h.a, "/tasks", nil).Submit(h.Ctx, dispatch.Task{ID: id})
		require.NoError(h, err)
	}
}

func shareResources(h *healthy) {
	group := rebalanser.Open(h.a, "/shares", nil)
	require.NoError(h, group.Create(h.Ctx))
	_, err := group.AddResources(h.Ctx, "r1", "r2", "r3")
	require.NoError(h, err)
	use := func(ctx context.Context, _ *rebalanser.Resource) error { <-ctx.Done(); return nil }
	for _, c := range []*session.Client{h.a, h.b} {
		h.run(rebalanser.New(c, "/shares", rebalanser.Each(use), nil).Run)
	}
}

func doJob(h *healthy) {
	job, err := workerctl.Submit(h.Ctx, h.a, workerctl.Spec{Name: "count", Workers: 2}, &workerctl.Options{Root: "/jobs"})
	require.NoError(h, err)
	var workers []*workerctl.Worker
	for _, name := range []string{"x", "y"} {
		w, err := job.Join(h.Ctx, workerctl.Identity{Name: name})
		require.NoError(h, err)
		workers = append(workers, w)
	}
	var meeting sync.WaitGroup
	for _, w := range workers {
		// Waited for below; ends when both have met.
		meeting.Go(func() {
			_, err := w.Barrier(h.Ctx, "step")
			require.NoError(h, err)
			require.NoError(h, w.Phase(h.Ctx, "merge"))
		})
	}
	meeting.Wait()
	for _, w := range workers {
		require.NoError(h, w.Leave(h.Ctx))
	}
}

func holdThings(h *healthy) {
	held, err := lock.New(h.a, "/lock", nil).Lock(h.Ctx)
	require.NoError(h, err)
	_, err = lock.New(h.b, "/lock", nil).TryLock(h.Ctx)
	require.ErrorIs(h, err, lock.ErrBusy)
	_, err = lock.New(h.b, "/lock", nil).Lock(h.Within(time.Second))
	require.ErrorIs(h, err, context.DeadlineExceeded)
	permits, err := lock.NewSemaphore(h.a, "/pool", 2, nil).Acquire(h.Ctx, 1)
	require.NoError(h, err)
	writer, err := rwlock.New(h.a, "/rw", nil).Lock(h.Ctx)
	require.NoError(h, err)
	reader, err := writer.Downgrade(h.Ctx)
	require.NoError(h, err)
	leader, err := election.New(h.a, "/leader", nil).Campaign(h.Ctx)
	require.NoError(h, err)
	for _, held := range []session.Held{held, permits, reader, leader} {
		require.NoError(h, held.Release(h.Ctx))
	}
	membership, err := discovery.NewGroup(h.a, "/group", nil).Join(h.Ctx, "me", nil)
	require.NoError(h, err)
	require.NoError(h, membership.Leave(h.Ctx))
	_, err = counter.New(h.a, "/count", nil).Add(h.Ctx, 42)
	require.NoError(h, err)
	gate := barrier.NewGate(h.a, "/gate", nil)
	require.NoError(h, gate.Set(h.Ctx))
	require.NoError(h, gate.Remove(h.Ctx))
	h.run(cache.NewTree(h.a, "/", func(n session.Node) (string, error) { return n.Path, nil }, nil).Run)
}
