package locktable_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// takesLocks returns a match for the transactions of a client that write a lock.
func takesLocks(client string) func(zktest.Request) bool {
	return func(r zktest.Request) bool {
		return r.Client == client && r.Op == "multi" && len(r.Paths) > 1
	}
}

// A caller that gives up with a transaction in flight holds nothing: locks taken by
// the transaction are released, and the owner can go on.
func TestCallerThatGivesUpHoldsNothing(t *testing.T) {
	for name, a := range map[string]zktest.Action{
		"late reply":   {Do: zktest.DelayReply, For: 3 * time.Second},
		"no reply":     {Do: zktest.DropReplyHole},
		"lost reply":   {Do: zktest.DropReplyCut},
		"lost request": {Do: zktest.DropRequest},
		"cut":          {Do: zktest.CutBefore},
	} {
		t.Run(name, func(t *testing.T) {
			if a.Do != zktest.DelayReply {
				world.Needs(t, world.Resumes)
			}
			inWorld(t, nil, func(w *World) {
				c1, c2 := w.Client(), w.Client()
				one, two := w.join(c1, nil), w.join(c2, nil)
				w.Server.FailNth(takesLocks("c1"), 1, a)
				ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
				defer cancel()
				_, err := one.TryLock(ctx, lockNames(5)...)
				if err == nil { // the transaction was repeated in time
					require.Contains(w, []string{"lost reply", "cut"}, name)
					require.NoError(w, one.Release(w.Ctx))
					require.NoError(w, two.Release(w.Ctx))
					return
				}
				require.ErrorIs(w, err, context.DeadlineExceeded)
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				held, err := two.Lock(w.withinMinute(), lockNames(5)...)
				require.NoError(w, err, "the owner of the lost attempt is still there")
				require.NoError(w, one.Context().Err())
				require.NoError(w, two.Unlock(w.Ctx, held...))
				held, err = one.Lock(w.withinMinute(), lockNames(5)...)
				require.NoError(w, err, "once its own clean-up is done")
				require.Len(w, held, 5)
				require.NoError(w, one.Release(w.Ctx))
				require.NoError(w, two.Release(w.Ctx))
				w.Settle()
				w.requireAllFree(c2)
			})
		})
	}
}

// A release without a reply is not repeated on a lock of another owner.
func TestReleaseWithoutAReplyTouchesNoLockOfAnotherOwner(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		one, two := w.join(w.Client(), nil), w.join(w.Client(), nil)
		held := w.try(one, "a", "b")
		out := w.startLock(w.withinMinute(), two, "a", "b")
		w.Server.FailNth(takesLocks("c1"), 1, zktest.Action{Do: zktest.DropReplyCut})
		require.NoError(w, one.Unlock(w.Ctx, held...))
		got := <-out
		require.NoError(w, got.err)
		w.Pass(time.Minute)
		for _, h := range got.held {
			require.NoError(w, h.Context().Err())
		}
		require.NoError(w, two.Unlock(w.Ctx, got.held...))
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
	})
}

// The release continues in the background when its caller leaves.
func TestReleaseContinuesWithoutItsCaller(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := w.join(w.Client(), nil), w.join(w.Client(), nil)
		held := w.try(one, "a", "b")
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		// Unlock would report a confirmation that arrives before its check of the
		// context.
		w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Millisecond)
		require.ErrorIs(w, one.Unlock(over, held...), context.Canceled)
		require.ErrorIs(w, context.Cause(held[0].Context()), session.ErrReleased)
		w.Pass(time.Second)
		w.Server.Heal()
		require.Len(w, w.try(two, "a", "b"), 2)
		require.ErrorIs(w, held[0].Unlock(w.Ctx), locktable.ErrNotHeld)
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
	})
}

// A release in the lock's own context waits for the server.
func TestReleaseInTheLocksOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one := w.join(w.Client(), nil)
		held := w.try(one, "a", "b")
		require.NoError(w, one.Unlock(held[0].Context(), held...))
		require.NoError(w, one.Release(one.Context()))
	})
}

// Without a server, a release ends when no server can keep the session any more.
func TestReleaseEndsWithoutAServer(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, nil)
		held := w.try(one, "a", "b")
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		began := time.Now()
		require.ErrorIs(w, one.Unlock(w.Ctx, held[0]), session.ErrLost)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrLost)
		require.LessOrEqual(w, time.Since(began), session.DefaultTimeout)
		w.Server.Heal()
		w.Pass(time.Minute)
		two := w.join(c, nil)
		require.Len(w, w.try(two, "a", "b"), 2)
		require.NoError(w, two.Release(w.Ctx))
	})
}
