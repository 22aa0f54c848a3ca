package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

// ofWorkers selects the events of this package: the recipes of which it is made report
// their own.
func ofWorkers(e observe.Event) bool {
	mine := func(w observe.Wait) bool {
		return w.Kind == observe.Worker || w.Kind == observe.Barrier || w.Kind == observe.Round
	}
	switch e := e.(type) {
	case observe.WaitBegun:
		return mine(e.Wait)
	case observe.WaitEnded:
		return mine(e.Wait)
	case observe.RoundPassed:
		return true
	case observe.HoldBegun:
		return e.Kind == observe.Worker
	case observe.HoldEnded:
		return e.Kind == observe.Worker
	case observe.MemberChanged:
		return true
	}
	return false
}

// observed is a client, and the events of its workers; see next.
func (w *World) observed() (*session.Client, chan observe.Event) {
	return w.ClientObserved(ofWorkers)
}

// next is the next event, which must have been reported already.
func (w *World) next(events chan observe.Event) observe.Event {
	w.Helper()
	w.Settle()
	if len(events) == 0 {
		w.Fatal("no event")
	}
	return <-events
}

func TestEventsOfAWorkerUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*workerctl.Worker, context.Context) error{
		"leave":   (*workerctl.Worker).Leave,
		"release": (*workerctl.Worker).Release,
	} {
		t.Run(name, func(t *testing.T) {
			world.Trial{
				Name: "Join, " + name, Setup: submitFirst(1, false), Shows: ofWorkers,
				Excuses: []error{workerctl.ErrNotRemoved},
				Op: func(ctx context.Context, p *world.Party) error {
					k, err := attachAndJoin(ctx, p)
					if err != nil {
						return err
					}
					err = end(k, ctx)
					if k.Context().Err() == nil {
						// The context ended with the reply to the join, so the worker runs: a call
						// whose context has ended changes nothing.
						err = errors.Join(err, end(k, context.WithoutCancel(ctx)))
					}
					return err
				},
			}.RunObserved(t, *update, name)
		})
	}
}

// A worker's life, with all that the events say.
func TestEventsOfAWorkerSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		j := w.submit(c, 1)
		k := w.join(j, named("x"))
		begun := w.next(events).(observe.WaitBegun)
		require.NotZero(w, begun.ID)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Worker, Path: path, Begun: begun.Begun}, begun.Wait)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait}, w.next(events))
		held := w.next(events).(observe.HoldBegun)
		require.Equal(w, observe.Hold{
			ID: held.ID, Kind: observe.Worker, Path: path, Wait: begun.ID, Znode: k.Path(), Token: k.Token(),
			Session: w.ID(c), Begun: held.Begun,
		}, held.Hold)

		require.NoError(w, j.WaitAll(w.Ctx))
		begun = w.next(events).(observe.WaitBegun)
		require.Equal(w, observe.Wait{ID: begun.ID, Kind: observe.Barrier, Path: path, Begun: begun.Begun}, begun.Wait)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait}, w.next(events))

		for round := int64(1); round <= 2; round++ {
			_, err := k.Barrier(w.Ctx, "step")
			require.NoError(w, err)
			begun = w.next(events).(observe.WaitBegun)
			require.Equal(w, observe.Round, begun.Kind)
			require.Equal(w, path+"/barriers/step", begun.Path, "in whichever job of the name")
			require.Equal(w, observe.RoundPassed{Path: begun.Path, Wait: begun.ID, Round: round, Parties: 1}, w.next(events))
			require.Equal(w, observe.WaitEnded{Wait: begun.Wait}, w.next(events))
		}
		require.NoError(w, k.Phase(w.Ctx, "step"))
		begun = w.next(events).(observe.WaitBegun)
		require.Equal(w, observe.Barrier, begun.Kind)
		require.Equal(w, path+"/barriers/~step", begun.Path)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait}, w.next(events))

		w.leave(k)
		end := w.next(events).(observe.HoldEnded)
		require.Equal(w, observe.HoldEnded{Hold: held.Hold, Took: end.Took, End: observe.Released}, end)
		require.Positive(w, end.Took)
		_ = k.Leave(w.Ctx)
		require.ErrorIs(w, k.Context().Err(), context.Canceled)
		w.Settle()
		require.Empty(w, events, "one end is reported once")
	})
}

// A caller that gives up, and invalid arguments.
func TestEventsOfWaitsThatFail(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		k := w.join(w.submit(c, 2), named("x"))
		for range 3 {
			w.next(events)
		}
		ended := func(kind observe.Kind, err error) {
			w.Helper()
			begun := w.next(events).(observe.WaitBegun)
			require.Equal(w, kind, begun.Kind)
			require.Equal(w, observe.WaitEnded{Wait: begun.Wait, Took: 1 * time.Second, Err: err}, w.next(events))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			var missing *workerctl.MissingError
			require.ErrorAs(w, err, &missing)
		}
		ended(observe.Barrier, k.Job().WaitAll(w.Within(time.Second)))
		_, err := k.Barrier(w.Within(time.Second), "step")
		ended(observe.Round, err)
		ended(observe.Barrier, k.Phase(w.Within(time.Second), "step"))

		_, err = k.Barrier(w.Ctx, "")
		require.ErrorIs(w, err, workerctl.ErrInvalidArgument)
		_, err = k.Job().Join(w.Ctx, workerctl.Identity{})
		require.ErrorIs(w, err, workerctl.ErrInvalidArgument)
		require.Empty(w, events, "no wait has begun")

		w.join(k.Job(), named("y"))
		for range 3 {
			w.next(events)
		}
		_, err = k.Job().Join(w.Ctx, named("z"))
		require.ErrorIs(w, err, workerctl.ErrFull)
		begun := w.next(events).(observe.WaitBegun)
		require.Equal(w, observe.WaitEnded{Wait: begun.Wait, Err: err}, w.next(events))
	})
}

// Every way in which a worker is lost is reported once, as a loss.
func TestLossOfAWorkerIsReportedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		lose func(w *World, k *workerctl.Worker)
		why  error
	}{
		"session":   {func(w *World, k *workerctl.Worker) { w.Away(k.Context()) }, session.ErrTrustRanOut},
		"successor": {func(w *World, k *workerctl.Worker) { w.join(w.attach(w.Client()), named("x")) }, session.ErrNodeDeleted},
		"kill":      {func(w *World, k *workerctl.Worker) { require.NoError(w, w.attach(w.Client()).Kill(w.Ctx)) }, session.ErrNodeDeleted},
		"by hand": {func(w *World, k *workerctl.Worker) {
			s := w.Session(w.Client())
			require.NoError(w, s.Delete(w.Ctx, k.Path(), -1))
		}, session.ErrNodeDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c, events := w.observed()
				k := w.join(w.submit(c, 2), named("x"))
				w.next(events)
				w.next(events)
				held := w.next(events).(observe.HoldBegun)
				tc.lose(w, k)
				<-k.Context().Done()
				lost := w.next(events).(observe.HoldEnded)
				require.Equal(w, held.Hold, lost.Hold)
				require.Equal(w, observe.Lost, lost.End)
				require.ErrorIs(w, lost.Err, tc.why)
				require.ErrorIs(w, k.Leave(w.Within(time.Minute)), session.ErrLost)
				w.Settle()
				require.Empty(w, events)
			})
		})
	}
}

// The deletion is found by the request that leaves.
func TestLossOfAWorkerIsFoundByLeave(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, events := w.observed()
		k := w.join(w.submit(c, 2), named("x"))
		w.next(events)
		w.next(events)
		held := w.next(events).(observe.HoldBegun)
		w.Once(isDelete, func() {
			if err := w.Server.Delete(k.Path()); err != nil {
				w.Error(err)
			}
		})
		require.ErrorIs(w, k.Release(w.Ctx), session.ErrNodeDeleted)
		lost := w.next(events).(observe.HoldEnded)
		require.Equal(w, held.Hold, lost.Hold)
		require.Equal(w, observe.Lost, lost.End)
		require.ErrorIs(w, lost.Err, session.ErrNodeDeleted)
	})
}

// The changes that a roster reports, without a request.
func TestRosterReportsChanges(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.submit(w.Client(), 5)
		crew := w.crew(3)
		w.leave(crew[0])
		require.NoError(w, w.Server.ExpireSession(crew[1].Session().ID()))
		w.Settle()

		c, events := w.observed()
		j := w.attach(c)
		r := j.Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ran <- r.Run(ctx) }()
		require.NoError(w, r.WaitSynced(w.Within(time.Minute)))
		told := func() (out []string) {
			w.Pass(4 * time.Second) // a third of the session timeout
			for len(events) > 0 {
				e := w.next(events).(observe.MemberChanged)
				require.Equal(w, path, e.Path)
				out = append(out, fmt.Sprintf("%d %s", e.Worker, e.Change))
			}
			return out
		}
		require.Empty(w, told(), "the first view")
		w.ResetStats()
		back := w.join(w.attach(w.Client()), nth(1))
		require.Equal(w, []string{"1 restarted"}, told())
		fresh := w.join(w.attach(w.Client()), nth(3))
		require.Equal(w, []string{"3 joined"}, told())
		require.NoError(w, fresh.Update(w.Ctx, map[string]string{"a": "b"}))
		require.Empty(w, told())
		w.leave(fresh)
		require.Equal(w, []string{"3 left"}, told())
		require.NoError(w, crew[2].Fail(w.Ctx, "broken"))
		require.Equal(w, []string{"2 failed"}, told())
		require.NoError(w, w.Server.ExpireSession(back.Session().ID()))
		require.Equal(w, []string{"1 died"}, told())
		require.Empty(w, told())
		w.join(w.attach(w.Client()), nth(4))
		require.Equal(w, []string{"4 joined"}, told())
		stats := w.Server.Stats().BySession[w.ID(c)]
		delete(stats, "ping")
		delete(stats, "getData")
		delete(stats, "multiRead")
		if world.Has(world.Subscriptions) {
			require.Empty(w, stats, "nothing but the reads of the views")
		}
		require.NoError(w, j.Kill(w.Ctx))
		removed := told()
		require.Contains(w, removed, "4 removed")
		cancel()
		require.NoError(w, <-ran)
		require.Empty(w, events)
	})
}

// An observer may call the worker and the roster that report to it, and may be slow.
func TestObserverMayUseTheWorker(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var mu sync.Mutex
		var workers []*workerctl.Worker
		var inside, over atomic.Bool
		var calls []string
		var r *workerctl.Roster
		c := w.ClientWith(session.Options{Observer: observe.Func(func(ctx context.Context, e observe.Event) {
			if over.Load() || !ofWorkers(e) {
				return
			}
			if _, change := e.(observe.MemberChanged); !change {
				if !inside.CompareAndSwap(false, true) {
					return
				}
				defer inside.Store(false)
			}
			within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			mu.Lock()
			known := slices.Clone(workers)
			mu.Unlock()
			for _, k := range known {
				_ = k.Update(within, map[string]string{"event": e.Name()})
				if _, ended := e.(observe.HoldEnded); ended {
					_ = k.Leave(within)
				}
				r.Joined()
			}
			if within.Err() != nil {
				w.Errorf("%s: the worker is blocked", e.Name())
			}
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, e.Name())
		})})
		j := w.submit(c, 2)
		r = j.Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ran <- r.Run(ctx) }()
		require.NoError(w, r.WaitSynced(w.Ctx))
		w.Settle()
		for i := range 2 {
			k := w.join(j, nth(i))
			mu.Lock()
			workers = append(workers, k)
			mu.Unlock()
			w.Settle()
		}
		first, second := workers[0], workers[1]
		require.NoError(w, j.WaitAll(w.Ctx))
		w.leave(first)
		require.ErrorIs(w, second.Context().Err(), context.Canceled, "the observer has let it leave")
		w.Settle()
		over.Store(true)
		w.Settle() // a call in progress ends
		cancel()
		require.NoError(w, <-ran)
		for _, name := range []string{"wait begun", "wait ended", "hold begun", "hold ended", "member changed"} {
			require.Contains(w, calls, name)
		}
	})
}
