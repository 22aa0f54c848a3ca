package lock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// An operator deletes the note of Options.LockDelay, to skip the delay, or to tidy
// up. The lock must go on: a failure at the note does not concern the lock's znode.

func TestReleaseWhoseDelayNoteWasDeletedGivesTheLockBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, delayOptions()))
		require.NoError(w, w.Server.Delete(dir+".delay"))
		w.unlock(h)
		w.Settle()
		require.Empty(w, w.Children(dir), "Unlock has returned nil")
		w.unlock(w.lock(lock.New(w.Client(), dir, delayOptions())))
	})
}

func TestWaiterWhoseDelayNoteIsDeletedLeavesNoZnodeBehind(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		out := w.startLock(w.Ctx, lock.New(w.Client(), dir, delayOptions()))
		w.Expire(a)
		w.Pass(5 * time.Second)
		w.requirePending(out) // waits out the delay
		require.NoError(w, w.Server.Delete(dir+".delay"))
		w.Pass(time.Minute)
		require.Len(w, w.Children(dir), 1, "one znode per contender")
		g := <-out
		require.NoError(w, g.err)
		w.unlock(g.held)
	})
}

// As the first, when the release's answer is lost as well.
func TestReleaseWithoutAnAnswerWhoseDelayNoteWasDeletedIsOne(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, delayOptions()))
		require.NoError(w, w.Server.Delete(dir+".delay"))
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.CutBefore})
		w.unlock(h)
		require.Empty(w, w.Children(dir))
	})
}

// The session ends over the note, when the znode has been deleted: the lock was given
// back, not lost.
func TestReleaseWhoseDelayNoteIsCutOffByTheSessionsEndIsOne(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, delayOptions()))
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.CutBefore})
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "getData" }, 1, zktest.Action{Do: zktest.ExpireBefore})
		w.unlock(h)
	})
}
