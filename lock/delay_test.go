package lock_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Options.LockDelay: 15 s in all these tests.

func delayOptions() *lock.Options { return &lock.Options{LockDelay: 15 * time.Second} }

func TestLockDelayIsNotPaidAfterARelease(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := lock.New(w.Client(), dir, delayOptions()), lock.New(w.Client(), dir, delayOptions())
		for range 5 {
			began := time.Now()
			w.unlock(w.lock(a))
			w.unlock(w.lock(b))
			require.Zero(w, time.Since(began))
		}
	})
}

func TestLockDelayIsPaidAfterALoss(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		h := w.lock(lock.New(a, dir, delayOptions()))
		out := w.startLock(w.Ctx, lock.New(w.Client(), dir, delayOptions()))
		behind := w.startLock(w.Ctx, lock.New(w.Client(), dir, delayOptions()))
		w.Expire(a)
		lostAt := time.Now()
		g := <-out
		require.NoError(w, g.err)
		require.GreaterOrEqual(w, g.at.Sub(lostAt), 15*time.Second)
		require.Less(w, g.at.Sub(lostAt), 17*time.Second)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
		w.unlock(g.held)
		released := time.Now()
		g = <-behind
		require.NoError(w, g.err)
		require.Less(w, g.at.Sub(released), time.Second, "the second waiter pays nothing")
		w.unlock(g.held)
	})
}

// A waiter in its delay may die or give up, and still no contender gets in before a
// delay is over.
func TestLockDelayIsPaidInFullByTheNextHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		w.startLock(w.Ctx, lock.New(b, dir, delayOptions()))
		w.Expire(a)
		w.Pass(10 * time.Second)
		_, err := lock.New(w.Client(), dir, delayOptions()).Lock(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both) // dies in its delay
		began := time.Now()
		h := w.lock(lock.New(w.Client(), dir, delayOptions()))
		require.GreaterOrEqual(w, time.Since(began), 15*time.Second)
		w.unlock(h)
	})
}

// The note outlives an empty queue for however long.
func TestLockDelayIsNotForgottenWithTheQueue(t *testing.T) {
	inWorld(t, &zktest.Options{ContainerInterval: 5 * time.Second}, func(w *World) {
		a := w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		w.Expire(a)
		w.Pass(10 * time.Minute)
		began := time.Now()
		w.unlock(w.lock(lock.New(w.Client(), dir, delayOptions())))
		require.GreaterOrEqual(w, time.Since(began), 15*time.Second)
	})
}

func TestLockDelayHoldsForTryLockWithinItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		w.Expire(a)
		m := lock.New(w.Client(), dir, delayOptions())
		began := time.Now()
		_, err := m.TryLock(w.Within(5 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.Equal(w, 5*time.Second, time.Since(began))
		w.Settle()
		require.Empty(w, w.Children(dir))
		h, err := m.TryLock(w.Ctx)
		require.NoError(w, err)
		w.unlock(h)
	})
}

func TestLockDelayCostsTwoRequests(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, delayOptions())
		w.unlock(w.lock(m))
		w.Settle()
		w.ResetStats()
		h := w.lock(m)
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getChildren2": 1, "getData": 1, "multi": 1}), w.Server.Stats().BySession[w.ID(c)])
		w.ResetStats()
		w.unlock(h)
		require.Equal(w, map[string]int{"multi": 1}, w.Server.Stats().BySession[w.ID(c)])
	})
}

// The node of a waiter in its delay is deleted: the waiter must neither write the
// note nor hold the lock without a node.
func TestLockDelayOfAContenderWhoseNodeIsDeleted_CH2(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		o := &lock.Options{LockDelay: 400 * time.Millisecond}
		w.lock(lock.New(a, dir, o))
		w.Expire(a)
		out := w.startLock(w.Ctx, lock.New(w.Client(), dir, o))
		names := w.Children(dir)
		require.Len(w, names, 1)
		require.NoError(w, w.Server.Delete(dir+"/"+names[0]))
		g := <-out
		require.NoError(w, g.err)
		require.Equal(w, dir+"/"+w.Children(dir)[0], g.held.Path())
		node, err := w.Server.Get(dir + ".delay")
		require.NoError(w, err)
		require.Equal(w, fmt.Sprintf("held %d", g.held.Token()), string(node.Data))
		w.unlock(g.held)
	})
}

// A release with a lost answer counts as a release.
func TestLockDelayIsNotPaidAfterAReleaseWithoutAnAnswer(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut} {
		inWorld(t, nil, func(w *World) {
			h := w.lock(lock.New(w.Client(), dir, delayOptions()))
			w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: fault})
			w.unlock(h)
			began := time.Now()
			w.unlock(w.lock(lock.New(w.Client(), dir, delayOptions())))
			require.Less(w, time.Since(began), time.Second, "fault %v", fault)
		})
	}
}

// The path may be a container that is deleted some time after its last contender:
// the note must outlive the path.
func TestLockDelayOutlivesTheContainer(t *testing.T) {
	world.Needs(t, world.Containers)
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		w.unlock(w.lock(lock.New(a, dir, nil))) // makes the path, as a container
		o := &lock.Options{LockDelay: 30 * time.Second}
		w.lock(lock.New(a, dir, o))
		w.Expire(a)
		w.Pass(3 * time.Minute)
		_, err := w.Server.Get(dir)
		require.Error(w, err, "the container is gone")
		began := time.Now()
		w.unlock(w.lock(lock.New(b, dir, o)))
		require.GreaterOrEqual(w, time.Since(began), 30*time.Second, "the time of the loss is not known")
	})
}
