package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// unanswered begins a change by c1, whose link is slow, and returns after the
// change was applied and its answer lost, before c1 looks for the outcome.
func (w *World) unanswered(change func(ctx context.Context) error) <-chan error {
	w.Helper()
	w.Server.Delay(linkOf(1), zktest.ToServer, 100*time.Millisecond)
	w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks && r.Client == "c1" }, 1,
		zktest.Action{Do: zktest.DropReplyCut})
	said := make(chan error, 1)
	// The tests wait for this goroutine; it ends with the change.
	go func() { said <- change(w.Ctx) }()
	w.Pass(220 * time.Millisecond)
	return said
}

func TestCancelIsMadeOnceAndARequeueAfterItCounts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, other := w.queue(), w.queue()
		w.submit(q, dispatch.Task{ID: "x"})
		said := w.unanswered(func(ctx context.Context) error { return q.Cancel(ctx, "x") })
		require.Equal(w, "canceled", string(w.get(other, "x").State))
		require.NoError(w, other.Requeue(w.Ctx, "x"))
		require.NoError(w, <-said)
		require.Equal(w, "waiting", string(w.get(other, "x").State))
	})
}

// The outcome of an unanswered change stays unknown if the task has gone, also if
// another task has its id by now. The other task is left alone.
func TestChangeOfATaskThatHasGoneIsNotDenied(t *testing.T) {
	for name, x := range map[string]struct {
		dead bool
		do   func(q *dispatch.Queue, ctx context.Context) error
	}{
		"cancel":  {false, func(q *dispatch.Queue, ctx context.Context) error { return q.Cancel(ctx, "x") }},
		"requeue": {true, func(q *dispatch.Queue, ctx context.Context) error { return q.Requeue(ctx, "x") }},
	} {
		for _, again := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c, events := w.ClientObserved(world.IsUnknown)
					q, other := dispatch.New(c, path, nil), w.queue()
					submit := func() {
						w.submit(other, dispatch.Task{ID: "x"})
						if x.dead {
							require.NoError(w, other.Cancel(w.Ctx, "x"))
						}
					}
					submit()
					said := w.unanswered(func(ctx context.Context) error { return x.do(q, ctx) })
					if x.dead {
						require.NoError(w, other.Cancel(w.Ctx, "x"))
					}
					w.collect(other, "x")
					var before dispatch.Info
					if again {
						submit()
						before = w.get(other, "x")
					}
					err := <-said
					require.ErrorIs(w, err, session.ErrUnknownOutcome)
					require.NotErrorIs(w, err, dispatch.ErrNoTask)
					w.ToldUnknown(events, "tasks", path, name+" a task of", err)
					if again {
						require.Equal(w, before, w.get(other, "x"))
					}
				})
			})
		}
	}
}
