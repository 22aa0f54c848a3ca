package lock_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The caller may change its arguments after the call.
func TestOptionsAreCopied(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &lock.Options{Data: []byte("mine"), ACL: session.WorldACL(session.PermAll)}
		m := lock.New(w.Client(), dir, o)
		o.Data[0], o.ACL[0].Perms = 'X', session.PermRead
		h := w.lock(m)
		node, err := w.Server.Get(h.Path())
		require.NoError(w, err)
		require.Equal(w, "mine", string(node.Data))
		w.unlock(h)
		w.unlock(w.lock(m)) // the queue's path may be written to
	})
}

// The note of Options.LockDelay may be written to no longer: the release says so, since
// the next holder waits for nothing.
func TestReleaseThatMayNotWriteItsDelayNoteSaysSo(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		h := w.lock(lock.New(c, dir, delayOptions()))
		s, err := c.Session(w.Ctx)
		require.NoError(w, err)
		_, err = s.SetACL(w.Ctx, dir+".delay", session.WorldACL(session.PermRead), -1)
		require.NoError(w, err)
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.CutBefore})
		require.ErrorIs(w, h.Unlock(w.Within(time.Minute)), session.ErrNoAuth)
		require.Empty(w, w.Children(dir), "the lock is given back")
	})
}

// Another contender takes the permits between the first read of TryAcquire and its place in
// the queue.
func TestTryAcquireThatIsOvertakenIsBusy(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 2, nil)
		require.NoError(w, s.Do(w.Ctx, 1, func(context.Context, *lock.Permits) error { return nil }))
		first := dir + "/_c_00000000-0000-0000-0000-000000000000-2-permit-0000000000"
		w.Once(func(r zktest.Request) bool { return world.Creates(r.Op) && strings.HasPrefix(r.Path, dir+"/") }, func() {
			require.NoError(w, w.Server.Create(first, nil))
		})
		_, err := s.TryAcquire(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrBusy)
		w.Settle()
		require.Len(w, w.Children(dir), 1)
	})
}

// The number of permits cannot be written to the path: no client may hold by a
// number unknown to the others.
func TestSemaphoreThatMayNotSayItsNumberIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		o := &session.CreateOptions{ACL: session.WorldACL(session.PermAll &^ session.PermWrite)}
		require.NoError(w, w.Session(c).EnsurePath(w.Ctx, dir, session.Persistent, o))
		for range 2 {
			_, err := lock.NewSemaphore(c, dir, 2, nil).Acquire(w.Ctx, 1)
			require.ErrorIs(w, err, session.ErrNoAuth)
		}
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}
