package rebalanser_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"github.com/zkrecipes/zkrecipes/session"
)

// seen collects the events of this package: the recipes of which it is made report their
// own.
type seen struct {
	mu         sync.Mutex
	holds      map[uint64]observe.Hold // that have not ended
	ended      []observe.HoldEnded
	rebalanced []observe.Rebalanced
	taken      []observe.AssignmentTaken
	overs      int                   // ends of coordination
	also       func(e observe.Event) // may be nil
}

func (s *seen) Observe(_ context.Context, e observe.Event) {
	s.mu.Lock()
	also := s.also
	switch e := e.(type) {
	case observe.HoldBegun:
		if e.Kind != observe.Resource {
			also = nil
			break
		}
		s.holds[e.ID] = e.Hold
	case observe.HoldEnded:
		if e.Kind != observe.Resource {
			also = nil
			break
		}
		delete(s.holds, e.ID)
		s.ended = append(s.ended, e)
	case observe.Rebalanced:
		s.rebalanced = append(s.rebalanced, e)
	case observe.AssignmentTaken:
		s.taken = append(s.taken, e)
	case observe.CoordinationEnded:
		s.overs++
	default:
		also = nil
	}
	s.mu.Unlock()
	if also != nil {
		also(e)
	}
}

// names are the resources that are held, by name.
func (s *seen) held() map[string]observe.Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := map[string]observe.Hold{}
	for _, h := range s.holds {
		out[h.Znode[strings.LastIndexByte(h.Znode, '/')+1:]] = h
	}
	return out
}

// takeEnds returns the ends since the last call.
func (s *seen) takeEnds() []observe.HoldEnded {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.ended
	s.ended = nil
	return out
}

// rebalancings returns the rebalancings since the last call.
func (s *seen) rebalancings() []observe.Rebalanced {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.rebalanced
	s.rebalanced = nil
	return out
}

// observed is a member whose events are collected.
func (w *World) observed(id string, o rebalanser.Options, also func(observe.Event)) (*node, *seen) {
	s := &seen{holds: map[uint64]observe.Hold{}, also: also}
	return w.nodeOf(w.ClientWith(session.Options{Observer: s}), id, o), s
}

func TestEventsOfResourcesSayWhatHappened(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(4)
		c1, s := w.observed("c1", rebalanser.Options{}, nil)
		c1.run()
		w.Pass(time.Second)
		held := s.held()
		require.Len(w, held, 4)
		for _, name := range names(4) {
			r := c1.resource(name)
			dir := map[rebalanser.Mode]string{rebalanser.ResourceBarrier: "/barriers/", rebalanser.GlobalBarrier: "/resources/"}[w.mode]
			require.Equal(w, observe.Hold{
				ID: held[name].ID, Kind: observe.Resource, Path: path, Znode: path + dir + name, Token: r.Token(),
				Session: w.ID(c1.client), Begun: held[name].Begun,
			}, held[name])
			require.NotZero(w, held[name].ID)
		}
		all := s.rebalancings()
		require.NotEmpty(w, all)
		first := all[len(all)-1]
		require.Equal(w, observe.Rebalanced{
			Path: path, Generation: first.Generation, Members: 1, Resources: 4, Moves: 4, Took: first.Took,
		}, first)

		// Another member comes, and gets the half.
		c2, other := w.observed("c2", rebalanser.Options{}, nil)
		c2.run()
		w.Pass(time.Second)
		require.Len(w, s.held(), 2)
		require.Len(w, other.held(), 2)
		for _, e := range s.takeEnds() {
			require.Equal(w, observe.Released, e.End)
			require.NoError(w, e.Err)
			require.Positive(w, e.Took)
		}
		next := s.rebalancings()
		require.Len(w, next, 1)
		require.Equal(w, observe.Rebalanced{
			Path: path, Generation: first.Generation + 1, Members: 2, Resources: 4, Moves: 2, Took: next[0].Took,
		}, next[0])
		require.Empty(w, other.rebalancings(), "it does not coordinate")

		// One resource is given back by its owner; the group's end of it is not reported.
		one := c2.resource(w.of("c2")[0])
		require.NoError(w, one.Release(w.Ctx))
		require.Len(w, other.takeEnds(), 1)
		c2.stop()
		w.Pass(time.Second)
		require.Len(w, other.takeEnds(), 1)
		require.Empty(w, other.held())
		require.Len(w, s.held(), 4)

		// The session is lost.
		require.NoError(w, w.Server.ExpireSession(w.ID(c1.client)))
		w.Pass(time.Minute)
		lost := s.takeEnds()
		require.Len(w, lost, 4)
		for _, e := range lost {
			require.Equal(w, observe.Lost, e.End)
			require.ErrorIs(w, e.Err, session.ErrLost)
		}
		require.Len(w, s.held(), 4, "it has joined again")
		c1.stop()
		require.Empty(w, s.held())
	})
}

func TestLossOfTheClientsZnodeIsReported(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		c1, s := w.observed("c1", rebalanser.Options{}, nil)
		c1.run()
		w.Pass(time.Second)
		require.NoError(w, w.Server.Delete(path+"/clients/"+c1.group.State().Client))
		w.Pass(time.Second)
		lost := s.takeEnds()
		require.Len(w, lost, 2)
		for _, e := range lost {
			require.Equal(w, observe.Lost, e.End)
			require.ErrorIs(w, e.Err, session.ErrNodeDeleted)
		}
		c1.stop()
		require.Len(w, s.takeEnds(), 2)
	})
}

// The handler fails, or takes too long to give a resource up.
func TestEndOfResourcesOfAFailingHandlerIsReportedOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(2)
		c1, s := w.observed("c1", rebalanser.Options{RevokeTimeout: 3 * time.Second}, nil)
		broken := errors.New("broken")
		slow := make(chan struct{})
		c1.before = func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			switch what {
			case "-r00":
				<-slow
			case "+r02":
				return broken
			}
			return nil
		}
		c1.run()
		w.Pass(time.Second)
		require.Len(w, s.held(), 2)
		_, err := a.RemoveResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(5 * time.Second)
		ends := s.takeEnds()
		require.Len(w, ends, 1)
		require.Equal(w, observe.Released, ends[0].End)
		require.ErrorIs(w, ends[0].Err, rebalanser.ErrRevokeTimeout)
		close(slow)
		w.Pass(time.Second)
		_, err = a.AddResources(w.Ctx, "r02")
		require.NoError(w, err)
		require.ErrorIs(w, c1.awaitEnd(), broken)
		require.Len(w, s.takeEnds(), 2, "the failing one, and the other")
		require.Empty(w, s.held())
	})
}

// With MaxMoves, a rebalancing is over when its moves are.
func TestRebalancingIsReportedWhenItsMovesAreOver(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(4)
		c1, s := w.observed("c1", rebalanser.Options{MaxMoves: 1}, nil)
		slow := func(_ context.Context, what string, _ []*rebalanser.Resource) error {
			if strings.HasPrefix(what, "-") {
				time.Sleep(2 * time.Second)
			}
			return nil
		}
		c1.before = slow
		c1.run()
		w.Pass(time.Second)
		require.Len(w, s.rebalancings(), 1)
		c2 := w.node("c2", rebalanser.Options{MaxMoves: 1})
		c2.before = slow
		c2.run()
		w.Pass(time.Second)
		require.Empty(w, s.rebalancings())
		w.Pass(9 * time.Second)
		all := s.rebalancings()
		require.Len(w, all, 2)
		for _, e := range all {
			require.Equal(w, 1, e.Moves)
			require.Equal(w, 2, e.Members)
			require.GreaterOrEqual(w, e.Took, 2*time.Second)
			require.NoError(w, e.Err)
		}
		w.node("c3", rebalanser.Options{MaxMoves: 1}).run()
		w.Pass(time.Second)
		w.Away(c1.resource(w.of("c1")[0]).Context())
		w.Pass(time.Minute)
		failed := s.rebalancings()
		require.NotEmpty(w, failed)
		require.ErrorIs(w, failed[0].Err, session.ErrLost)
	})
}

// An assignor whose result is not an assignment.
func TestFailedPlanIsReported(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		var wrong atomic.Bool
		wrong.Store(true)
		o := rebalanser.Options{Assignor: twice{assignor.Sticky(), &wrong}, InitialDelay: time.Second}
		c1, s := w.observed("c1", o, nil)
		c1.run()
		w.Settle()
		w.node("c2", o).run()
		w.Pass(5 * time.Second)
		all := s.rebalancings()
		require.NotEmpty(w, all)
		require.ErrorIs(w, all[0].Err, assignor.ErrInvalid)
		require.Equal(w, observe.Rebalanced{Path: path, Members: 2, Resources: 2, Took: all[0].Took, Err: all[0].Err}, all[0])
		require.Greater(w, all[0].Took, 900*time.Millisecond, "since the coordinator began")
	})
}

// An observer may call the group that reports to it.
func TestObserverMayCallTheGroup(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(3)
		var c1 *node
		var mu sync.Mutex
		calls := map[string]int{}
		c1, s := w.observed("c1", rebalanser.Options{}, func(e observe.Event) {
			within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			_ = c1.group.State()
			if _, err := rebalanser.Open(c1.client, path, &rebalanser.Options{Mode: w.mode}).Status(within); err != nil && !errors.Is(err, session.ErrClosed) {
				w.Errorf("%s: %v", e.Name(), err)
			}
			mu.Lock()
			defer mu.Unlock()
			calls[e.Name()]++
		})
		c1.run()
		w.Pass(time.Second)
		_, err := a.RemoveResources(w.Ctx, "r00")
		require.NoError(w, err)
		w.Pass(time.Second)
		c1.stop()
		require.Empty(w, s.held())
		mu.Lock()
		defer mu.Unlock()
		require.Equal(w, 3, calls["hold begun"])
		require.Equal(w, 3, calls["hold ended"])
		require.GreaterOrEqual(w, calls["rebalanced"], 2)
	})
}

// A member that joins, owns the only resource and leaves, under every fault. The recipes
// of which the package is made report their own.
func TestEventsOfAMemberUnderEveryFault(t *testing.T) {
	for _, mode := range modes() {
		t.Run(mode.String(), func(t *testing.T) {
			tr := trial(mode, "join, own, leave", func(context.Context, *play) error { return nil }, func(ctx context.Context, p *play) error {
				m := p.join(ctx, "tested", p.party.Tested, rebalanser.Options{})
				err := p.until(ctx, "it owns what there is", p.owns("tested", 4))
				world.SleepContext(ctx, time.Second) // the assignment is taken once the handler has returned
				return errors.Join(err, m.end())
			})
			tr.Shows = func(e observe.Event) bool {
				switch e := e.(type) {
				case observe.AssignmentTaken:
					return true
				case observe.HoldBegun:
					return e.Kind == observe.Resource
				case observe.HoldEnded:
					return e.Kind == observe.Resource
				}
				return false // the coordinator's, which comes at any time in between
			}
			tr.RunObserved(t, *update, "member-"+mode.String())
			tr.Shows = func(e observe.Event) bool { _, ok := e.(observe.Rebalanced); return ok }
			tr.RunObserved(t, *update, "coordinator-"+mode.String())
		})
	}
}
