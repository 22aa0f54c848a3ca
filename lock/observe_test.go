package lock_test

import (
	"context"
	"errors"
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestEventsOfALockUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Lock, Unlock", Paths: []string{dir}, Next: nextLocks(nil),
		Op: func(ctx context.Context, p *world.Party) error {
			h, err := lock.New(p.Tested, dir, nil).Lock(ctx)
			if err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.RunObserved(t, *update, "lock")
}

func TestEventsOfPermitsUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Acquire, Release", Paths: []string{dir},
		Op: func(ctx context.Context, p *world.Party) error {
			permits, err := lock.NewSemaphore(p.Tested, dir, 3, nil).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			return permits.Release(ctx)
		},
	}.RunObserved(t, *update, "semaphore")
}

// A hand-over in the process, a loss and a refusal, each with all that its events say.
func TestEventsOfALockSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.ClientObserved(world.IsWaitOrHold)
		m := lock.New(c, dir, &lock.Options{LocalHandover: time.Minute})
		first, err := m.Lock(w.Ctx)
		require.NoError(w, err)
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.WaitQueued{Wait: begun.Wait, Znode: first.Path()}, <-events)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait}, <-events)
		held := (<-events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: held.ID, Kind: observe.Lock, Path: dir, Wait: begun.ID, Znode: first.Path(), Token: first.Token(),
			Session: w.ID(c), Begun: time.Now(),
		}, held.Hold)

		_, err = m.TryLock(w.Ctx)
		require.ErrorIs(w, err, lock.ErrBusy)
		<-events
		require.ErrorIs(w, (<-events).(observe.WaitEnded).Err, lock.ErrBusy)

		second := make(chan *lock.Held, 1)
		// Waited for below; ends with the hand-over.
		go func() {
			h, err := m.Lock(w.Ctx)
			if err != nil {
				w.Error(err)
			}
			second <- h
		}()
		w.Settle()
		waiting := (<-events).(observe.WaitBegun)
		require.NoError(w, first.Unlock(w.Ctx))
		h := <-second
		var begin observe.HoldBegun
		for range 3 { // the former holder and the next report at the same time
			switch e := (<-events).(type) {
			case observe.WaitEnded:
				require.Equal(w, waiting.ID, e.ID)
				require.Equal(w, 50*time.Millisecond, e.Took)
			case observe.HoldBegun:
				begin = e
				require.True(w, e.Local)
				require.Equal(w, first.Token(), e.Token)
			case observe.HoldEnded:
				require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: 50 * time.Millisecond, End: observe.HandedOver}, e)
			}
		}

		w.Away(h.Context())
		lost := (<-events).(observe.HoldEnded)
		require.Equal(w, begin.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrTrustRanOut)
		require.InDelta(w, 0, lost.TrustLeft, float64(time.Millisecond))
		require.ErrorIs(w, h.Unlock(w.Ctx), session.ErrLost)
		require.Empty(w, events, "the loss is reported once")
	})
}

// An observer may use the lock that reports to it.
func TestObserverMayUseTheLock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var used atomic.Pointer[lock.Mutex]
		var inside, over atomic.Bool
		calls := 0
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			m := used.Load()
			if m == nil || over.Load() || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls++
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if h, err := m.TryLock(within); err == nil {
				if err := h.Unlock(within); err != nil {
					w.Error(err)
				}
			}
			if _, err := m.Contenders(within); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
		})})
		m := lock.New(c, dir, nil)
		used.Store(m)
		h, err := m.Lock(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, h.Unlock(w.Ctx))
		over.Store(true)
		w.Settle() // a call in progress ends
		require.Positive(w, calls)
	})
}

var update = flag.Bool("update", false, "write the golden files") // read only

// A try that finds the lock busy is no failure; a try that a server refuses is one.
func TestTriesThatAreRefusedHaveFailed(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c, events := w.ClientObserved(func(e observe.Event) bool { _, ok := e.(observe.WaitEnded); return ok })
		other := w.Client()
		readOnly := &session.CreateOptions{ACL: session.WorldACL(session.PermRead)}
		_, err := w.Session(other).Create(w.Ctx, "/refused", nil, session.Persistent, readOnly)
		require.NoError(w, err)
		_, err = lock.New(other, "/lock", nil).Lock(w.Ctx)
		require.NoError(w, err)
		_, err = lock.NewSemaphore(other, "/pool", 1, nil).Acquire(w.Ctx, 1)
		require.NoError(w, err)
		for path, outcome := range map[string]observe.Outcome{"/lock": observe.NotGranted, "/refused": observe.Failed} {
			_, err = lock.New(c, path, nil).TryLock(w.Ctx)
			require.Equal(w, outcome == observe.NotGranted, errors.Is(err, lock.ErrBusy))
			require.Equal(w, outcome, (<-events).(observe.WaitEnded).Outcome())
		}
		for path, outcome := range map[string]observe.Outcome{"/pool": observe.NotGranted, "/refused": observe.Failed} {
			_, err = lock.NewSemaphore(c, path, 1, nil).TryAcquire(w.Ctx, 1)
			require.Error(w, err)
			require.Equal(w, outcome, (<-events).(observe.WaitEnded).Outcome())
		}
	})
}
