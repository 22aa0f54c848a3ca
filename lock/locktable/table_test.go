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

func TestEachLockHasOneOwnerUntilItIsReleased(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c1, c2 := w.Client(), w.Client()
		one, two := w.join(c1, nil), w.join(c2, nil)
		first := w.try(one, "a", "b", "c")
		require.Equal(w, []string{"a", "b", "c"}, namesOf(first))
		require.Empty(w, w.try(two, "a", "b", "c"))
		require.Empty(w, w.try(one, "a", "b"), "a lock is not reentrant")
		require.NoError(w, one.Unlock(w.Ctx, first[1]))
		second := w.try(two, "c", "b", "d")
		require.Equal(w, []string{"b", "d"}, namesOf(second), "in the order of the names")
		require.Greater(w, second[0].Token(), first[1].Token())
		require.Equal(w, second[0].Token(), second[1].Token())
		require.Equal(w, dir+"/b", second[0].Path())
		require.Same(w, two, second[0].Owner())
		require.ErrorIs(w, context.Cause(first[1].Context()), session.ErrReleased)
		require.NoError(w, first[0].Context().Err())
		entries, err := locktable.New(c1, dir, nil).Entries(w.Ctx)
		require.NoError(w, err)
		owners := map[string]string{}
		for _, e := range entries {
			owners[e.Name] = dir + ".owners/" + e.Owner
		}
		require.Equal(w, map[string]string{"a": one.Path(), "b": two.Path(), "c": one.Path(), "d": two.Path()}, owners)
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
		for _, h := range append(first, second...) {
			require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
		}
		w.Settle()
		w.requireAllFree(c1)
		w.RequireNoWatches()
	})
}

func TestGuardPassesOnlyWhileTheLockIsHeld(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c1, c2 := w.Client(), w.Client()
		one, two := w.join(c1, nil), w.join(c2, nil)
		s := w.Session(c2)
		held := w.try(one, "a", "b")
		for _, h := range held {
			_, err := s.Txn(w.Ctx, h.Guard())
			require.NoError(w, err)
		}
		require.NoError(w, held[0].Unlock(w.Ctx))
		require.Len(w, w.try(two, "a"), 1)
		_, err := s.Txn(w.Ctx, held[0].Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		w.Expire(c1)
		w.Settle()
		_, err = s.Txn(w.Ctx, held[1].Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		_, err = s.Txn(w.Ctx, one.Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrLost)
		require.NoError(w, two.Release(w.Ctx))
	})
}

func TestLostSessionLosesAllLocksOfItsOwner(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c1, c2 := w.Client(), w.Client()
		one, two := w.join(c1, nil), w.join(c2, nil)
		held := w.try(one, lockNames(20)...)
		out := w.startLock(w.withinMinute(), two, lockNames(20)...)
		w.requirePending(out)
		w.Expire(c1)
		got := <-out
		require.NoError(w, got.err)
		require.Equal(w, lockNames(20), namesOf(got.held))
		w.Settle() // an expiry out of turn is told afterwards
		for i, h := range held {
			w.requireLost(h, session.ErrLost)
			require.Greater(w, got.held[i].Token(), h.Token())
		}
		err := one.Unlock(w.Ctx, held...)
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorContains(w, err, dir+"/lock-0000 and 19 more")
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrLost)
		require.NoError(w, two.Release(w.Ctx))
		w.Settle()
		w.requireAllFree(c2)
	})
}

// A holder cut off from the servers knows of its loss before another client gets
// the locks.
func TestContextsEndBeforeTheServersFreeTheLocks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c1, c2 := w.Client(), w.Client()
		one, two := w.join(c1, nil), w.join(c2, nil)
		held := w.try(one, "a", "b")
		out := w.startLock(w.withinMinute(), two, "a", "b")
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		got := <-out
		require.NoError(w, got.err)
		for _, h := range held {
			w.requireLost(h, session.ErrTrustRanOut)
		}
		w.Server.Heal()
		w.Pass(time.Minute)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrLost)
		require.NoError(w, two.Release(w.Ctx))
	})
}

func TestDeletedZnodeLosesItsLockAlone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one, two := w.join(c, nil), w.join(w.Client(), nil)
		held := w.try(one, "a", "b", "c")
		w.Settle()
		require.NoError(w, w.Server.Delete(dir+"/b"))
		require.NoError(w, w.Server.Set(dir+"/c", []byte(`{"format":1}`)))
		w.Settle()
		require.NoError(w, held[0].Context().Err())
		w.requireLost(held[1], session.ErrNodeDeleted)
		w.requireLost(held[2], session.ErrLost)
		require.NotErrorIs(w, context.Cause(held[2].Context()), session.ErrNodeDeleted)
		require.Equal(w, []string{"b", "c"}, namesOf(w.try(two, "a", "b", "c")))
		w.Settle()
		err := one.Unlock(w.Ctx, held...)
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		require.ErrorIs(w, context.Cause(held[0].Context()), session.ErrReleased, "the others are released")
		require.ErrorIs(w, held[0].Unlock(w.Ctx), locktable.ErrNotHeld)
		require.ErrorIs(w, held[1].Unlock(w.Ctx), session.ErrNodeDeleted, "as before")
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
		w.Settle()
		w.RequireNoWatches()
	})
}

// A loss is noticed after a lost connection, too, which ends all watches.
func TestLossDuringADisconnectIsNoticed(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, nil)
		held := w.try(one, "a", "b")
		w.Settle()
		w.Once(func(r zktest.Request) bool { return r.Op == "connect" }, func() {
			if err := w.Server.Delete(dir + "/a"); err != nil {
				w.Error(err)
			}
		})
		w.Server.Cut(w.ID(c))
		w.Pass(time.Second)
		w.requireLost(held[0], session.ErrNodeDeleted)
		require.NoError(w, held[1].Context().Err())
		require.ErrorIs(w, one.Unlock(w.Ctx, held...), session.ErrNodeDeleted)
		require.NoError(w, one.Release(w.Ctx))
	})
}

// As if another owner had taken the lock: the servers refuse the guard of a holder
// unaware of its loss.
func TestGuardOfALockThatAnotherClientHasWrittenFailsAtTheServer(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, &locktable.Options{Unwatched: true})
		held := w.try(one, "a")
		node, err := w.Server.Get(dir + "/a")
		require.NoError(w, err)
		require.NoError(w, w.Server.Set(dir+"/a", node.Data))
		w.Settle()
		require.NoError(w, held[0].Context().Err())
		_, err = w.Session(c).Txn(w.Ctx, held[0].Guard())
		require.ErrorIs(w, err, session.ErrBadVersion)
		require.ErrorIs(w, held[0].Release(w.Ctx), session.ErrLost)
		require.NoError(w, one.Release(w.Ctx))
	})
}

func TestUnwatchedLockIsRefusedByItsGuardAndItsRelease(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, &locktable.Options{Unwatched: true})
		held := w.try(one, "a", "b")
		require.NoError(w, w.Server.Delete(dir+"/a"))
		w.Settle()
		require.NoError(w, held[0].Context().Err())
		_, err := w.Session(c).Txn(w.Ctx, held[0].Guard())
		require.ErrorIs(w, err, session.ErrNoNode)
		err = one.Unlock(w.Ctx, held...)
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorContains(w, err, dir+"/a: ")
		require.Len(w, w.try(one, "a", "b"), 2)
		require.NoError(w, one.Release(w.Ctx))
	})
}

func TestDeletedOwnerLosesAllItsLocks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one := w.join(w.Client(), nil)
		held := w.try(one, "a", "b")
		w.Settle()
		require.NoError(w, w.Server.Delete(one.Path()))
		w.Settle()
		for _, h := range held {
			w.requireLost(h, session.ErrNodeDeleted)
		}
		_, err := one.TryLock(w.Ctx, "c")
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		require.ErrorIs(w, one.Unlock(w.Ctx, held[0]), session.ErrNodeDeleted)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrNodeDeleted)
		require.ErrorIs(w, one.Release(w.Ctx), session.ErrNodeDeleted)
		w.RequireNoWatches()
	})
}

func TestOwnerThatWasReleasedTakesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		one := w.join(c, nil)
		require.NoError(w, one.Release(w.Ctx))
		require.ErrorIs(w, one.Release(w.Ctx), locktable.ErrNotHeld)
		_, err := one.TryLock(w.Ctx, "a")
		require.ErrorIs(w, err, session.ErrReleased)
		_, err = one.Lock(w.Ctx, "a")
		require.ErrorIs(w, err, session.ErrReleased)
		w.requireAllFree(c)
	})
}

// The release of an owner ends the attempts of others of its goroutines.
func TestReleaseOfTheOwnerEndsItsWaits(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := w.join(w.Client(), nil), w.join(w.Client(), nil)
		w.try(one, "a")
		out := w.startLock(w.Ctx, two, "b", "a")
		w.requirePending(out)
		require.NoError(w, two.Release(w.Ctx))
		got := <-out
		require.ErrorIs(w, got.err, session.ErrReleased)
		require.Len(w, w.try(one, "b"), 1)
		require.NoError(w, one.Release(w.Ctx))
	})
}
