package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Giving back, and downgrading, with the context that ends with that.
func TestLockIsReleasedAndDowngradedWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		for _, get := range []func(context.Context) (*rwlock.Held, error){m.Lock, m.RLock} {
			h := w.get(get)
			require.NoError(w, h.Unlock(h.Context()))
			require.Empty(w, w.Children(dir))
		}
		h := w.get(m.Lock)
		ctx, cancel := context.WithTimeout(h.Context(), time.Minute)
		defer cancel()
		r, err := h.Downgrade(ctx)
		require.NoError(w, err)
		_, err = h.Downgrade(ctx)
		require.ErrorIs(w, err, rwlock.ErrNotHeld)
		require.NoError(w, r.Unlock(ctx))
		require.Empty(w, w.Children(dir))
	})
}

func TestWorkMayReleaseAndDowngradeWithTheContextThatItGot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		require.NoError(w, m.Do(w.Ctx, func(ctx context.Context, h *rwlock.Held) error {
			r, err := h.Downgrade(ctx)
			if err != nil {
				return err
			}
			<-ctx.Done()
			require.ErrorIs(w, context.Cause(ctx), session.ErrReleased)
			require.Len(w, w.Children(dir), 1)
			return r.Context().Err()
		}))
		require.Empty(w, w.Children(dir))
		for _, do := range []func(context.Context, func(context.Context, *rwlock.Held) error) error{m.Do, m.RDo} {
			require.NoError(w, do(w.Ctx, func(ctx context.Context, h *rwlock.Held) error { return h.Unlock(ctx) }))
			require.Empty(w, w.Children(dir))
		}
	})
}
