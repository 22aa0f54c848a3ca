package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Releases with a context that ends with the release.

func TestSeveralLocksOrPermitsAreReleasedWithTheirOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g, err := lock.All(newMutexes(w.Client(), "/c", "/d")...).Lock(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, g.Unlock(g.Context()))
		require.Empty(w, append(w.Children("/c"), w.Children("/d")...))

		for _, o := range []*lock.Options{nil, {CuratorV2: true}} {
			p := w.acquire(lock.NewSemaphore(w.Client(), "/s", 3, o), 2)
			require.NoError(w, p.Release(p.Context()))
		}
	})
}

// A context derived from two holds releases both.
func TestWorkMayReleaseLocksWithTheContextThatItGot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m, n := lock.New(w.Client(), "/l", nil), lock.New(w.Client(), "/n", nil)
		require.NoError(w, m.Do(w.Ctx, func(ctx context.Context, outer *lock.Held) error {
			return n.Do(ctx, func(ctx context.Context, inner *lock.Held) error {
				ctx, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				require.NoError(w, outer.Unlock(ctx))
				return inner.Unlock(ctx)
			})
		}))
		require.Empty(w, append(w.Children("/l"), w.Children("/n")...))
	})
}

// The caller's context and the deadline of the release still bound a release whose
// context is derived from the hold's context; the end of the hold does not end the
// release.
func TestReleaseWithItsOwnContextEndsWithTheCallersAndWithItsDeadline(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), "/l", nil)
		for _, in := range []time.Duration{time.Second, time.Minute} {
			caller, cancel := context.WithTimeout(w.Ctx, 2*time.Second)
			start := time.Now()
			err := m.Do(caller, func(ctx context.Context, h *lock.Held) error {
				w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
				ctx, cancel := context.WithTimeout(ctx, in)
				defer cancel()
				return h.Unlock(ctx)
			})
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.Equal(w, min(in, 2*time.Second), time.Since(start))
			cancel()
			w.Server.Heal()
			w.Pass(time.Minute)
			require.Empty(w, w.Children("/l"))
		}
	})
}
