package lock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// The suite of the queue recipes has the scenarios that all places have.

// enqueue takes a place within a virtual minute.
func (w *World) enqueue(m *lock.Mutex) *lock.Place {
	w.Helper()
	p, err := m.Enqueue(w.Within(time.Minute))
	require.NoError(w, err)
	return p
}

// awaitPlace takes a place, and awaits it a while later, in one or two calls. A place that is
// not granted is withdrawn.
func (s *stress) awaitPlace(i int, r *rand.Rand) func(context.Context) (*lock.Held, error) {
	pause, part := s.Within(r, 1), s.Within(r, 1)
	return func(ctx context.Context) (*lock.Held, error) {
		p, err := s.mutexes[i].Enqueue(ctx)
		if err != nil {
			return nil, err
		}
		world.SleepContext(ctx, pause)
		first, cancel := context.WithTimeout(ctx, part)
		held, err := p.Await(first)
		cancel()
		if err != nil {
			held, err = p.Await(ctx)
		}
		if err != nil {
			ended, cancel := context.WithCancel(context.WithoutCancel(ctx))
			cancel()
			_ = p.Withdraw(ended) // goes on in the background
		}
		return held, err
	}
}

// A lock is not handed over past a place within the process: neither to a goroutine that came
// after the place, nor from the place to a goroutine that came before another process.
func TestHandOverDoesNotPassAPlace(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, &lock.Options{LocalHandover: -1})
		h := w.lock(m)
		p := w.enqueue(m)
		other := w.startLock(w.Ctx, lock.New(w.Client(), dir, nil))
		local := w.startLock(w.Ctx, m)
		w.unlock(h)
		held, err := p.Await(w.Within(time.Second))
		require.NoError(w, err)
		require.NotEqual(w, h.Path(), held.Path())
		w.requirePending(local)
		w.unlock(held)
		second := <-other
		require.NoError(w, second.err, "it came before the local goroutine had a znode")
		w.requirePending(local)
		w.unlock(second.held)
		third := <-local
		require.NoError(w, third.err)
		w.unlock(third.held)
	})
}

// A local hand-over goes on beside a place, as beside the contenders of other processes, and
// within the same bound.
func TestPlaceWaitsForALocalHandOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, &lock.Options{LocalHandover: time.Second})
		h := w.lock(m)
		local := w.startLock(w.Ctx, m)
		p := w.enqueue(m)
		w.unlock(h)
		g := <-local
		require.NoError(w, g.err)
		require.Equal(w, h.Path(), g.held.Path(), "handed over")
		w.Pass(2 * time.Second)
		again := w.startLock(w.Ctx, m)
		w.unlock(g.held)
		held, err := p.Await(w.Within(time.Second))
		require.NoError(w, err)
		w.requirePending(again)
		require.NoError(w, p.Withdraw(w.Ctx))
		require.ErrorIs(w, held.Unlock(w.Ctx), lock.ErrNotHeld)
		g = <-again
		require.NoError(w, g.err)
		w.unlock(g.held)
	})
}

// A place keeps its order also if nothing awaits it, and TryLock sees it.
func TestTryLockFindsAPlaceBusy(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		p := w.enqueue(m)
		for _, other := range []*lock.Mutex{m, lock.New(w.Client(), dir, nil)} {
			_, err := other.TryLock(w.Ctx)
			require.ErrorIs(w, err, lock.ErrBusy)
		}
		list, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 1)
		require.Equal(w, p.Path(), list[0].Path)
		require.NoError(w, p.Withdraw(w.Ctx))
		h, err := m.TryLock(w.Ctx)
		require.NoError(w, err)
		w.unlock(h)
	})
}

// A place pays for a holder that was lost, and an Await that is given up meanwhile begins the
// pause again.
func TestPlacePaysTheLockDelay(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		p := w.enqueue(lock.New(w.Client(), dir, delayOptions()))
		w.Expire(a)
		lostAt := time.Now()
		_, err := p.Await(w.Within(3 * time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		held, err := p.Await(w.Ctx)
		require.NoError(w, err)
		require.GreaterOrEqual(w, time.Since(lostAt), 15*time.Second)
		require.NoError(w, p.Withdraw(w.Ctx))
		require.ErrorIs(w, context.Cause(held.Context()), session.ErrReleased)
		began := time.Now()
		w.unlock(w.lock(lock.New(w.Client(), dir, delayOptions())))
		require.Zero(w, time.Since(began), "the withdrawal is a release")
	})
}

// The znode of a place is deleted while the place waits for the delay.
func TestPlaceWhoseNodeIsDeletedInTheDelayIsLost_CH2(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a := w.Client()
		w.lock(lock.New(a, dir, delayOptions()))
		p := w.enqueue(lock.New(w.Client(), dir, delayOptions()))
		out := make(chan error, 1)
		// Waited for below; ends with the loss of the place.
		go func() { _, err := p.Await(w.Ctx); out <- err }()
		w.Expire(a)
		w.Pass(5 * time.Second)
		require.NoError(w, w.Server.Delete(p.Path()))
		err := <-out
		require.ErrorIs(w, err, session.ErrLost)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		require.NoError(w, p.Withdraw(w.Ctx))
	})
}

// Places of a semaphore are served in their order, whatever they want.
func TestPlacesOfASemaphoreCountTheirPermits(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 3, nil)
		two := w.acquire(s, 2)
		a, err := s.Enqueue(w.Ctx, 2)
		require.NoError(w, err)
		b, err := s.Enqueue(w.Ctx, 1)
		require.NoError(w, err)
		for i, p := range []*lock.PermitPlace{a, b} {
			_, err = p.Await(w.Within(time.Second))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			n, err := p.Ahead(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, i+1, n)
		}
		require.NoError(w, two.Release(w.Ctx))
		for p, n := range map[*lock.PermitPlace]int{a: 2, b: 1} {
			held, err := p.Await(w.Within(time.Second))
			require.NoError(w, err)
			require.Equal(w, n, held.Count())
			require.NoError(w, held.Context().Err())
		}
		require.NoError(w, a.Withdraw(w.Ctx))
		require.NoError(w, b.Withdraw(w.Ctx))
	})
}

func TestEnqueueWithAWrongNumberOfPermitsLeavesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		held := w.acquire(lock.NewSemaphore(w.Client(), dir, 3, nil), 1)
		c := w.Client()
		_, err := lock.NewSemaphore(c, dir, 4, nil).Enqueue(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrPermits)
		w.Settle()
		require.Len(w, w.Children(dir), 1)
		_, err = lock.NewSemaphore(c, dir, 3, nil).Enqueue(w.Ctx, 4)
		require.ErrorIs(w, err, lock.ErrPermits)
		_, err = lock.NewSemaphore(c, dir+"2", 3, &lock.Options{CuratorV2: true}).Enqueue(w.Ctx, 1)
		require.ErrorIs(w, err, lock.ErrInvalidArgument)
		require.ErrorContains(w, err, "enqueue "+dir+"2: ")
		require.NoError(w, held.Release(w.Ctx))
	})
}
