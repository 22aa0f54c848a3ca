package lock_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Goroutines with a shared Mutex.

func TestGoroutinesOfOneMutexAreServedInTheirOrder(t *testing.T) {
	for _, handover := range []time.Duration{0, -1} {
		inWorld(t, nil, func(w *World) {
			m := lock.New(w.Client(), dir, &lock.Options{LocalHandover: handover})
			h := w.lock(m)
			const n = 40
			var mu sync.Mutex
			var order []int
			var all sync.WaitGroup
			for i := range n {
				// Waited for below; ends after its turn.
				all.Go(func() {
					h, err := m.Lock(w.Ctx)
					if err != nil {
						w.Errorf("%d: %v", i, err)
						return
					}
					mu.Lock()
					order = append(order, i)
					mu.Unlock()
					if err := h.Unlock(w.Ctx); err != nil {
						w.Errorf("%d: %v", i, err)
					}
				})
				synctest.Wait() // in line
			}
			require.Len(w, w.Children(dir), 1, "a single goroutine contends at the server")
			w.unlock(h)
			all.Wait()
			for i := range n {
				require.Equal(w, i, order[i])
			}
		})
	}
}

func TestHandingOnWithinAProcessAsksNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		h := w.lock(m)
		token := h.Token()
		w.Settle()
		w.unlock(h)
		h = w.lock(m)
		require.Greater(w, h.Token(), token, "without a waiter, the lock went back to the server")
		token = h.Token()
		out := make(chan *lock.Held, 1)
		// Waited for below; ends with the lock.
		go func() {
			next, err := m.Lock(w.Ctx)
			if err != nil {
				w.Error(err)
			}
			out <- next
		}()
		synctest.Wait()
		before := w.Requests(c)
		w.unlock(h)
		next := <-out
		require.Equal(w, before, w.Requests(c))
		require.Equal(w, token, next.Token())
		require.Error(w, h.Context().Err(), "the former holder has released the lock")
		require.ErrorIs(w, context.Cause(h.Context()), session.ErrReleased)
		require.NoError(w, next.Context().Err())
		require.ErrorIs(w, h.Unlock(w.Ctx), lock.ErrNotHeld)
		require.NoError(w, next.Context().Err(), "a second Unlock takes nothing from the next holder")
		w.unlock(next)
	})
}

// A process with many goroutines must not starve another waiting process: the
// waiter's turn comes within the time of local hand-overs, one hold, and the way to
// the server.
func TestLocalHandoverDoesNotStarveOtherProcesses(t *testing.T) {
	const (
		holdFor = 10 * time.Millisecond
		oneWay  = time.Millisecond
		slack   = 8 * oneWay
		workers = 32
	)
	for _, handover := range []time.Duration{lock.DefaultLocalHandover, 200 * time.Millisecond, -1} {
		inWorld(t, nil, func(w *World) {
			o := &lock.Options{LocalHandover: handover}
			ctx, cancel := context.WithTimeout(w.Ctx, 20*time.Second)
			var all sync.WaitGroup
			for range 2 {
				m := lock.New(w.Client(), dir, o)
				for range workers {
					// Waited for below; ends with ctx.
					all.Go(func() {
						for ctx.Err() == nil {
							if h, err := m.Lock(ctx); err == nil {
								world.SleepContext(h.Context(), holdFor)
								_ = h.Unlock(w.Ctx)
							}
						}
					})
				}
			}
			single := lock.New(w.Client(), dir, o)
			w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
			var worst time.Duration
			rounds := 0
			for ctx.Err() == nil {
				began := time.Now()
				h, err := single.Lock(ctx)
				if err != nil {
					break
				}
				worst, rounds = max(worst, time.Since(began)), rounds+1
				world.SleepContext(ctx, holdFor)
				w.unlock(h)
				world.SleepContext(ctx, time.Duration(rand.Int64N(int64(5*holdFor))))
			}
			cancel()
			all.Wait()
			w.Server.Heal()
			// Two processes may be ahead, each for one turn.
			turn := max(handover, 0) + holdFor + slack
			w.Logf("handover %v: longest wait of %d: %v, bound %v", handover, rounds, worst, 2*turn)
			require.LessOrEqual(w, worst, 2*turn)
			require.Greater(w, rounds, 20)
		})
	}
}

// PD9.
func TestLocalWaiterWhoseContextEndsLeavesTheLine(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		h := w.lock(m)
		short := w.startLock(w.Within(time.Second), m)
		long := w.startLock(w.Ctx, m)
		w.Pass(2 * time.Second)
		g := <-short
		require.ErrorIs(w, g.err, context.DeadlineExceeded)
		w.requirePending(long)
		w.unlock(h)
		g = <-long
		require.NoError(w, g.err)
		w.unlock(g.held)
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

// A waiter that contends at the server for its process and gives up leaves its
// place in the queue to the next local waiter, so the process does not go to the
// end of the queue.
func TestPlaceInTheQueueIsHandedOnWhenTheWaiterGivesUp(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		holder, far := lock.New(w.Client(), dir, nil), lock.New(w.Client(), dir, nil)
		m := lock.New(w.Client(), dir, nil)
		h := w.lock(holder)
		first := w.startLock(w.Within(5*time.Second), m)
		second := w.startLock(w.Ctx, m)
		place := w.Children(dir)
		behind := w.startLock(w.Ctx, far)
		w.Pass(10 * time.Second)
		require.ErrorIs(w, (<-first).err, context.DeadlineExceeded)
		require.Subset(w, w.Children(dir), place, "the place is kept")
		w.unlock(h)
		g := <-second
		require.NoError(w, g.err)
		w.requirePending(behind)
		w.unlock(g.held)
		g = <-behind
		require.NoError(w, g.err)
		w.unlock(g.held)
	})
}

func TestTurnThatComesAsTheWaiterGivesUpIsNotLost(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		for i := range 300 {
			h := w.lock(m)
			ctx, cancel := context.WithTimeout(w.Ctx, time.Second)
			out := make(chan won, 1)
			// Waited for below; ends with ctx at the latest.
			go func() {
				h, err := m.Lock(ctx)
				out <- won{held: h, err: err}
			}()
			var third <-chan won
			if i%2 == 0 {
				synctest.Wait()
				third = w.startLock(w.Ctx, m)
			}
			world.SleepContext(w.Ctx, time.Until(w.deadlineOf(ctx))) // the very instant
			w.unlock(h)
			if g := <-out; g.err == nil {
				w.unlock(g.held)
			}
			if third != nil {
				g := <-third
				require.NoError(w, g.err)
				w.unlock(g.held)
			}
			cancel()
			require.Eventually(w, func() bool { return len(w.Children(dir)) == 0 }, time.Minute, time.Millisecond)
		}
	})
}

func (w *World) deadlineOf(ctx context.Context) time.Time {
	at, ok := ctx.Deadline()
	require.True(w, ok)
	return at
}

// P22: a holder that locks again waits for itself; no other goroutine is handed the
// lock.
func TestMutexIsNotReentrant_P22(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, nil)
		h := w.lock(m)
		_, err := m.Lock(w.Within(time.Minute))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		_, err = m.TryLock(w.Ctx)
		require.ErrorIs(w, err, lock.ErrBusy)
		require.NoError(w, h.Context().Err())
		w.unlock(h)
		w.unlock(w.lock(m))
	})
}

// CH20: many goroutines that hammer one instance never leave the lock locked.
func TestHammeringOneMutexNeverLeavesItLocked_CH20(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := lock.New(w.Client(), dir, &lock.Options{LocalHandover: 2 * time.Millisecond})
		other := lock.New(w.Client(), dir, nil)
		var all sync.WaitGroup
		inside := 0 // guarded by the lock itself
		for i := range 50 {
			use := m
			if i%10 == 0 {
				use = other
			}
			// Waited for below; ends after its rounds.
			all.Go(func() {
				for range 20 {
					ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(1+rand.IntN(400))*time.Millisecond)
					take := use.Lock
					if rand.IntN(3) == 0 {
						take = use.TryLock
					}
					h, err := take(ctx)
					cancel()
					if err != nil {
						continue
					}
					if inside++; inside != 1 {
						w.Error("two are inside")
					}
					world.SleepContext(w.Ctx, time.Duration(rand.IntN(int(time.Millisecond))))
					inside--
					if err := h.Unlock(w.Ctx); err != nil {
						w.Error(err)
					}
				}
			})
		}
		all.Wait()
		w.unlock(w.lock(m))
		w.unlock(w.lock(other))
		w.Settle()
		require.Empty(w, w.Children(dir))
	})
}

// A local waiter does not wait for a holder in the same process that notices its
// loss late.
func TestLocalWaiterDoesNotWaitForALoserToNotice(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		m := lock.New(c, dir, nil)
		h := w.lock(m)
		out := w.startLock(w.Ctx, m)
		w.Expire(c)
		g := <-out // h is not unlocked
		require.NoError(w, g.err)
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
		require.NoError(w, g.held.Context().Err())
		w.unlock(g.held)
	})
}
