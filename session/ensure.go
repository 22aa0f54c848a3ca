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
			// A client may lack the permission to create below a node that another
			// client made. That is not an error as long as the wanted node exists.
			if there, probe := s.pathExists(ctx, real); probe == nil && there {
				return nil
			}
			return err
		case errors.Is(err, ErrUnknownOutcome) && ctx.Err() == nil:
			// Ask again: only the existence of the node matters, not its creator. If
			// the session is over by now, the next request says so.
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
	_, err = doRequest(ctx, s, "ensure", real, func() *Future[struct{}] {
		return start(s, request[struct{}]{
			op: "ensure", path: real, code: op.kind, write: true,
			body:   func(e *wire.Encoder) { op.encodeAt(real, e) },
			decode: decodeNothing,
		})
	}, nil)
	return err
}

// pathExists tells whether the server's path real exists.
func (s *Session) pathExists(ctx context.Context, real string) (bool, error) {
	return doRequest(ctx, s, "ensure", real, func() *Future[bool] {
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
