package barrier_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// others is a Next without the tested client, whose events are compared.
func others(ctx context.Context, p *world.Party) error {
	other, stop := beside(barrier.New(p.Other, dir, 2, nil), 0)
	round, err := barrier.New(p.Other, dir, 2, nil).Await(ctx)
	return judge(passed{round, err}, other, stop)
}

func TestEventsOfABarrierUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Await", Paths: []string{dir}, Next: others,
		Setup: func(_ *matrix.Env, p *world.Party) error { return others(context.Background(), p) },
		Op: func(ctx context.Context, p *world.Party) error {
			other, stop := beside(barrier.New(p.Other, dir, 2, nil), 3*time.Second)
			round, err := barrier.New(p.Tested, dir, 2, nil).Await(ctx)
			return judge(passed{round, err}, other, stop)
		},
	}.RunObserved(t, *update, "barrier")
}

func TestEventsOfAGateUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Wait",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			return barrier.NewGate(p.Other, dir, nil).Set(context.Background())
		},
		Next: func(ctx context.Context, p *world.Party) error { return barrier.NewGate(p.Other, dir, nil).Wait(ctx) },
		Op: func(ctx context.Context, p *world.Party) error {
			opened := make(chan error, 1)
			// Waited for below; ends when the gate is open.
			go func() {
				world.Pause(3 * time.Second)
				opened <- barrier.NewGate(p.Other, dir, nil).Remove(context.Background())
			}()
			err := barrier.NewGate(p.Tested, dir, nil).Wait(ctx)
			return errors.Join(err, <-opened)
		},
	}.RunObserved(t, *update, "gate")
}

func TestEventsOfASeatUnderEveryFault(t *testing.T) {
	t.Parallel()
	alone := func(ctx context.Context, c *session.Client) error {
		seat, err := barrier.NewDouble(c, dir, 1, nil).Enter(ctx)
		if err != nil {
			return err
		}
		return seat.Leave(ctx)
	}
	world.Trial{
		Name: "Enter, Leave", Paths: []string{dir}, Excuses: []error{session.ErrLost},
		Next: func(ctx context.Context, p *world.Party) error { return alone(ctx, p.Other) },
		Op:   func(ctx context.Context, p *world.Party) error { return alone(ctx, p.Tested) },
	}.RunObserved(t, *update, "double")
}

// observed is a client whose events of barriers arrive at the returned channel.
func (w *World) observed() (*session.Client, chan observe.Event) {
	return w.ClientObserved(func(e observe.Event) bool {
		_, round := e.(observe.RoundPassed)
		return round || world.IsWaitOrHold(e)
	})
}

func TestEventsOfABarrierSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		b := barrier.New(c, dir, 2, nil)
		_, err := b.Await(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Round, Path: dir, Begun: begun.Begun}, begun.Wait)
		ended := (<-events).(observe.WaitEnded)
		require.Equal(w, begun.Wait, ended.Wait)
		require.Equal(w, err, ended.Err)

		first := w.await(w.Ctx, barrier.New(w.Client(), dir, 2, nil))
		w.Settle()
		round, err := b.Await(w.Ctx)
		require.NoError(w, err)
		w.round(first, round)
		begun = (<-events).(observe.WaitBegun)
		require.Equal(w, observe.RoundPassed{Path: dir, Wait: begun.ID, Round: round, Parties: 2}, <-events)
		ended = (<-events).(observe.WaitEnded)
		require.Equal(w, begun.Wait, ended.Wait)
		require.NoError(w, ended.Err)
		require.Empty(w, events)
	})
}

func TestEventsOfAGateSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		g := barrier.NewGate(c, dir, nil)
		require.NoError(w, g.Set(w.Ctx))
		_, err := g.Closed(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, events, "only Wait waits")
		for _, open := range []bool{false, true} {
			if open {
				require.NoError(w, g.Remove(w.Ctx))
			}
			err := g.Wait(w.Within(time.Second))
			begun := (<-events).(observe.WaitBegun)
			require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Barrier, Path: dir, Begun: begun.Begun}, begun.Wait)
			ended := (<-events).(observe.WaitEnded)
			require.Equal(w, begun.Wait, ended.Wait)
			require.Equal(w, err, ended.Err)
			require.Equal(w, open, err == nil)
		}
	})
}

// A Leave that waits for the other parties: the hold has ended when the context of the seat
// has, and the event comes when the call returns.
func TestEventsOfASeatSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		doubles, _ := w.doubles(1, 2, nil)
		other := w.enter(w.Ctx, doubles[0])
		w.Settle()
		seat, err := barrier.NewDouble(c, dir, 2, nil).Enter(w.Ctx)
		require.NoError(w, err)
		theirs := w.seats(seat.Round(), other)[0]
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Seat, Path: dir, Begun: begun.Begun}, begun.Wait)
		require.Equal(w, begun.Wait, (<-events).(observe.WaitEnded).Wait)
		held := (<-events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: held.ID, Kind: observe.Seat, Path: dir, Wait: begun.ID, Znode: seat.Path(), Token: seat.Token(),
			Session: w.ID(c), Begun: held.Begun,
		}, held.Hold)

		stay := time.Since(held.Begun)
		leaving := w.leave(w.Ctx, seat)
		w.Pass(10 * time.Second)
		require.Error(w, seat.Context().Err())
		require.Empty(w, events, "Leave waits for the other party")
		require.NoError(w, theirs.Release(w.Ctx))
		w.left(leaving)
		require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: stay, End: observe.Released}, <-events)

		other = w.enter(w.Ctx, doubles[0])
		w.Settle()
		seat, err = barrier.NewDouble(c, dir, 2, nil).Enter(w.Ctx)
		require.NoError(w, err)
		theirs = w.seats(seat.Round(), other)[0]
		<-events
		<-events
		held = (<-events).(observe.HoldBegun)
		w.Away(seat.Context())
		lost := (<-events).(observe.HoldEnded)
		require.Equal(w, held.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrTrustRanOut)
		require.ErrorIs(w, seat.Leave(w.Ctx), session.ErrLost)
		require.ErrorIs(w, theirs.Release(w.Ctx), session.ErrLost, "Away is for all clients")
		require.Empty(w, events, "the loss is reported once")
	})
}

// An observer may use the barriers that report to it.
func TestObserverMayUseTheBarriers(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var double atomic.Pointer[barrier.Double]
		var seat atomic.Pointer[barrier.Seat]
		var inside atomic.Bool
		var calls atomic.Int32
		var client atomic.Pointer[session.Client]
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			d := double.Load()
			if d == nil || !inside.CompareAndSwap(false, true) {
				return
			}
			defer inside.Store(false)
			calls.Add(1)
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
			defer cancel()
			if _, err := d.Waiting(within); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
			if _, err := barrier.New(client.Load(), "/barriers/one", 1, nil).Await(within); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
			if err := barrier.NewGate(client.Load(), "/barriers/gate", nil).Wait(within); err != nil {
				w.Errorf("%s: %v", e.Name(), err)
			}
			if t := seat.Load(); t != nil && t.Context().Err() != nil {
				if err := t.Leave(within); !errors.Is(err, barrier.ErrNotInside) {
					w.Errorf("%s: %v", e.Name(), err)
				}
			}
		})})
		client.Store(c)
		double.Store(barrier.NewDouble(c, dir, 1, nil))
		s, err := double.Load().Enter(w.Ctx)
		require.NoError(w, err)
		seat.Store(s)
		require.NoError(w, s.Leave(w.Ctx))
		double.Store(nil)
		w.Settle() // a call in progress ends
		require.Positive(w, calls.Load())
	})
}
