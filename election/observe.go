package election

import (
	"bytes"
	"context"
	"errors"
	"iter"

	"github.com/zkrecipes/zkrecipes/internal/follow"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// State is who leads at one moment.
type State struct {
	// Leader is nil when nobody leads.
	Leader *Candidate
}

// Observe iterates over who leads: first the present state, then each newer one
// that differs, "nobody" included. States that pass while the loop's body runs
// are skipped, and it never goes back, whatever server or session it reads from.
// A leader that was cut off stays one until the servers let somebody else lead.
//
// It needs no candidacy, runs in the caller's goroutine, goes on over lost
// sessions, and ends with ctx or the client, or with an error that a later try
// would not mend: that is the last element. A change costs two reads; candidates
// that come and go behind the leader cost nothing.
func (e *Elector) Observe(ctx context.Context) iter.Seq2[State, error] {
	const op = "observe"
	return func(yield func(State, error) bool) {
		if err := e.begin(ctx); err != nil {
			yield(State{}, failure(ctx, op, e.path, err))
			return
		}
		for state, err := range follow.States(ctx, e.client, e.path, e.present, State.same) {
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
	return a.Leader.Token == b.Leader.Token && bytes.Equal(a.Leader.Data, b.Leader.Data)
}

// present reads who leads, with a watch for what can change that: on the
// leader's znode, since nobody gets ahead of it; on the path, if nobody leads.
func (e *Elector) present(ctx context.Context, s *session.Session) (State, *session.Watch, error) {
	for {
		leader, watch, err := e.first(ctx, s)
		if err != nil || leader == nil {
			return State{}, watch, err
		}
		// A read of data leaves no watch behind on a node that has gone.
		data, stat, watch, err := s.GetW(ctx, znode.Join(e.path, leader.Name))
		switch {
		case err == nil:
			leader.fill(data, stat)
			return State{Leader: leader}, watch, nil
		case !errors.Is(err, session.ErrNoNode):
			return State{}, nil, err
		}
		// It left between the two reads: who is first now?
	}
}

// first finds the first candidate; if there is none, it returns a watch for one
// that comes.
func (e *Elector) first(ctx context.Context, s *session.Session) (*Candidate, *session.Watch, error) {
	for {
		children, _, err := s.Children(ctx, e.path)
		var watch *session.Watch
		if err == nil && len(queueOf(children)) == 0 {
			// Now with a watch, which nobody who has a leader need have.
			children, _, watch, err = s.ChildrenW(ctx, e.path)
		}
		if errors.Is(err, session.ErrNoNode) {
			var exists bool
			_, exists, watch, err = s.ExistsW(ctx, e.path)
			if err == nil && exists {
				watch.Stop()
				continue // it was made just now
			}
			return nil, watch, err
		}
		if err != nil {
			return nil, nil, err
		}
		if queue := queueOf(children); len(queue) > 0 {
			if watch != nil {
				watch.Stop()
			}
			return &queue[0], nil, nil
		}
		return nil, watch, nil
	}
}
