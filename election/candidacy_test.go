package election_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A place in the queue, without a goroutine that waits in it.

func TestStandDoesNotWaitAndAwaitCanBeResumed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		c := w.Client()
		began := time.Now()
		k := w.stand(elector(c, "second"))
		require.Zero(w, time.Since(began))
		require.Len(w, w.Children(dir), 2)
		require.Equal(w, w.ID(c), k.Session().ID())
		require.Empty(w, k.Watching(), "no leader yet")
		for range 5 {
			_, err := k.Await(w.Within(time.Second))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.Contains(w, err.Error(), "election: await "+dir)
			require.NotEmpty(w, k.Watching(), "the watch stays with the place")
			require.Len(w, w.Children(dir), 2)
		}
		w.resign(l)
		second, err := k.Await(w.Within(time.Second))
		require.NoError(w, err)
		require.Equal(w, k.Path(), second.Path())
		require.Empty(w, k.Watching())
		same, err := k.Await(w.Ctx)
		require.NoError(w, err)
		require.Same(w, second, same)
		w.resign(second)
	})
}

// The context of something else that is held ends with a loss, which is not that
// of the place.
func TestAwaitThatEndsWithTheLossOfSomethingElseKeepsThePlace(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		k := w.stand(elector(w.Client(), "second"))
		ctx, lose := context.WithCancelCause(w.Ctx)
		out := w.begin(ctx, k.Await)
		lose(session.ErrLost)
		require.ErrorIs(w, (<-out).err, context.Canceled)
		require.Equal(w, l.Path(), dir+"/"+k.Watching(), "the watch stays with the place")
		w.resign(l)
		second, err := k.Await(w.Within(time.Second))
		require.NoError(w, err)
		w.resign(second)
	})
}

// Several goroutines may await one candidacy: they get one leadership.
func TestAwaitOfSeveralIsOneLeadership(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		k := w.stand(elector(w.Client(), "second"))
		a, b := w.begin(w.Ctx, k.Await), w.begin(w.Ctx, k.Await)
		_, err := k.Await(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded, "a queued candidate goes by its own context")
		w.resign(l)
		require.Same(w, w.leads(a), w.leads(b))
		require.NoError(w, k.Withdraw(w.Ctx))
	})
}

func TestWithdrawLeavesTheQueue_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(3)
		l := w.leads(q.outs[0])
		require.NoError(w, q.stands[1].Withdraw(w.Ctx))
		g := <-q.outs[1]
		require.ErrorIs(w, g.err, election.ErrWithdrawn, "an Await that is in progress ends")
		require.Len(w, w.Children(dir), 2)
		require.Empty(w, q.stands[1].Watching())
		w.Settle()
		require.Equal(w, q.name(0), q.stands[2].Watching(), "the queue closes up")
		_, err := q.stands[1].Await(w.Ctx)
		require.ErrorIs(w, err, election.ErrWithdrawn)
		require.ErrorIs(w, q.stands[1].Withdraw(w.Ctx), election.ErrWithdrawn)
		require.NoError(w, l.Context().Err(), "no other candidate is affected")
		w.resign(l)
		w.resign(w.leads(q.outs[2]))
	})
}

// Withdraw ends an Await that has a request in progress; no context has ended.
func TestWithdrawEndsAnAwaitThatAsks(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		k := w.stand(elector(w.Client(), "second"))
		w.Server.Delay(zktest.Link{}, zktest.Both, time.Second)
		out := w.begin(w.Ctx, k.Await)
		began := time.Now()
		gone := make(chan error, 1)
		// Waited for below; ends with the answer to its deletion.
		go func() { gone <- k.Withdraw(w.Ctx) }()
		g := <-out
		require.Zero(w, g.at.Sub(began))
		require.ErrorIs(w, g.err, election.ErrWithdrawn)
		require.NotErrorIs(w, g.err, context.Canceled)
		require.NoError(w, <-gone)
		w.Server.Heal()
		w.resign(l)
		w.Pass(5 * time.Second)
		require.Zero(w, w.Server.Stats().Watches, "not of the read that was overtaken")
	})
}

// Await and Withdraw in the very instant in which the turn comes: whichever call wins,
// no znode stays, and a leadership that was handed out has ended.
func TestWithdrawalRacesTheTurn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := elector(w.Client(), "a"), elector(w.Client(), "b")
		won := 0
		for i := range 100 {
			l, k := w.campaign(a), w.stand(b)
			out := w.begin(w.Ctx, k.Await)
			w.Server.Delay(zktest.Link{}, zktest.Both, time.Millisecond)
			gone := make(chan error, 1)
			// Waited for below; ends when the candidate has left.
			go func() {
				world.Pause(time.Duration(i%4) * time.Millisecond)
				gone <- k.Withdraw(w.Ctx)
			}()
			w.resign(l)
			require.NoError(w, <-gone)
			if g := <-out; g.err == nil {
				won++
				require.ErrorIs(w, context.Cause(g.lead.Context()), session.ErrReleased)
			} else {
				require.ErrorIs(w, g.err, election.ErrWithdrawn)
			}
			w.Server.Heal()
			w.Settle()
			require.Empty(w, w.Children(dir))
		}
		require.Positive(w, won)
		require.Less(w, won, 100)
	})
}

// Withdraw is right to defer: it gives the leadership back if it was won, and
// does nothing more if it was given back.
func TestWithdrawGivesALeadershipBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for _, resigned := range []bool{false, true} {
			k := w.stand(elector(w.Client(), "me"))
			l, err := k.Await(w.Ctx)
			require.NoError(w, err)
			if resigned {
				w.resign(l)
			}
			require.NoError(w, k.Withdraw(w.Ctx))
			require.ErrorIs(w, context.Cause(l.Context()), session.ErrReleased)
			require.ErrorIs(w, l.Resign(w.Ctx), election.ErrNotLeader)
			_, err = k.Await(w.Ctx)
			require.ErrorIs(w, err, election.ErrWithdrawn)
			require.Empty(w, w.Children(dir))
		}
	})
}

// The context of Resign had ended: the deletion goes on, and Withdraw waits for it.
func TestWithdrawWaitsForALeadershipThatIsBeingGivenBack(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		k := w.stand(elector(w.Client(), "me"))
		l, err := k.Await(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, w.Server.Stop(1))
		ended := w.Within(0)
		<-ended.Done()
		require.ErrorIs(w, l.Resign(ended), context.DeadlineExceeded)
		gone := make(chan error, 1)
		// Waited for below; ends when the znode is gone.
		go func() { gone <- k.Withdraw(w.Ctx) }()
		w.Settle()
		require.Empty(w, gone, "it is still there")
		require.NoError(w, w.Server.Restart(1))
		require.NoError(w, <-gone)
		require.Empty(w, w.Children(dir))
	})
}

// withdrawing is a context that is never over, and withdraws k when it is asked for
// its end: after Await has looked whether k is withdrawn.
type withdrawing struct {
	context.Context
	k    *election.Candidacy
	once *sync.Once
}

func (c withdrawing) Done() <-chan struct{} {
	c.once.Do(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.k.Withdraw(ended) // goes on in the background
	})
	return c.Context.Done()
}

// Await and Withdraw overlap, with nothing to wait for: the listing of the moment
// when the place was taken must not grant a place that is being given up.
func TestAwaitThatIsOvertakenByAWithdrawalDoesNotLead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		elsewhere := w.campaign(election.New(c, "/election/b", nil)) // its session is trusted all the time
		for range 50 {
			k := w.stand(elector(c, "me"))
			l, err := k.Await(withdrawing{w.Ctx, k, new(sync.Once)})
			require.ErrorIs(w, err, election.ErrWithdrawn)
			require.Nil(w, l)
		}
		w.Settle()
		require.Empty(w, w.Children(dir))
		w.resign(elsewhere)
	})
}

// The caller of Withdraw has no time: the deletion goes on.
func TestWithdrawWithAnEndedContextGoesOn_P6(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for _, win := range []bool{false, true} {
			k := w.stand(elector(w.Client(), "me"))
			if win {
				_, err := k.Await(w.Ctx)
				require.NoError(w, err)
			}
			ctx, cancel := context.WithCancel(w.Ctx)
			cancel()
			began := time.Now()
			if err := k.Withdraw(ctx); err != nil {
				require.ErrorIs(w, err, context.Canceled)
			}
			require.Zero(w, time.Since(began))
			w.Settle()
			require.Empty(w, w.Children(dir))
			require.ErrorIs(w, k.Withdraw(w.Ctx), election.ErrWithdrawn)
		}
	})
}

// P3, P11: a place goes with its session; an Await in the old session reports a loss,
// also if the turn comes in the same instant.
func TestPlaceIsLostWithItsSession_P3(t *testing.T) {
	for _, resign := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			l := w.campaign(elector(w.Client(), "leader"))
			c := w.Client()
			k := w.stand(elector(c, "second"))
			out := w.begin(w.Ctx, k.Await)
			w.Expire(c)
			if resign {
				w.resign(l)
			}
			g := <-out
			require.ErrorIs(w, g.err, session.ErrLost)
			require.Empty(w, k.Watching())
			_, err := k.Await(w.Ctx)
			require.ErrorIs(w, err, session.ErrLost)
			require.ErrorIs(w, k.Withdraw(w.Ctx), session.ErrLost)
			require.ErrorIs(w, k.Withdraw(w.Ctx), session.ErrLost, "a second time, too")
			again := w.stand(elector(c, "second"))
			require.NotEqual(w, k.Path(), again.Path())
			require.NoError(w, again.Withdraw(w.Ctx))
		})
	}
}

// CH2, CH26: another client deletes the znode of a waiting candidate.
func TestPlaceWhoseNodeIsDeletedIsLost_CH2_CH26(t *testing.T) {
	for _, after := range []time.Duration{0, 5 * time.Second} {
		inWorld(t, nil, func(w *World) {
			q := w.line(2)
			w.Pass(after)
			require.NoError(w, w.Server.Delete(q.stands[1].Path()))
			g := <-q.outs[1]
			require.ErrorIs(w, g.err, session.ErrLost)
			require.ErrorIs(w, g.err, session.ErrNodeDeleted)
			_, err := q.stands[1].Await(w.Ctx)
			require.ErrorIs(w, err, session.ErrNodeDeleted)
			require.Empty(w, q.stands[1].Watching())
			require.NoError(w, q.stands[1].Withdraw(w.Ctx), "it is gone, as asked")
			w.resign(w.leads(q.outs[0]))
			w.Settle()
			require.Zero(w, w.Server.Stats().Watches)
		})
	}
}

// A place that is not awaited is lost unnoticed, and another candidate leads:
// the list read when the place was taken does not make its candidate a leader
// any more.
func TestPlaceThatWasLostBeforeTheFirstAwaitDoesNotLead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		// It leads elsewhere, so its session is trusted all the time.
		elsewhere := w.campaign(election.New(c, "/election/b", nil))
		k := w.stand(elector(c, "me"))
		require.NoError(w, w.Server.Delete(k.Path()))
		l := w.campaign(elector(w.Client(), "next"))
		w.Pass(time.Minute)
		_, err := k.Await(w.Ctx)
		require.ErrorIs(w, err, session.ErrNodeDeleted)
		w.resign(l)
		w.resign(elsewhere)
	})
}

// A candidate that has given up its Await still watches its place; after a
// reconnect it reads the queue again.
func TestResumedAwaitSeesChangesMadeBetweenTheAwaits(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		k := w.stand(elector(w.Client(), "second"))
		_, err := k.Await(w.Within(time.Second))
		require.Error(w, err)
		w.Server.CutLink(zktest.Link{Client: "c2"})
		w.resign(l)
		w.Pass(time.Minute)
		second, err := k.Await(w.Within(time.Second))
		require.NoError(w, err)
		w.resign(second)
	})
}
