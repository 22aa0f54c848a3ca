package counter

import (
	"context"
	"errors"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// readFresh is the state of path, nil without a znode, including everything
// committed before the call.
func readFresh(ctx context.Context, s *session.Session, path string) (now *state, err error) {
	err = s.ReadFresh(ctx, path, func() error {
		data, stat, err := s.Get(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			now = nil
			return nil
		}
		seen := stateOf(data, stat)
		now = &seen
		return err
	})
	return now, err
}

// read is the present state, nil if there is no znode, in whatever session.
func (r *batcher) read(ctx context.Context) (*state, error) {
	if err := r.checkCall(ctx); err != nil {
		return nil, err
	}
	for {
		s, err := r.client.Session(ctx)
		var now *state
		if err == nil {
			now, err = readFresh(ctx, s, r.path)
		}
		if err == nil || ctx.Err() != nil || !session.IsSessionLoss(err) {
			return now, err
		}
	}
}

// ensureNode makes the znode path with data unless present, and its parents.
// ensureNode is safe to repeat: a repetition changes nothing, no matter which
// client made the node.
func ensureNode(ctx context.Context, s *session.Session, path string, data []byte, o *session.CreateOptions) error {
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
			// Ask again; in a lost session the next request fails.
		default:
			return err
		}
	}
}

// readAndWatch reads path and sets a watch for its next change, its creation included.
func readAndWatch(ctx context.Context, s *session.Session, path string) (now state, exists bool, w *session.Watch, err error) {
	seen, err := optimistic.GetWatched(ctx, s, path)
	if err == nil && seen.Exists {
		now = stateOf(seen.Data, seen.Stat)
	}
	return now, seen.Exists, seen.Watch, err
}
