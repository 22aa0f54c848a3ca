package election_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestLeaderMakesWayAfterItsTenureAndNotBefore(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := election.New(w.Client(), dir, &election.Options{ID: "low", Priority: 1, PreemptAfter: time.Minute})
		var began, ended []time.Time
		var causes []error
		ctx, cancel := context.WithCancel(w.Ctx)
		done := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() {
			done <- e.Run(ctx, func(ctx context.Context, _ *election.Leadership) error {
				began = append(began, time.Now())
				<-ctx.Done()
				ended, causes = append(ended, time.Now()), append(causes, context.Cause(ctx))
				return errors.New("ignored")
			})
		}()
		w.Settle()
		equal := w.startWin(w.Ctx, w.ranked("equal", 1).Campaign)
		w.Pass(10 * time.Second)
		high := w.startWin(w.Ctx, w.ranked("high", 2).Campaign)
		w.pending(high)
		w.pending(equal)
		l := w.leads(high)
		require.Equal(w, time.Minute, ended[0].Sub(began[0]).Truncate(time.Second))
		require.ErrorIs(w, causes[0], election.ErrPreempted)
		w.Pass(2 * time.Minute)
		require.NoError(w, l.Context().Err(), "one without PreemptAfter stays")
		w.resign(l)
		w.resign(w.leads(equal)) // it came before the low one campaigned again
		w.Settle()
		require.Len(w, began, 2)
		w.Pass(2 * time.Minute)
		require.Len(w, ended, 1, "an equal priority would depose no leader, nor does its end")
		high = w.startWin(w.Ctx, w.ranked("high", 2).Campaign)
		w.Settle()
		l = w.leads(high)
		require.Less(w, time.Since(ended[1]), time.Minute, "long after its tenure the leader makes way at once")
		cancel()
		require.NoError(w, <-done)
		w.resign(l)
		w.Settle()
		require.Empty(w, w.Children(ranked))
	})
}

func TestAwaitPreemptionEndsWithTheLeadershipAndItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for _, o := range []election.Options{{}, {Priority: 1, PreemptAfter: time.Millisecond}, {Priority: 1, PreemptAfter: time.Hour}} {
			l := w.campaign(election.New(w.Client(), dir, &o))
			require.ErrorIs(w, l.AwaitPreemption(w.Within(time.Minute)), context.DeadlineExceeded)
			out := make(chan error, 1)
			// Waited for below; ends with the leadership.
			go func() { out <- l.AwaitPreemption(w.Ctx) }()
			w.Settle()
			w.resign(l)
			require.ErrorIs(w, <-out, session.ErrReleased)
			l = w.campaign(election.New(w.Client(), dir, &o))
			// Waited for below; ends with the leadership.
			go func() { out <- l.AwaitPreemption(w.Ctx) }()
			w.Settle()
			require.NoError(w, w.Server.ExpireSession(l.Session().ID()))
			require.ErrorIs(w, <-out, session.ErrLost)
			require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
		}
		require.ErrorIs(w, (*election.Leadership)(nil).AwaitPreemption(w.Ctx), election.ErrInvalidArgument)
	})
}

// The leader makes way for no equal priority. It stays also while a candidate without a
// priority would lead next.
func TestLeaderMakesNoWayForACandidateWithoutAPriority(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(election.New(w.Client(), dir, &election.Options{Priority: 1, PreemptAfter: time.Second}))
		out := make(chan error, 1)
		// Waited for below; ends with the preemption.
		go func() { out <- l.AwaitPreemption(w.Ctx) }()
		equal := w.startWin(w.Ctx, w.ranked("equal", 1).Campaign)
		w.Pass(time.Minute)
		require.Empty(w, out)
		k := w.stand(elector(w.Client(), "none"))
		high := w.startWin(w.Ctx, w.ranked("high", 2).Campaign)
		w.Pass(2 * time.Minute)
		require.Empty(w, out)
		require.NoError(w, k.Withdraw(w.Ctx))
		require.NoError(w, <-out)
		w.resign(l)
		w.resign(w.leads(high))
		w.resign(w.leads(equal))
	})
}

// TestRunMakesWayUnderEveryFault: no two leaders at once, and the function runs again. A fault
// that keeps the candidate from leading within two seconds lets the other one lead first.
func TestRunMakesWayUnderEveryFault(t *testing.T) {
	madeWay := 0
	cases := world.Trial{
		Name: "Run with PreemptAfter", Paths: []string{dir, ranked}, Next: nextLeads,
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
		Op: func(ctx context.Context, p *world.Party) error {
			led := make(chan error, 1)
			var inside, highLed atomic.Bool
			// Waited for below; ends when it has led.
			go func() {
				world.Pause(2 * time.Second)
				l, err := election.New(p.Other, dir, &election.Options{Priority: 2}).Campaign(context.Background())
				if err == nil {
					if inside.Load() && !p.Expires {
						err = world.ErrBroken
					}
					highLed.Store(true)
					world.Pause(time.Second)
					err = errors.Join(err, ignoreLoss(l.Resign(context.Background())))
				}
				led <- err
			}()
			e, before := election.New(p.Tested, dir, &election.Options{Priority: 1, PreemptAfter: 3 * time.Second}), 0
			err := e.Run(ctx, func(ctx context.Context, _ *election.Leadership) error {
				inside.Store(true)
				defer inside.Store(false)
				if highLed.Load() {
					return nil
				}
				before++
				<-ctx.Done()
				return context.Cause(ctx)
			})
			if err == nil && before > 0 {
				madeWay++
			}
			return errors.Join(err, <-led)
		},
	}.Run(t)
	require.Greater(t, madeWay, cases/2)
}
