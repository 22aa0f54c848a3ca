package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// This file tests requests with a context that comes from a hold.

// refused wants f to be refused at once, with nothing sent.
func (w *World) refused(c *session.Client, ctx context.Context, want error, fs ...take) {
	w.Helper()
	w.Settle() // the first heartbeat
	for _, f := range fs {
		before, began := w.Requests(c), time.Now()
		_, err := f(ctx)
		require.ErrorIs(w, err, want)
		require.ErrorContains(w, err, dir)
		require.Zero(w, time.Since(began))
		require.Equal(w, before, w.Requests(c))
	}
}

func TestUpgradeIsRefusedAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m, twin := rwlock.New(c, dir, nil), rwlock.New(c, dir, nil) // the same lock
		h := w.get(m.RLock)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(h.Context()), time.Hour)
		defer cancel()
		for _, ctx := range []context.Context{h.Context(), ctx} {
			w.refused(c, ctx, rwlock.ErrUpgrade, m.Lock, m.TryLock, twin.Lock)
			w.refused(c, ctx, rwlock.ErrNested, m.RLock, m.TryRLock, twin.RLock)
		}
		w.unlock(h)
		w.unlock(w.get(func(context.Context) (*rwlock.Held, error) { return m.Lock(ctx) })) // it has been given back
	})
}

func TestLockInALockIsRefusedAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		h := w.get(m.Lock)
		w.refused(c, h.Context(), rwlock.ErrNested, m.Lock, m.TryLock, m.RLock, m.TryRLock)
		_, err := m.RLock(h.Context())
		require.ErrorContains(w, err, "Downgrade")
		_, err = m.Lock(h.Context())
		require.NotContains(w, err.Error(), "Downgrade")
		w.unlock(h)
	})
}

// Do's contexts have ctx's values; the mark is under those of other holds as
// well.
func TestNestingIsSeenThroughOtherHolds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m, other := rwlock.New(c, dir, nil), rwlock.New(c, "/locks/b", nil)
		require.NoError(w, m.RDo(w.Ctx, func(ctx context.Context, _ *rwlock.Held) error {
			return other.Do(ctx, func(ctx context.Context, _ *rwlock.Held) error {
				w.refused(c, ctx, rwlock.ErrUpgrade, m.Lock)
				_, err := other.RLock(ctx)
				require.ErrorIs(w, err, rwlock.ErrNested)
				return nil
			})
		}))
	})
}

func TestHoldsOfOthersAreNoNesting(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.new()
		h := w.get(m.RLock)
		far := rwlock.New(w.Client(), dir, nil)
		w.unlock(w.get(func(context.Context) (*rwlock.Held, error) { return far.RLock(h.Context()) }))
		elsewhere := rwlock.New(w.Client(), "/locks/b", nil)
		w.unlock(w.get(func(context.Context) (*rwlock.Held, error) { return elsewhere.Lock(h.Context()) }))
		w.unlock(w.get(m.RLock)) // not its context
		w.unlock(h)
	})
}

// A lost hold blocks no contender.
func TestLostHoldIsNoNesting(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		h := w.get(m.RLock)
		ctx := context.WithoutCancel(h.Context())
		w.Expire(c)
		<-h.Context().Done()
		next := w.get(func(context.Context) (*rwlock.Held, error) { return m.Lock(ctx) })
		require.True(w, isLoss(h.Unlock(w.Ctx)))
		w.unlock(next)
	})
}

// The mark goes along with a downgrade.
func TestDowngradedHoldIsNestingToo(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := rwlock.New(c, dir, nil)
		h := w.get(m.Lock)
		ctx := context.WithoutCancel(h.Context())
		r := w.down(h)
		for _, ctx := range []context.Context{ctx, r.Context()} {
			w.refused(c, ctx, rwlock.ErrUpgrade, m.Lock, m.TryLock)
			w.refused(c, ctx, rwlock.ErrNested, m.RLock, m.TryRLock)
		}
		w.unlock(r)
		w.unlock(w.get(func(context.Context) (*rwlock.Held, error) { return m.Lock(ctx) }))
	})
}
