package locktable_test

import (
	"context"
	"errors"
	"flag"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestEventsUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, take := range map[string]func(*locktable.Owner, context.Context, ...string) ([]*locktable.Held, error){
		"lock": (*locktable.Owner).Lock, "trylock": (*locktable.Owner).TryLock,
	} {
		t.Run(file, func(t *testing.T) {
			newTrial(file, nil, func(ctx context.Context, _ *world.Party, ours *play) error {
				held, err := take(ours.tested, ctx, lockNames(2)...)
				if err != nil {
					return err
				}
				return ours.tested.Unlock(ctx, held...)
			}).RunObserved(t, *update, file)
		})
	}
}

// observedClient is a client whose events of locks arrive at the returned channel.
func (w *World) observedClient() (*session.Client, chan observe.Event) {
	return w.ClientObserved(world.IsWaitOrHold)
}

// observed is an owner of an observed client.
func (w *World) observed(o *locktable.Options) (*locktable.Owner, chan observe.Event) {
	c, events := w.observedClient()
	return w.join(c, o), events
}

func TestEventsOfALockSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, events := w.observed(nil)
		other := w.join(w.Client(), nil)
		theirs := w.try(other, "a")
		mine := w.startLock(w.Ctx, o, "a", "b", "c")
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Lock, Path: dir, Begun: begun.Begun}, begun.Wait)
		require.Empty(w, events, "Lock returns all locks together")
		require.NoError(w, other.Unlock(w.Ctx, theirs...))
		locks := (<-mine).held
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait, Took: time.Since(begun.Begun)}, <-events)
		holds := map[string]observe.Hold{}
		for _, h := range locks {
			e := (<-events).(observe.HoldBegun)
			require.Equal(w, observe.Hold{
				ID: e.ID, Kind: observe.Lock, Path: dir, Wait: begun.ID, Znode: h.Path(), Token: h.Token(),
				Session: o.Session().ID(), Begun: e.Begun,
			}, e.Hold)
			holds[h.Name()] = e.Hold
		}
		world.Pause(time.Second)
		require.NoError(w, locks[0].Unlock(w.Ctx))
		ended := (<-events).(observe.HoldEnded)
		require.Equal(w, observe.HoldEnded{Hold: holds["a"], Took: ended.Took, End: observe.Released}, ended)
		require.ErrorIs(w, locks[0].Unlock(w.Ctx), locktable.ErrNotHeld)

		require.NoError(w, w.Server.Delete(locks[1].Path()))
		w.Settle()
		ended = (<-events).(observe.HoldEnded)
		require.Equal(w, holds["b"], ended.Hold)
		require.Equal(w, observe.Lost, ended.End)
		require.ErrorIs(w, ended.Err, session.ErrNodeDeleted)
		require.Zero(w, ended.TrustLeft)

		require.NoError(w, o.Release(w.Ctx))
		ended = (<-events).(observe.HoldEnded)
		require.Equal(w, observe.HoldEnded{Hold: holds["c"], Took: ended.Took, End: observe.Released}, ended)
		require.Empty(w, events)
	})
}

func TestEventsOfLocksThatAreNotTaken(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, events := w.observed(nil)
		other := w.join(w.Client(), nil)
		w.try(other, "a")
		held := w.try(o, "a", "b")
		require.Equal(w, []string{"b"}, namesOf(held))
		hold := (<-events).(observe.HoldBegun)
		require.Zero(w, hold.Wait, "TryLock does not wait")
		require.Equal(w, held[0].Path(), hold.Znode)
		_, err := o.Lock(w.Within(time.Second), "a", "c")
		require.ErrorIs(w, err, context.DeadlineExceeded)
		<-events
		require.Equal(w, err, (<-events).(observe.WaitEnded).Err)
		require.Empty(w, events, "Lock gives c back, and returns no lock")

		w.Away(o.Context())
		w.Settle()
		lost := (<-events).(observe.HoldEnded)
		require.Equal(w, hold.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrTrustRanOut)
		require.ErrorIs(w, o.Release(w.Ctx), session.ErrLost)
		require.Empty(w, events, "the loss is reported once")
	})
}

// A release can be the first to find out that a lock was taken away.
func TestEventOfALossThatTheReleaseFindsOut(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, events := w.observed(&locktable.Options{Unwatched: true})
		held := w.try(o, "a", "b")
		require.NoError(w, w.Server.Delete(held[0].Path()))
		require.ErrorIs(w, o.Unlock(w.Ctx, held...), session.ErrLost)
		ends := map[string]observe.End{}
		for range 4 {
			if ended, ok := (<-events).(observe.HoldEnded); ok {
				ends[ended.Znode] = ended.End
			}
		}
		require.Equal(w, map[string]observe.End{held[0].Path(): observe.Lost, held[1].Path(): observe.Released}, ends)
		require.NoError(w, o.Release(w.Ctx))
	})
}

// The locks of an owner end with a znode that the caller gives back.
func TestEventsOfLocksWhoseOwnerGoes(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observedClient()
		o, hold := w.joinMember(c, "member-1")
		w.try(o, "a")
		held := (<-events).(observe.HoldBegun)
		hold.End(nil)
		w.Settle()
		ended := (<-events).(observe.HoldEnded)
		require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: ended.Took, End: observe.Released}, ended)
	})
}

func TestEventsOfAnAcquirer(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, events := w.observed(nil)
		ctx, stop := context.WithCancel(w.Ctx)
		defer stop()
		var got []*locktable.Held
		a := o.Acquirer(func(held []*locktable.Held) {
			if len(events) < len(held) {
				w.Error("the holds are reported before the function has them")
			}
			got = append(got, held...)
		}, func([]string) {})
		names := lockNames(1000)
		require.NoError(w, a.Want(names...))
		done := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { done <- a.Run(ctx) }()
		w.Settle()
		stop()
		require.NoError(w, <-done)
		require.Len(w, got, len(names))
		require.Len(w, events, len(names))
		require.NoError(w, o.Release(w.Ctx))
		require.Len(w, events, 2*len(names))
	})
}

// An observer may use the owner that reports to it.
func TestObserverMayUseTheOwner(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var owner atomic.Pointer[locktable.Owner]
		var inside atomic.Bool
		var calls atomic.Int32
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			o := owner.Load()
			if _, heartbeat := e.(observe.HeartbeatEnded); heartbeat || o == nil || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls.Add(1)
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			held, err := o.Lock(within, "of the observer")
			if err == nil {
				err = o.Unlock(within, held...)
			}
			if err != nil && !errors.Is(err, session.ErrReleased) {
				w.Errorf("%s: %v", e.Name(), err)
			}
		})})
		o := w.join(c, nil)
		owner.Store(o)
		held, err := o.Lock(w.Ctx, "a", "b")
		require.NoError(w, err)
		require.NoError(w, o.Unlock(w.Ctx, held[0]))
		require.NoError(w, o.Release(w.Ctx))
		owner.Store(nil)
		require.EqualValues(w, 6, calls.Load())
	})
}

var update = flag.Bool("update", false, "write the golden files") // read only
