package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestEventsUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, method := range map[string]string{"lock": "Lock", "rlock": "RLock", "trylock": "TryLock", "tryrlock": "TryRLock"} {
		t.Run(file, func(t *testing.T) {
			world.Trial{
				Name: method + ", Unlock", Paths: []string{dir}, Next: nextLocks,
				Op: func(ctx context.Context, p *world.Party) error {
					h, err := methods(p.Tested)[method](ctx)
					if err != nil {
						return err
					}
					return h.Unlock(ctx)
				},
			}.RunObserved(t, *update, file)
		})
	}
}

func TestEventsOfPlacesUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, enqueue := range map[string]func(*rwlock.RWMutex, context.Context) (*rwlock.Place, error){
		"place": (*rwlock.RWMutex).Enqueue, "rplace": (*rwlock.RWMutex).REnqueue,
	} {
		t.Run(file, func(t *testing.T) {
			world.Trial{
				Name: file, Paths: []string{dir}, Next: nextLocks,
				Op: func(ctx context.Context, p *world.Party) error {
					k, err := enqueue(rwlock.New(p.Tested, dir, nil), ctx)
					if err != nil {
						return err
					}
					_, err = k.Await(ctx)
					return errors.Join(err, k.Withdraw(context.WithoutCancel(ctx)))
				},
			}.RunObserved(t, *update, file)
		})
	}
}

func TestEventsOfADowngradeUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Lock, Downgrade, Unlock", Paths: []string{dir}, Next: nextLocks,
		Op: func(ctx context.Context, p *world.Party) error {
			h, err := rwlock.New(p.Tested, dir, nil).Lock(ctx)
			if err != nil {
				return err
			}
			r, err := h.Downgrade(ctx)
			if err != nil {
				if e := h.Unlock(context.Background()); e != nil && !isLoss(e) {
					return errors.Join(err, e)
				}
				return err
			}
			return r.Unlock(ctx)
		},
	}.RunObserved(t, *update, "downgrade")
}

// observed is a client whose events of locks arrive at the returned channel.
func (w *World) observed() (*session.Client, chan observe.Event) {
	return w.ClientObserved(world.IsWaitOrHold)
}

func TestEventsSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		m := rwlock.New(c, dir, nil)
		other := w.get(w.new().RLock)
		waiter := w.startTake(w.Ctx, m.Lock)
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.WriteLock, begun.Kind)
		require.Equal(w, dir, begun.Path)
		queued := (<-events).(observe.WaitQueued)
		require.Equal(w, begun.Wait, queued.Wait)
		require.Equal(w, 1, queued.Ahead)

		_, err := m.TryRLock(w.Ctx)
		require.ErrorIs(w, err, rwlock.ErrBusy)
		require.Equal(w, observe.ReadLock, (<-events).(observe.WaitBegun).Kind)
		require.ErrorIs(w, (<-events).(observe.WaitEnded).Err, rwlock.ErrBusy)

		w.unlock(other)
		h := w.granted(waiter)
		require.Equal(w, queued.Znode, h.Path())
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait, Took: 50 * time.Millisecond}, <-events)
		held := (<-events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: held.ID, Kind: observe.WriteLock, Path: dir, Wait: begun.ID, Znode: h.Path(), Token: h.Token(),
			Session: w.ID(c), Begun: held.Begun,
		}, held.Hold)

		_, err = m.Lock(h.Context())
		require.ErrorIs(w, err, rwlock.ErrNested)
		require.Empty(w, events, "a refused call waits for nothing")

		world.Pause(time.Second)
		r, err := h.Downgrade(w.Ctx)
		require.NoError(w, err)
		ended := (<-events).(observe.HoldEnded)
		require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: ended.Took, End: observe.Released}, ended)
		require.InDelta(w, time.Second, ended.Took, float64(100*time.Millisecond))
		reads := (<-events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: reads.ID, Kind: observe.ReadLock, Path: dir, Znode: r.Path(), Token: h.Token(), Session: w.ID(c), Begun: reads.Begun,
		}, reads.Hold)
		require.ErrorIs(w, h.Unlock(w.Ctx), rwlock.ErrNotHeld)
		require.Empty(w, events)

		w.Away(r.Context())
		lost := (<-events).(observe.HoldEnded)
		require.Equal(w, reads.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrTrustRanOut)
		require.ErrorIs(w, r.Unlock(w.Ctx), session.ErrLost)
		require.Empty(w, events, "the loss is reported once")
	})
}

// A write lock goes on after a downgrade that fails, and ends once.
func TestFailedDowngradeEndsNoHold(t *testing.T) {
	world.Needs(t, world.Resumes)
	for name, end := range map[string]func(w *World, c *session.Client, h *rwlock.Held) (observe.End, error){
		"unlocked": func(w *World, _ *session.Client, h *rwlock.Held) (observe.End, error) {
			w.unlock(h)
			return observe.Released, nil
		},
		"lost": func(w *World, _ *session.Client, h *rwlock.Held) (observe.End, error) {
			w.Away(h.Session().Context())
			return observe.Lost, session.ErrTrustRanOut
		},
		"closed": func(w *World, c *session.Client, _ *rwlock.Held) (observe.End, error) {
			require.NoError(w, c.Close(w.Ctx))
			return observe.Lost, session.ErrClosed
		},
		"downgraded": func(w *World, _ *session.Client, h *rwlock.Held) (observe.End, error) {
			w.down(h)
			return observe.Released, nil
		},
	} {
		for _, fault := range []zktest.Fault{zktest.DropRequest, zktest.DropReplyHole, zktest.CutBefore} {
			t.Run(fmt.Sprint(name, fault), func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					c, events := w.observed()
					h := w.get(rwlock.New(c, dir, nil).Lock)
					w.Settle()
					for len(events) > 1 {
						<-events
					}
					held := (<-events).(observe.HoldBegun)
					if fault == zktest.CutBefore { // a refusal, by a server that cannot be reached
						require.NoError(w, w.Server.Stop(1))
					}
					w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: fault})
					_, err := h.Downgrade(w.Within(time.Second))
					require.ErrorIs(w, err, context.DeadlineExceeded)
					if fault == zktest.CutBefore {
						require.NoError(w, w.Server.Restart(1))
					} else {
						require.ErrorIs(w, err, session.ErrUnknownOutcome)
					}
					world.Pause(2 * time.Second)
					require.Empty(w, events, "the hold goes on")
					want, why := end(w, c, h)
					w.Settle()
					ended := (<-events).(observe.HoldEnded)
					require.Equal(w, held.Hold, ended.Hold)
					require.Equal(w, want, ended.End)
					if why == nil {
						require.NoError(w, ended.Err)
					} else {
						require.ErrorIs(w, ended.Err, why)
					}
				})
			})
		}
	}
}

// An observer may use the lock that reports to it.
func TestObserverMayUseTheLock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var mutex atomic.Pointer[rwlock.RWMutex]
		var inside, over atomic.Bool
		var held atomic.Pointer[rwlock.Held]
		var calls, ends atomic.Int32
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			// In other events, Downgrade may be at work, and an Unlock would come before it.
			if ended, is := e.(observe.HoldEnded); is && held.Load() != nil && ended.Token == held.Load().Token() {
				ends.Add(1)
				if err := held.Load().Unlock(within); !errors.Is(err, rwlock.ErrNotHeld) {
					w.Errorf("%s: %v", e.Name(), err)
				}
				if _, err := held.Load().Downgrade(within); !errors.Is(err, rwlock.ErrNotHeld) && !errors.Is(err, rwlock.ErrInvalidArgument) {
					w.Errorf("%s: %v", e.Name(), err)
				}
			}
			m := mutex.Load()
			if m == nil || over.Load() || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls.Add(1)
			for _, try := range []take{m.TryLock, m.TryRLock} {
				if h, err := try(within); err == nil {
					if err := h.Unlock(within); err != nil {
						w.Error(err)
					}
				}
			}
			if _, err := m.Contenders(within); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
			if within.Err() != nil {
				w.Errorf("%s: the observer waits for itself", e.Name())
			}
		})})
		m := rwlock.New(c, dir, nil)
		mutex.Store(m)
		h, err := m.Lock(w.Ctx)
		require.NoError(w, err)
		held.Store(h)
		r, err := h.Downgrade(w.Ctx)
		require.NoError(w, err)
		held.Store(r)
		require.NoError(w, r.Unlock(w.Ctx))
		over.Store(true)
		w.Settle() // a call in progress ends
		require.Positive(w, calls.Load())
		require.EqualValues(w, 2, ends.Load(), "of the writer and of the reader")
	})
}

// A try that finds the lock busy is no failure; a try that a server refuses is one.
func TestTriesThatAreRefusedHaveFailed(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c, events := w.ClientObserved(func(e observe.Event) bool { _, ok := e.(observe.WaitEnded); return ok })
		other := w.Client()
		readOnly := &session.CreateOptions{ACL: session.WorldACL(session.PermRead)}
		_, err := w.Session(other).Create(w.Ctx, "/refused", nil, session.Persistent, readOnly)
		require.NoError(w, err)
		_, err = rwlock.New(other, "/lock", nil).Lock(w.Ctx)
		require.NoError(w, err)
		for path, outcome := range map[string]observe.Outcome{"/lock": observe.NotGranted, "/refused": observe.Failed} {
			m := rwlock.New(c, path, nil)
			for _, try := range []func(context.Context) (*rwlock.Held, error){m.TryLock, m.TryRLock} {
				_, err = try(w.Ctx)
				require.Error(w, err)
				require.Equal(w, outcome, (<-events).(observe.WaitEnded).Outcome())
			}
		}
	})
}
