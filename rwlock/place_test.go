package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The suite of the queue recipes has the scenarios that all places have.

// A reader's place behind a writer's place waits for the writer, and later readers for both.
func TestPlacesOfReadersAndWritersKeepTheirOrder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := rwlock.New(w.Client(), dir, nil)
		first, err := m.REnqueue(w.Ctx)
		require.NoError(w, err)
		second, err := m.Enqueue(w.Ctx)
		require.NoError(w, err)
		third, err := m.REnqueue(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []bool{false, true, false}, []bool{first.Exclusive(), second.Exclusive(), third.Exclusive()})
		reading, err := first.Await(w.Ctx)
		require.NoError(w, err)
		for i, p := range []*rwlock.Place{second, third} {
			_, err = p.Await(w.Within(time.Second))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.NotEmpty(w, p.Watching())
			n, err := p.Ahead(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, i+1, n)
		}
		require.NoError(w, second.Withdraw(w.Ctx))
		other, err := third.Await(w.Within(time.Second))
		require.NoError(w, err)
		require.NoError(w, reading.Context().Err(), "both read")
		require.NoError(w, other.Unlock(w.Ctx))
		require.NoError(w, first.Withdraw(w.Ctx))
		require.ErrorIs(w, context.Cause(reading.Context()), session.ErrReleased)
	})
}

// Withdraw gives back what the lock has become, also if it was given back before without an
// answer.
func TestWithdrawGivesADowngradedLockBack(t *testing.T) {
	for _, released := range []bool{false, true} {
		if released && !world.Has(world.Resumes) {
			continue // the lock is lost then
		}
		inWorld(t, nil, func(w *World) {
			p, err := rwlock.New(w.Client(), dir, nil).Enqueue(w.Ctx)
			require.NoError(w, err)
			writing, err := p.Await(w.Ctx)
			require.NoError(w, err)
			reading, err := writing.Downgrade(w.Ctx)
			require.NoError(w, err)
			if released {
				w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" }, 1, zktest.Action{Do: zktest.DropRequest})
				require.ErrorIs(w, reading.Unlock(w.Within(time.Millisecond)), context.DeadlineExceeded)
				require.NotEmpty(w, w.Children(dir))
			}
			require.NoError(w, p.Withdraw(w.Ctx))
			require.Empty(w, w.Children(dir))
			require.ErrorIs(w, context.Cause(reading.Context()), session.ErrReleased)
			require.ErrorIs(w, p.Withdraw(w.Ctx), rwlock.ErrWithdrawn)
		})
	}
}

// A holder that enqueues, or awaits a place, would wait for itself.
func TestPlaceOfAHolderIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := rwlock.New(w.Client(), dir, nil)
		p, err := m.REnqueue(w.Ctx)
		require.NoError(w, err)
		reading, err := p.Await(w.Ctx)
		require.NoError(w, err)
		same, err := p.Await(reading.Context())
		require.NoError(w, err)
		require.Same(w, reading, same)
		_, err = m.Enqueue(reading.Context())
		require.ErrorIs(w, err, rwlock.ErrUpgrade)
		_, err = m.REnqueue(reading.Context())
		require.ErrorIs(w, err, rwlock.ErrNested)
		next, err := m.Enqueue(w.Ctx)
		require.NoError(w, err)
		_, err = next.Await(reading.Context())
		require.ErrorIs(w, err, rwlock.ErrUpgrade)
		require.NoError(w, p.Withdraw(w.Ctx))
		_, err = next.Await(w.Within(time.Second))
		require.NoError(w, err)
		require.NoError(w, next.Withdraw(w.Ctx))
	})
}
