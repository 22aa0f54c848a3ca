package session

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// ensure makes the server's path real exist, in mode, and persistent nodes
// above it.
func (s *Session) ensure(ctx context.Context, real string, mode Mode, o *CreateOptions) error {
	if real == "/" {
		return nil
	}
	for {
		err := s.ensureOnce(ctx, real, mode, o)
		switch {
		case err == nil, errors.Is(err, ErrNodeExists):
			return nil
		case errors.Is(err, ErrNoNode):
			// The parent is missing, or went again (an empty container
			// may, at any time).
			if err := s.ensure(ctx, parent(real), Persistent, nil); err != nil {
				return err
			}
		case errors.Is(err, ErrNoAuth):
			// Who may not create below a node that others made need not,
			// as long as what is wanted is there.
			if there, probe := s.isThere(ctx, real); probe == nil && there {
				return nil
			}
			return err
		case errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil:
			// Ask again: whoever made it, existing is all that matters. If the
			// session is over by now this says so.
		default:
			return err
		}
	}
}

func (s *Session) ensureOnce(ctx context.Context, real string, mode Mode, o *CreateOptions) error {
	op, err := s.checkOp(CreateOp(real, nil, mode, o))
	if err != nil {
		return &OpError{Op: "ensure", Path: real, Err: err}
	}
	_, err = do(ctx, s, "ensure", real, func() *Future[struct{}] {
		return start(s, request[struct{}]{
			op: "ensure", path: real, code: mode.code(), write: true,
			body:   func(e *wire.Encoder) { op.encodeAt(real, e) },
			decode: nothing,
		})
	}, nil)
	return err
}

// isThere tells whether the server's path real exists.
func (s *Session) isThere(ctx context.Context, real string) (bool, error) {
	return do(ctx, s, "ensure", real, func() *Future[bool] {
		return start(s, request[bool]{
			op: "ensure", path: real, code: wire.OpExists,
			body: func(e *wire.Encoder) {
				e.String(real)
				e.Bool(false)
			},
			decode: func(*wire.Decoder) (bool, error) { return true, nil },
		})
	}, nil)
}
