package counter

import (
	"context"
	"errors"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
)

// behind makes a read of path with all in view that was committed before the
// call, and all that this session had sent and that was carried out.
//
// Not behind a sync: a leader answers that by itself, also when it has lost its
// followers and others lead by now, and to its own clients at once, with the
// latest writes proposed and not yet committed. A transaction is answered when a
// quorum has got it and all that was proposed before it, also when it fails; and
// what a lost connection has not brought to the leader by then is refused later,
// since the session has moved.
func behind[T any](ctx context.Context, s *session.Session, path string, read func() (T, error)) (T, error) {
	for lost := 0; ; {
		front := s.StartTxn(session.CheckOp(path, anyVersion))
		seen, err := read() // waits for a connection
		if err != nil {
			return seen, err
		}
		var verdict *session.TxnError
		var unknown *session.UnknownOutcomeError
		switch _, err := front.Wait(ctx); {
		case err == nil, errors.As(err, &verdict):
			return seen, nil
		case session.Unanswered(err):
			if err := s.BackOff(ctx, lost); err != nil {
				return seen, err
			}
			lost++
		case errors.As(err, &unknown):
			return seen, unknown.Reason // it changes nothing: there is nothing to know
		case !session.NotSent(err):
			return seen, err
		}
	}
}

// fresh is the state of path, nil if there is no znode, with all in view that was
// committed before.
func fresh(ctx context.Context, s *session.Session, path string) (*state, error) {
	return behind(ctx, s, path, func() (*state, error) {
		data, stat, err := s.Get(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			return nil, nil
		}
		now := stateOf(data, stat)
		return &now, err
	})
}

// read is the present state, nil if there is no znode, in whatever session.
func (r *register) read(ctx context.Context) (*state, error) {
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	for {
		s, err := r.client.Session(ctx)
		var now *state
		if err == nil {
			now, err = fresh(ctx, s, r.path)
		}
		if err == nil || ctx.Err() != nil || !session.Passing(err) {
			return now, err
		}
	}
}

// ensure makes the znode path with data unless it exists, and its parents.
// It is safe to repeat: whoever made the node, nothing has changed by that.
func ensure(ctx context.Context, s *session.Session, path string, data []byte, o *session.CreateOptions) error {
	for {
		_, err := s.Create(ctx, path, data, session.Persistent, o)
		switch {
		case err == nil, errors.Is(err, session.ErrNodeExists):
			return nil
		case errors.Is(err, session.ErrNoNode):
			above := path[:max(1, strings.LastIndexByte(path, '/'))]
			if err := s.EnsurePath(ctx, above, session.Persistent, nil); err != nil {
				return err
			}
		case errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil:
			// Ask again; in a session that is lost, that says so.
		default:
			return err
		}
	}
}

// watch reads path and sets a watch for its next change, its creation included.
func watch(ctx context.Context, s *session.Session, path string) (now state, exists bool, w *session.Watch, err error) {
	for {
		data, stat, w, err := s.GetW(ctx, path)
		if !errors.Is(err, session.ErrNoNode) {
			return stateOf(data, stat), err == nil, w, err
		}
		_, created, w, err := s.ExistsW(ctx, path)
		if err != nil || !created {
			return state{}, false, w, err
		}
		w.Stop() // it came to be between the two reads
	}
}
