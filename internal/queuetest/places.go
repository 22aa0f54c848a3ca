package queuetest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// places are the scenarios of a place in the queue, without a goroutine that waits in it.
func places() map[string]scenario {
	return map[string]scenario{
		"EnqueueDoesNotWaitAndAwaitCanBeResumed":                 awaitIsResumed,
		"AwaitThatEndsWithTheLossOfSomethingElseKeepsThePlace":   placeIsKept,
		"AwaitsOfOnePlaceHaveOneHold":                            oneHoldOfSeveralAwaits,
		"PlaceIsLostWithItsSession_P3":                           placeGoesWithSession,
		"PlaceWhoseNodeIsDeletedIsLost_CH2_CH26":                 placeIsDeleted,
		"PlaceThatWasLostBeforeTheFirstAwaitIsNotGranted":        placeWasLost,
		"ResumedAwaitSeesChangesMadeBetweenTheAwaits":            resumedAwaitSeesChanges,
		"PlaceUnderEveryFault":                                   placeUnderFaults,
		"PlaceThatIsWithdrawnUnderEveryFault":                    withdrawalUnderFaults,
		"PlaceAndItsProcessMayQueueTogether":                     placeBesideItsProcess,
		"EnqueueAndAwaitOfAFreePlaceCostNoMoreThanAnAcquisition": placeCost,
	}
}

// enqueuing runs body in a bubble, on a target that has places.
func (tg Target) enqueuing(t *testing.T, body func(s *scene)) {
	t.Helper()
	if tg.hasPlaces() {
		tg.in(t, nil, body)
	}
}

func (tg Target) hasPlaces() bool { return tg.New(nil, tg.Path).Enqueue != nil }

// enqueue takes a place within a virtual minute.
func (s *scene) enqueue(k Contender) Place {
	s.Helper()
	p, err := k.Enqueue(s.Within(time.Minute))
	require.NoError(s, err)
	return p
}

// requireAhead requires that n contenders are ahead of p.
func (s *scene) requireAhead(p Place, n int) {
	s.Helper()
	ahead, err := p.Ahead(s.Ctx)
	require.NoError(s, err)
	require.Equal(s, n, ahead)
}

func awaitIsResumed(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		c := s.Client()
		began := time.Now()
		p := s.enqueue(s.contender(c))
		require.Zero(s, time.Since(began))
		require.Equal(s, s.ID(c), p.Session().ID())
		require.Empty(s, p.Watching(), "no Await yet")
		s.requireAhead(p, 1)
		for range 5 {
			_, err := p.Await(s.Within(time.Second))
			require.ErrorIs(s, err, context.DeadlineExceeded)
			require.ErrorContains(s, err, "await "+s.Path)
			s.requireAhead(p, 1)
			if strings.HasPrefix(p.Path(), s.Folder+"/") {
				require.Equal(s, h.Path(), s.Folder+"/"+p.Watching(), "the watch stays with the place")
			}
		}
		s.release(h)
		s.requireAhead(p, 0)
		second, err := p.Await(s.Within(time.Second))
		require.NoError(s, err)
		require.Equal(s, p.Path(), second.Path())
		require.Greater(s, second.Token(), h.Token())
		require.Empty(s, p.Watching())
		same, err := p.Await(s.Ctx)
		require.NoError(s, err)
		require.Same(s, second, same)
		s.requireAhead(p, 0)
		s.release(second)
		s.empty()
	})
}

// The context of something else that is held ends with a loss, which is not that of the
// place.
func placeIsKept(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		p := s.enqueue(s.next())
		ctx, lose := context.WithCancelCause(s.Ctx)
		out := s.startAcquire(ctx, p.Await)
		lose(session.ErrLost)
		require.ErrorIs(s, s.outcome(out).err, context.Canceled)
		s.requireAhead(p, 1)
		s.release(h)
		second, err := p.Await(s.Within(time.Second))
		require.NoError(s, err)
		s.release(second)
	})
}

// Several goroutines may await one place: they get one hold.
func oneHoldOfSeveralAwaits(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		p := s.enqueue(s.next())
		s.ShareHolds(tg.Path)
		a, b := s.startAcquire(s.Ctx, p.Await), s.startAcquire(s.Ctx, p.Await)
		_, err := p.Await(s.Within(time.Second))
		require.ErrorIs(s, err, context.DeadlineExceeded, "a waiter goes by its own context")
		s.release(h)
		require.Same(s, s.granted(a), s.granted(b))
		require.NoError(s, p.Withdraw(s.Ctx))
		s.empty()
	})
}

// P3, P11: a place goes with its session; an Await in the old session reports a loss, also
// if the turn comes in the same instant.
func placeGoesWithSession(t *testing.T, tg Target) {
	for _, release := range []bool{false, true} {
		tg.enqueuing(t, func(s *scene) {
			h := s.get(s.next().Rival)
			c := s.Client()
			k := s.contender(c)
			p := s.enqueue(k)
			out := s.startAcquire(s.Ctx, p.Await)
			s.Expire(c)
			if release {
				s.release(h)
			}
			require.ErrorIs(s, s.outcome(out).err, session.ErrLost)
			require.Empty(s, p.Watching())
			_, err := p.Await(s.Ctx)
			require.ErrorIs(s, err, session.ErrLost)
			_, err = p.Ahead(s.Ctx)
			require.ErrorIs(s, err, session.ErrLost)
			require.ErrorIs(s, p.Withdraw(s.Ctx), session.ErrLost)
			require.ErrorIs(s, p.Withdraw(s.Ctx), session.ErrLost, "a second time, too")
			again := s.enqueue(k)
			require.NotEqual(s, p.Path(), again.Path())
			require.NoError(s, again.Withdraw(s.Ctx))
		})
	}
}

// CH2, CH26: another client deletes the znode of a waiting place.
func placeIsDeleted(t *testing.T, tg Target) {
	for _, after := range []time.Duration{0, 5 * time.Second} {
		tg.enqueuing(t, func(s *scene) {
			h := s.get(s.next().Rival)
			p := s.enqueue(s.next())
			out := s.startAcquire(s.Ctx, p.Await)
			s.Pass(after)
			require.NoError(s, s.Server.Delete(p.Path()))
			g := s.outcome(out)
			require.ErrorIs(s, g.err, session.ErrLost)
			require.ErrorIs(s, g.err, session.ErrNodeDeleted)
			_, err := p.Await(s.Ctx)
			require.ErrorIs(s, err, session.ErrNodeDeleted)
			_, err = p.Ahead(s.Ctx)
			require.ErrorIs(s, err, session.ErrNodeDeleted)
			require.Empty(s, p.Watching())
			require.NoError(s, p.Withdraw(s.Ctx), "it is gone, as asked")
			s.release(h)
			s.Settle()
			s.RequireNoWatches()
		})
	}
}

// A place that is not awaited is lost unnoticed, and another contender is granted: the list
// read when the place was taken grants nothing any more.
func placeWasLost(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		c := s.Client()
		// It holds something else, so its session is trusted all the time.
		elsewhere := s.get(s.at(c, s.Path+"2").Acquire)
		p := s.enqueue(s.contender(c))
		require.NoError(s, s.Server.Delete(p.Path()))
		h := s.get(s.next().Rival)
		s.Pass(time.Minute)
		_, err := p.Await(s.Ctx)
		require.ErrorIs(s, err, session.ErrNodeDeleted)
		s.release(h)
		s.release(elsewhere)
	})
}

// A place whose Await was given up reads the queue again after a reconnect.
func resumedAwaitSeesChanges(t *testing.T, tg Target) {
	world.Needs(t, world.Resumes)
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		p := s.enqueue(s.next())
		_, err := p.Await(s.Within(time.Second))
		require.Error(s, err)
		s.Server.CutLink(zktest.Link{Client: "c2"})
		s.release(h)
		s.Pass(time.Minute)
		second, err := p.Await(s.Within(time.Second))
		require.NoError(s, err)
		s.release(second)
	})
}

// Places, and calls that acquire, of one object of a recipe are served one after the other.
func placeBesideItsProcess(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		k := s.next()
		h := s.get(k.Rival)
		p := s.enqueue(k)
		last := s.startAcquire(s.Ctx, k.Rival)
		out := s.startAcquire(s.Ctx, p.Await)
		s.pending(last, out)
		s.release(h)
		second := s.granted(out)
		require.Empty(s, p.Watching())
		s.pending(last)
		s.release(second)
		s.release(s.granted(last))
		s.empty()
	})
}

// A place costs what an acquisition costs.
func placeCost(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		c := s.Client()
		k := s.contender(c)
		s.release(s.get(k.Acquire))
		s.Settle()
		s.ResetStats()
		s.release(s.get(k.Acquire))
		s.Settle()
		want := s.Requests(c)
		s.ResetStats()
		h, err := s.enqueue(k).Await(s.Ctx)
		require.NoError(s, err)
		s.release(h)
		s.Settle()
		require.Equal(s, want, s.Requests(c))
	})
}

// placeUnderFaults: a place is taken, awaited and released, while nothing is held.
func placeUnderFaults(t *testing.T, tg Target) {
	if !tg.hasPlaces() {
		return
	}
	t.Parallel()
	tg.trial("enqueue, await, release", func(ctx context.Context, p *world.Party) error {
		place, err := tg.contender(p.Tested).Enqueue(ctx)
		if err != nil {
			return err
		}
		h, err := place.Await(ctx)
		if err != nil {
			_ = place.Withdraw(ctx) // its error is that of the fault, or of ctx
			return err
		}
		if err := tg.alone(p, h, tg.Shares); err != nil {
			return err
		}
		return place.Withdraw(ctx)
	}).Run(t)
}

// withdrawalUnderFaults: a place is withdrawn while another client holds; the one behind is
// granted when that client releases.
func withdrawalUnderFaults(t *testing.T, tg Target) {
	if !tg.hasPlaces() {
		return
	}
	t.Parallel()
	var first Held
	tr := tg.trial("enqueue, withdraw", func(ctx context.Context, p *world.Party) error {
		place, err := tg.contender(p.Tested).Enqueue(ctx)
		if err == nil {
			short, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			if _, e := place.Await(short); e == nil && first.Context().Err() == nil {
				return world.ErrBroken
			}
			err = place.Withdraw(ctx)
		}
		if e := first.Release(context.Background()); e != nil {
			return fmt.Errorf("the first holder: %w", e)
		}
		return err
	})
	tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
		first, err = tg.contender(p.Other).Rival(context.Background())
		return err
	}
	tr.Run(t)
}
