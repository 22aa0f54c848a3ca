package dispatch_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A process stopped for longer than its session's lifetime does not know of the
// stop when it runs again. Neither does its clock. The test therefore expires
// the session while the worker is cut off and its handlers do not run, and then
// lets everything continue at once, before the worker could notice by itself.
// Its tasks have ended elsewhere by then, or run elsewhere: none of the
// worker's writes about them is accepted.
func TestAWorkerThatWakesUpAfterItsEndIsNotHeard_M24_P4(t *testing.T) {
	for order, first := range map[string]bool{"its handler is first": true, "its link is first": false} {
		for state, takes := range map[string]time.Duration{"they have ended": time.Second, "they are worked on": 20 * time.Second} {
			t.Run(state+", "+order, func(t *testing.T) {
				inWorld(t, nil, func(w *World) { zombie(w, takes, first) })
			})
		}
	}
}

// zombie freezes a worker with a running and a waiting task.
func zombie(w *World, takes time.Duration, handlerFirst bool) {
	w.master(nil)
	wake := make(chan struct{})
	var guard session.Op
	frozen := w.Client() // c2
	w.beside(dispatch.NewWorker(frozen, path, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		if guard = a.Guard(); a.ID == "task-000" && a.Number == 1 {
			<-wake
			if ctx.Err() != nil {
				return nil, fmt.Errorf("it knows that it is late: %w", ctx.Err())
			}
		}
		return []byte("the first"), nil
	}, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 1}).Run)
	w.Settle()
	q := w.queue()
	ids := []string{w.submit(q, numbered(0)), w.submit(q, numbered(1))}
	w.Settle()
	w.Server.BlackHole(linkOf(2), zktest.Both)
	stale, id := guard, w.ID(frozen)
	w.worker(func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) {
		world.SleepContext(ctx, takes)
		return []byte("the second"), ctx.Err()
	}, &dispatch.WorkerOptions{Concurrency: 2})
	w.Settle()
	require.NoError(w, w.Server.ExpireSession(id))
	w.Pass(3 * time.Second)
	require.Equal(w, id, w.ID(frozen), "the worker does not know of the loss")
	_, err := w.Session(w.Client()).Txn(w.Ctx, stale)
	require.ErrorIs(w, err, session.ErrNoNode, "its late writes are refused")
	if handlerFirst {
		close(wake)
		w.Pass(time.Millisecond)
	}
	w.Server.HealLink(linkOf(2))
	if !handlerFirst {
		close(wake)
	}
	w.Pass(takes)
	for i, id := range ids {
		r := w.collect(q, id)
		require.Equal(w, "the second", string(r.Output))
		require.Equal(w, 2-i, r.Attempt, "the second task had not begun")
	}
	w.Pass(30 * time.Second)
	w.Server.BlackHole(linkOf(4), zktest.Both)
	require.Equal(w, "the first", string(w.collect(q, w.submit(q, dispatch.Task{})).Output), "the worker has come back")
	w.Server.Heal()
}
