package session

import (
	"context"

	"github.com/zkrecipes/zkrecipes/session/internal/wire"
)

// Gets reads the data of several znodes in one request, all at the same moment of
// the server. Each read has its own result, in the order of paths: a znode that
// does not exist, or may not be read, does not affect the other reads. One
// request costs the server a fraction of as many single requests. The reply, with
// all the data, must not be longer than Options.MaxReply, or the connection ends
// with ErrReplyTooLarge. Without paths Gets does nothing.
//
// A server older than 3.6 does not know the request (multiRead): the error wraps
// ErrUnsupported, and the connection ends.
func (s *Session) Gets(ctx context.Context, paths ...string) ([]Result, error) {
	s.mustBeUsable(ctx)
	if len(paths) == 0 {
		return nil, nil
	}
	return doRequest(ctx, s, "gets", paths[0], func() *Future[[]Result] { return s.StartGets(paths...) }, nil)
}

// StartGets is [Session.Gets] without waiting.
func (s *Session) StartGets(paths ...string) *Future[[]Result] {
	s.mustBeMade()
	const name = "gets"
	if len(paths) == 0 {
		return completedFuture[[]Result](name, nil, nil)
	}
	for _, path := range paths {
		if err := ValidatePath(path); err != nil {
			return failed[[]Result](name, path, err)
		}
	}
	return start(s, request[[]Result]{
		op: name, path: paths[0], code: wire.OpMultiRead,
		body: func(e *wire.Encoder) {
			for _, path := range paths {
				wire.EncodePart(e, wire.OpGetData, false)
				e.String(s.serverPath(path))
				e.Bool(false) // such reads leave no watch
			}
			wire.EncodePart(e, -1, true)
		},
		decode: func(d *wire.Decoder) ([]Result, error) { return getsAnswer(paths, d) },
	})
}

func getsAnswer(paths []string, d *wire.Decoder) ([]Result, error) {
	raw := wire.DecodeMulti(d)
	if d.Err() != nil || len(raw) != len(paths) {
		return nil, &OpError{Op: "gets", Path: paths[0], Err: errMisfit}
	}
	out := make([]Result, len(raw))
	for i, r := range raw {
		out[i] = Result{Path: paths[i], Data: r.Data, Stat: r.Stat}
		if r.Code != wire.CodeOK {
			out[i].Err = &OpError{Op: "get", Path: paths[i], Err: codeError(r.Code)}
		}
	}
	return out, nil
}
