package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

// An attempt to take more permits than are free leaves no znode, and blocks no
// contender.
func TestTryThatFailsBlocksNoContender(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		a, b := lock.NewSemaphore(w.Client(), dir, 3, o), lock.NewSemaphore(w.Client(), dir, 3, o)
		two := w.acquire(a, 2)
		w.Settle()
		before := w.Server.Stats()
		_, err := a.TryAcquire(w.Ctx, 2)
		require.ErrorIs(w, err, lock.ErrBusy)
		for op, n := range w.Server.Stats().Requests {
			if strings.HasPrefix(op, "create") || strings.HasPrefix(op, "delete") {
				require.Equal(w, before.Requests[op], n, op)
			}
		}
		one, err := a.TryAcquire(w.Ctx, 1)
		require.NoError(w, err)
		require.NoError(w, one.Release(w.Ctx))
		w.Settle()
		other, err := b.TryAcquire(w.Ctx, 1)
		require.NoError(w, err)
		require.NoError(w, other.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
	})
}

// The clean-up of a call is carried out before the next request of the same client.
func TestNoCallIsInTheWayOfTheNext(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		s := lock.NewSemaphore(w.Client(), dir, 3, o)
		for range 3 {
			p, err := s.TryAcquire(w.Ctx, 1)
			require.NoError(w, err)
			defer p.Release(w.Ctx)
		}
	})
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		h := w.lock(lock.New(w.Client(), dir, nil))
		_, err := lock.New(c, dir, nil).Lock(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.unlock(h)
		h, err = lock.New(c, dir, nil).TryLock(w.Ctx)
		require.NoError(w, err)
		w.unlock(h)
	})
}
