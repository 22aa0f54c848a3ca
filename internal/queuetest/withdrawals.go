package queuetest

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// withdrawals are the scenarios of a place that is given up.
func withdrawals() map[string]scenario {
	return map[string]scenario{
		"WithdrawLeavesTheQueue_P7":                       withdrawLeaves,
		"WithdrawEndsAnAwaitThatAsks":                     withdrawEndsAwait,
		"WithdrawalRacesTheTurn":                          withdrawalRacesTurn,
		"WithdrawGivesTheHoldBack":                        withdrawGivesBack,
		"WithdrawWaitsForAHoldThatIsBeingGivenBack":       withdrawWaits,
		"AwaitThatIsOvertakenByAWithdrawalIsNotGranted":   awaitIsOvertaken,
		"WithdrawWithAnEndedContextGoesOn_P6":             withdrawGoesOn,
		"WithdrawWhoseRequestOrAnswerIsLostLeavesNothing": withdrawIsLost,
	}
}

func withdrawLeaves(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		p := s.enqueue(s.next())
		out := s.startAcquire(s.Ctx, p.Await)
		last := s.startAcquire(s.Ctx, s.next().Rival)
		require.NoError(s, p.Withdraw(s.Ctx))
		require.ErrorIs(s, s.outcome(out).err, s.Withdrawn, "an Await that is in progress ends")
		require.Empty(s, p.Watching())
		_, err := p.Await(s.Ctx)
		require.ErrorIs(s, err, s.Withdrawn)
		_, err = p.Ahead(s.Ctx)
		require.ErrorIs(s, err, s.Withdrawn)
		require.ErrorIs(s, p.Withdraw(s.Ctx), s.Withdrawn)
		require.NoError(s, h.Context().Err(), "no other contender is affected")
		s.pending(last)
		s.release(h)
		s.release(s.granted(last))
		s.empty()
	})
}

// Withdraw ends an Await that has a request in progress; no context has ended.
func withdrawEndsAwait(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		h := s.get(s.next().Rival)
		p := s.enqueue(s.next())
		s.Server.Delay(zktest.Link{}, zktest.Both, time.Second)
		out := s.startAcquire(s.Ctx, p.Await)
		began := time.Now()
		gone := make(chan error, 1)
		// Waited for below; ends with the answer to its deletion.
		go func() { gone <- p.Withdraw(s.Ctx) }()
		g := s.outcome(out)
		require.Zero(s, g.at.Sub(began))
		require.ErrorIs(s, g.err, s.Withdrawn)
		require.NotErrorIs(s, g.err, context.Canceled)
		require.NoError(s, <-gone)
		s.Server.Heal()
		s.release(h)
		s.Pass(5 * time.Second)
		s.RequireNoWatches("not of the read that was overtaken")
	})
}

// Await and Withdraw in the very instant in which the turn comes: whichever call wins, no
// znode stays, and a hold that was handed out has ended.
func withdrawalRacesTurn(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		a, b := s.next(), s.next()
		won := 0
		for i := range 40 {
			h, p := s.get(a.Rival), s.enqueue(b)
			out := s.startAcquire(s.Ctx, p.Await)
			s.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
			gone := make(chan error, 1)
			// Waited for below; ends when the contender has left.
			go func() {
				world.Pause(time.Duration(i%8) * time.Millisecond)
				gone <- p.Withdraw(s.Ctx)
			}()
			s.release(h)
			require.NoError(s, <-gone)
			if g := s.outcome(out); g.err == nil {
				won++
				require.ErrorIs(s, context.Cause(g.held.Context()), session.ErrReleased)
			} else {
				require.ErrorIs(s, g.err, s.Withdrawn)
			}
			s.Server.Heal()
			s.empty()
		}
		require.Positive(s, won)
		require.Less(s, won, 40)
	})
}

// Withdraw is right to defer: it gives the hold back if the place has won it, and does
// nothing more if it was given back.
func withdrawGivesBack(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		for _, released := range []bool{false, true} {
			p := s.enqueue(s.next())
			h, err := p.Await(s.Ctx)
			require.NoError(s, err)
			if released {
				s.release(h)
			}
			s.ResetStats()
			require.NoError(s, p.Withdraw(s.Ctx))
			require.Equal(s, !released, s.Server.Stats().Requests["delete"] > 0, "a confirmed release is enough")
			require.ErrorIs(s, context.Cause(h.Context()), session.ErrReleased)
			require.ErrorIs(s, h.Release(s.Ctx), s.NotHeld)
			_, err = p.Await(s.Ctx)
			require.ErrorIs(s, err, s.Withdrawn)
			s.empty()
		}
	})
}

// The context of the release had ended: the deletion goes on, and Withdraw waits for it.
func withdrawWaits(t *testing.T, tg Target) {
	world.Needs(t, world.Resumes)
	tg.enqueuing(t, func(s *scene) {
		p := s.enqueue(s.next())
		h, err := p.Await(s.Ctx)
		require.NoError(s, err)
		require.NoError(s, s.Server.Stop(1))
		ended := s.Within(0)
		<-ended.Done()
		require.ErrorIs(s, h.Release(ended), context.DeadlineExceeded)
		gone := make(chan error, 1)
		// Waited for below; ends when the znode is gone.
		go func() { gone <- p.Withdraw(s.Ctx) }()
		s.Settle()
		require.Empty(s, gone, "it is still there")
		require.NoError(s, s.Server.Restart(1))
		require.NoError(s, <-gone)
		require.Empty(s, s.contenders())
	})
}

// withdrawing is a context that is never over, and withdraws p when it is asked for its
// end: after Await has looked whether p is withdrawn.
type withdrawing struct {
	context.Context
	p    Place
	once *sync.Once
}

func (c withdrawing) Done() <-chan struct{} {
	c.once.Do(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.p.Withdraw(ended) // goes on in the background
	})
	return c.Context.Done()
}

// Await and Withdraw overlap, with nothing to wait for: the listing of the moment when the
// place was taken must not grant a place that is being given up.
func awaitIsOvertaken(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		c := s.Client()
		elsewhere := s.get(s.at(c, s.Path+"2").Acquire) // its session is trusted all the time
		for range 30 {
			p := s.enqueue(s.contender(c))
			h, err := p.Await(withdrawing{s.Ctx, p, new(sync.Once)})
			require.ErrorIs(s, err, s.Withdrawn)
			require.Nil(s, h)
		}
		s.empty()
		s.release(elsewhere)
	})
}

// The caller of Withdraw has no time: the deletion goes on.
func withdrawGoesOn(t *testing.T, tg Target) {
	tg.enqueuing(t, func(s *scene) {
		for _, win := range []bool{false, true} {
			p := s.enqueue(s.next())
			if win {
				_, err := p.Await(s.Ctx)
				require.NoError(s, err)
			}
			ctx, cancel := context.WithCancel(s.Ctx)
			cancel()
			began := time.Now()
			if err := p.Withdraw(ctx); err != nil {
				require.ErrorIs(s, err, context.Canceled)
			}
			require.Zero(s, time.Since(began))
			s.empty()
			require.ErrorIs(s, p.Withdraw(s.Ctx), s.Withdrawn)
		}
	})
}

// The request of Withdraw, or its answer, is lost: the session and the others go on.
func withdrawIsLost(t *testing.T, tg Target) {
	world.Needs(t, world.Resumes)
	for _, do := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.DropRequest, zktest.DropReplyHole} {
		tg.enqueuing(t, func(s *scene) {
			h := s.get(s.next().Rival)
			p := s.enqueue(s.next())
			_, err := p.Await(s.Within(time.Second))
			require.ErrorIs(s, err, context.DeadlineExceeded)
			last := s.startAcquire(s.Ctx, s.next().Rival)
			s.Server.FailNth(func(r zktest.Request) bool { return r.Op == "delete" && r.Path == p.Path() }, 1, zktest.Action{Do: do})
			require.NoError(s, p.Withdraw(s.Within(time.Minute)))
			s.pending(last)
			require.NoError(s, p.Session().Err(), "the session lives")
			s.release(h)
			s.release(s.granted(last))
			s.empty()
		})
	}
}
