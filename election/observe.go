package election

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// State is the leader at one moment.
type State struct {
	// Leader is nil when there is no leader.
	Leader *Candidate
}

// Observe iterates over the leaders, and the values that they proclaim: first the present
// state, then each newer state that differs, including "no leader". States that pass while the loop's
// body runs are skipped. Observe never goes back, whatever server or session it
// reads from. A leader that was cut off stays the leader until the servers let
// another candidate lead.
//
// Observe needs no candidacy, runs in the caller's goroutine, and continues over
// lost sessions. Observe ends with ctx or the client, or with an error that a
// retry would not repair: that error is the last element, and session.ErrNoAuth if
// the client may not read the leader's znode. Servers report neither that a path
// which the client may not read is created, nor that an access list changes: Observe
// notices both on the next connection. A change costs three reads, and a fourth if the
// leader has proclaimed a value; candidates that come and go behind the leader cost nothing.
func (e *Elector) Observe(ctx context.Context) iter.Seq2[State, error] {
	e = receiver.OrZero(e)
	const op = "observe"
	return func(yield func(State, error) bool) {
		if err := e.checkCall(ctx); err != nil {
			yield(State{}, failure(ctx, op, e.path, err))
			return
		}
		for state, err := range follow.StatesOfSeveral(ctx, follow.Sessions{Client: e.client, WithoutQuorum: true}, e.path, e.presentState, State.same) {
			if err != nil {
				yield(State{}, failure(ctx, op, e.path, err))
				return
			}
			if !yield(state, nil) {
				return
			}
		}
	}
}

func (a State) same(b State) bool {
	if a.Leader == nil || b.Leader == nil {
		return a.Leader == b.Leader
	}
	x, y := a.Leader, b.Leader
	return x.Token == y.Token && bytes.Equal(x.Data, y.Data) && bytes.Equal(x.Value, y.Value) && (x.Value == nil) == (y.Value == nil)
}

// presentState reads the leader and the proclaimed value, with watches for changes: on the
// leader's znode, since no candidate gets ahead of it, and on the value's, whether it exists
// or not; on the path, if there is no leader.
func (e *Elector) presentState(ctx context.Context, s *session.Session) (State, []*session.Watch, error) {
	for {
		leader, watch, err := e.firstCandidate(ctx, s)
		if err != nil || leader == nil {
			if watch == nil {
				return State{}, nil, err
			}
			return State{}, []*session.Watch{watch}, err
		}
		watches, err := e.watchLeader(ctx, s, leader)
		if !errors.Is(err, session.ErrNoNode) {
			return State{Leader: leader}, watches, err
		}
		// It left between the two reads: find the new first candidate.
	}
}

// watchLeader reads the leader's znode and the proclaimed value, both with a watch. With an
// error no watch is left.
func (e *Elector) watchLeader(ctx context.Context, s *session.Session, leader *Candidate) (watches []*session.Watch, err error) {
	path := znode.Join(e.path, leader.Name)
	value := s.StartExists(e.valuePath(leader.Name), true)
	defer func() {
		if err != nil {
			optimistic.StopWatch(value)
			for _, w := range watches {
				w.Stop()
			}
			watches = nil
		}
	}()
	// A read of data leaves no watch behind on a node that has gone.
	data, stat, watch, err := s.GetW(ctx, path)
	if err != nil {
		return nil, err
	}
	watches = append(watches, watch)
	leader.setRecord(path, data, stat)
	seen, err := value.Wait(ctx)
	if err != nil {
		return watches, err
	}
	watches = append(watches, seen.Watch)
	if seen.Exists {
		err = leader.readValue(ctx, s, e)
	}
	return watches, err
}

// firstCandidate finds the first candidate; without candidates, it returns a watch for
// the next one.
func (e *Elector) firstCandidate(ctx context.Context, s *session.Session) (*Candidate, *session.Watch, error) {
	children, _, err := s.Children(ctx, e.path)
	var watch *session.Watch
	if errors.Is(err, session.ErrNoNode) || err == nil && len(parseQueue(children)) == 0 {
		// Now with a watch, which is not needed while there is a leader.
		children, watch, err = watchChildren(ctx, s, e.path)
	}
	if err != nil {
		return nil, nil, err
	}
	if queue := parseQueue(children); len(queue) > 0 {
		if watch != nil {
			watch.Stop()
		}
		return &queue[0], nil, nil
	}
	return nil, watch, nil
}
