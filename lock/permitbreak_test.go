package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// One of several holders of permits loses its permits, all or the one that was meant; the
// others keep theirs.
func TestPermitsAreTakenAwayFromOneHolder(t *testing.T) {
	inBoth(t, func(w *World, o *lock.Options) {
		one := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, o), 1)
		two := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, o), 2)
		operator := lock.NewSemaphore(w.Client(), dir, 3, o)
		list, err := operator.Contenders(w.Ctx)
		require.NoError(w, err)
		last := list[len(list)-1] // both permits, or the second one with Curator's leases
		require.NoError(w, operator.Break(w.Ctx, last, "alice", "it hangs"))
		<-two.Context().Done()
		require.ErrorIs(w, context.Cause(two.Context()), session.ErrNodeDeleted)
		b, ok, err := two.Broken(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		require.Equal(w, lock.Break{Holder: string(last.Data), Session: two.Session().ID(), Token: last.Token, By: "alice", Reason: "it hangs", At: b.At}, b)
		w.Pass(time.Minute)
		require.NoError(w, one.Context().Err())
		_, ok, err = one.Broken(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok)
		require.ErrorIs(w, two.Release(w.Ctx), session.ErrLost)
		require.NoError(w, one.Release(w.Ctx))
		w.Settle()
		require.Empty(w, w.leaseNames(o))
		require.NoError(w, w.acquire(operator, 3).Release(w.Ctx))
	})
}

// A client that knows another number of permits cannot tell holders from waiters.
func TestPermitsAreNotTakenAwayWithAnotherNumber(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		held := w.acquire(lock.NewSemaphore(c, dir, 2, nil), 2)
		waits := w.startAcquire(w.Ctx, lock.NewSemaphore(w.Client(), dir, 2, nil), 1)
		right := lock.NewSemaphore(w.Client(), dir, 2, nil)
		list, err := right.Contenders(w.Ctx)
		require.NoError(w, err)
		require.ErrorIs(w, right.Break(w.Ctx, list[1], "op", "r"), lock.ErrInvalidArgument, "it waits")
		wrong := lock.NewSemaphore(w.Client(), dir, 3, nil)
		require.ErrorIs(w, wrong.Break(w.Ctx, list[1], "op", "r"), lock.ErrPermits)
		w.Pass(time.Minute)
		require.Empty(w, waits)
		require.NoError(w, held.Context().Err())
		require.NoError(w, held.Release(w.Ctx))
		require.NoError(w, (<-waits).Release(w.Ctx))
	})
}

func TestBreakOfPermitsRefusesWhatIsNoHolder(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		s := lock.NewSemaphore(c, dir, 2, nil)
		for _, path := range []string{"", dir, dir + ".other/x", dir + "/x/y"} {
			require.ErrorIs(w, s.Break(w.Ctx, lock.Contender{Path: path}, "", "r"), lock.ErrInvalidArgument, path)
		}
		require.ErrorIs(w, s.Break(w.Ctx, lock.Contender{Path: dir + "/x"}, "", ""), lock.ErrInvalidArgument)
		for _, path := range []string{dir + "/x", dir + ".waiting/x"} {
			require.ErrorIs(w, s.Break(w.Ctx, lock.Contender{Path: path}, "", "r"), lock.ErrNotHeld, "it has gone")
		}
		require.ErrorIs(w, (*lock.Semaphore)(nil).Break(w.Ctx, lock.Contender{}, "", "r"), lock.ErrInvalidArgument)
		_, err := (*lock.Semaphore)(nil).Breaks(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		_, _, err = (*lock.Permits)(nil).Broken(w.Ctx)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
	})
}

// Permits of both layouts are taken away on a server that is not ours.
func TestPermitsAreTakenAwayOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for name, o := range semaphoreLayouts() {
		path := "/break-" + session.NewID()
		semaphore := func() *lock.Semaphore {
			c, err := session.Connect(ctx, cluster.Connect(), nil)
			require.NoError(t, err)
			t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
			return lock.NewSemaphore(c, path, 2, o)
		}
		one, operator := semaphore(), semaphore()
		p, err := one.Acquire(ctx, 2)
		require.NoError(t, err, name)
		list, err := operator.Contenders(ctx)
		require.NoError(t, err, name)
		require.NoError(t, operator.Break(ctx, list[0], "alice", "it hangs"), name)
		<-p.Context().Done()
		b, ok, err := p.Broken(ctx)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		require.Equal(t, "alice", b.By, name)
		require.ErrorIs(t, p.Release(ctx), session.ErrLost, name)
		got, err := semaphore().Acquire(ctx, 2)
		require.NoError(t, err, name)
		require.NoError(t, got.Release(ctx), name)
	}
}
