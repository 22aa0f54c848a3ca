package rwlock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// dir is where most tests have their lock.
const dir = "/locks/a"

// World is a world with read/write locks.
type World struct{ *world.World }

// inWorld runs body in a bubble with a server; so may be nil.
func inWorld(t *testing.T, so *zktest.Options, body func(w *World)) {
	t.Helper()
	world.In(t, so, func(w *world.World) { body(&World{w}) })
}

// new is a lock of a client of its own.
func (w *World) new() *rwlock.RWMutex { w.Helper(); return rwlock.New(w.Client(), dir, nil) }

// take is a method that locks.
type take = func(context.Context) (*rwlock.Held, error)

// get locks, and must succeed within a virtual minute.
func (w *World) get(f take) *rwlock.Held {
	w.Helper()
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	h, err := f(ctx)
	require.NoError(w, err)
	require.NoError(w, h.Context().Err())
	return h
}

// unlock unlocks, and must succeed.
func (w *World) unlock(h *rwlock.Held) { w.Helper(); require.NoError(w, h.Unlock(w.Ctx)) }

// won is the outcome of a lock that is waited for beside the test.
type won struct {
	held *rwlock.Held
	err  error
	at   time.Time
}

// startTake starts f and returns once it waits, or has ended.
func (w *World) startTake(ctx context.Context, f take) <-chan won {
	out := make(chan won, 1)
	// The bubble waits for it; it ends with ctx at the latest.
	go func() {
		h, err := f(ctx)
		out <- won{h, err, time.Now()}
	}()
	w.Settle()
	return out
}

// pending wants those behind outs to be waiting still.
func (w *World) pending(outs ...<-chan won) {
	w.Helper()
	for i, out := range outs {
		select {
		case g := <-out:
			w.Fatalf("waiter %d returned (%v) when it should wait", i, g.err)
		default:
		}
	}
}

// granted wants the lock of out to have been granted by now.
func (w *World) granted(out <-chan won) *rwlock.Held {
	w.Helper()
	w.Settle()
	select {
	case g := <-out:
		require.NoError(w, g.err)
		require.NoError(w, g.held.Context().Err())
		return g.held
	default:
		w.Fatal("still waiting")
		return nil
	}
}

func isLoss(err error) bool { return errors.Is(err, session.ErrLost) }
