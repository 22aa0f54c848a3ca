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
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestEventsUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, op := range map[string]func(context.Context, *election.Elector) error{
		"campaign": func(ctx context.Context, e *election.Elector) error {
			l, err := e.Campaign(ctx)
			if err != nil {
				return err
			}
			return l.Resign(ctx)
		},
		"run": func(ctx context.Context, e *election.Elector) error {
			return e.Run(ctx, func(context.Context, *election.Leadership) error { return nil })
		},
		"stand": func(ctx context.Context, e *election.Elector) error {
			k, err := e.Stand(ctx)
			if err != nil {
				return err
			}
			if _, err = k.Await(ctx); err == nil {
				_, err = k.Await(ctx) // known
			}
			return errors.Join(err, k.Withdraw(context.WithoutCancel(ctx)))
		},
	} {
		t.Run(file, func(t *testing.T) {
			world.Trial{
				Name: file, Paths: []string{dir}, Next: nextLeads, Excuses: []error{session.ErrLost},
				Op: func(ctx context.Context, p *world.Party) error { return op(ctx, elector(p.Tested, "tested")) },
			}.RunObserved(t, *update, file)
		})
	}
}

// observed is an elector whose events arrive at the returned channel.
func (w *World) observed() (*session.Client, *election.Elector, chan observe.Event) {
	c, events := w.ClientObserved(world.IsWaitOrHold)
	return c, election.New(c, dir, nil), events
}

func TestEventsOfACandidacySayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, e, events := w.observed()
		first, err := election.New(w.Client(), dir, nil).Campaign(w.Ctx)
		require.NoError(w, err)
		k, err := e.Stand(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, events, "a candidate that stands does not wait")

		_, err = k.Await(w.Within(time.Second))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		begun := (<-events).(observe.WaitBegun)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Leadership, Path: dir, Begun: begun.Begun}, begun.Wait)
		require.Equal(w, observe.WaitQueued{Wait: begun.Wait, Znode: k.Path(), Ahead: 1}, <-events)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait, Took: time.Second, Err: err}, <-events)

		require.NoError(w, first.Resign(w.Ctx))
		l, err := k.Await(w.Ctx)
		require.NoError(w, err)
		second := (<-events).(observe.WaitBegun)
		require.NotEqual(w, begun.ID, second.ID)
		require.Equal(w, observe.WaitQueued{Wait: second.Wait, Znode: k.Path()}, <-events)
		require.Equal(w, observe.WaitEnded{Wait: second.Wait}, <-events)
		held := (<-events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: held.ID, Kind: observe.Leadership, Path: dir, Wait: second.ID, Znode: k.Path(), Token: l.Token(),
			Session: w.ID(c), Begun: time.Now(),
		}, held.Hold)
		again, err := k.Await(w.Ctx)
		require.NoError(w, err)
		require.Same(w, l, again)
		require.Empty(w, events, "the leadership is known")

		world.Pause(time.Second)
		require.NoError(w, k.Withdraw(w.Ctx))
		require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: time.Second, End: observe.Released}, <-events)
		require.ErrorIs(w, l.Resign(w.Ctx), election.ErrNotLeader)
		_, err = k.Await(w.Ctx)
		require.ErrorIs(w, err, election.ErrWithdrawn)
		require.Empty(w, events)
	})
}

func TestEventsOfALostLeadership(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		_, e, events := w.observed()
		l, err := e.Campaign(w.Ctx)
		require.NoError(w, err)
		for range 3 {
			<-events
		}
		held := (<-events).(observe.HoldBegun)
		w.Settle() // its znode is watched
		require.NoError(w, w.Server.Delete(l.Path()))
		<-l.Context().Done()
		w.Settle()
		lost := (<-events).(observe.HoldEnded)
		require.Equal(w, held.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrNodeDeleted)
		require.Zero(w, lost.TrustLeft, "another candidate can lead at once")
		require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
		require.Empty(w, events, "the loss is reported once")
	})
}

// Calls of Await that share a candidacy share its leadership.
func TestEventsOfTwoAwaitsOfOneCandidacy(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		_, e, events := w.observed()
		first, err := election.New(w.Client(), dir, nil).Campaign(w.Ctx)
		require.NoError(w, err)
		k, err := e.Stand(w.Ctx)
		require.NoError(w, err)
		w.ShareHolds(dir)
		won := make(chan *election.Leadership, 2)
		for range 2 {
			// Waited for below; ends with the leadership.
			go func() {
				l, err := k.Await(w.Ctx)
				if err != nil {
					w.Error(err)
				}
				won <- l
			}()
		}
		w.Settle()
		require.NoError(w, first.Resign(w.Ctx))
		require.Same(w, <-won, <-won)
		require.NoError(w, k.Withdraw(w.Ctx))
		counts := map[string]int{}
		for len(events) > 0 {
			counts[(<-events).Name()]++
		}
		delete(counts, "wait queued")
		require.Equal(w, map[string]int{"wait begun": 2, "wait ended": 2, "hold begun": 1, "hold ended": 1}, counts)
	})
}

// An observer may use the election that reports to it, and withdraw the candidacy.
func TestObserverMayUseTheElection(t *testing.T) {
	for _, when := range []string{"wait begun", "wait ended", "hold begun", "hold ended"} {
		t.Run(when, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				var candidacy atomic.Pointer[election.Candidacy]
				var elector atomic.Pointer[election.Elector]
				var calls atomic.Int32
				c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, event observe.Event) {
					k := candidacy.Load()
					if k == nil || event.Name() != when {
						return
					}
					calls.Add(1)
					within, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
					defer cancel()
					if _, err := elector.Load().Candidates(within); err != nil {
						w.Error(err)
					}
					if when == "wait ended" || when == "hold begun" {
						l, err := k.Await(within)
						if err == nil {
							err = l.Resign(within)
						}
						if err != nil {
							w.Error(err)
						}
					}
					if err := k.Withdraw(within); err != nil || within.Err() != nil {
						w.Errorf("the observer waits for itself: %v", err)
					}
				})})
				elector.Store(election.New(c, dir, nil))
				k, err := elector.Load().Stand(w.Ctx)
				require.NoError(w, err)
				candidacy.Store(k)
				l, err := k.Await(w.Ctx)
				if when == "wait begun" {
					require.ErrorIs(w, err, election.ErrWithdrawn)
				} else {
					require.NoError(w, err)
					if err := l.Resign(w.Ctx); err != nil {
						require.ErrorIs(w, err, election.ErrNotLeader)
					}
				}
				candidacy.Store(nil)
				require.EqualValues(w, 1, calls.Load())
			})
		})
	}
}
