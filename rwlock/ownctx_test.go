package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// A downgrade ends the context that it is called with.
func TestLockIsDowngradedWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
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

func TestWorkMayDowngradeWithTheContextThatItGot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		require.NoError(w, m.Do(w.Ctx, func(ctx context.Context, h *rwlock.Held) error {
			require.True(w, h.Exclusive())
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
		require.NoError(w, m.RDo(w.Ctx, func(_ context.Context, h *rwlock.Held) error {
			require.False(w, h.Exclusive())
			return nil
		}))
	})
}
