package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// seat is a client's place in a group: one session, and one node below clients.
type seat struct {
	s      *session.Session
	at     layout
	client string // its name; never used again by anybody
	acl    []session.ACL
}

func (p *seat) node() string { return p.at.client(p.client) }

// guard makes a transaction fail once the client is no member any more.
func (p *seat) guard() session.Op { return p.s.CheckOp(p.node(), -1) }

func (p *seat) created() *session.CreateOptions { return &session.CreateOptions{ACL: p.acl} }

// look reads a node and sets a watch on it, whether it exists or not.
func (p *seat) look(ctx context.Context, path string) (data []byte, stat session.Stat, w *session.Watch, err error) {
	for {
		data, stat, w, err = p.s.GetW(ctx, path)
		if !errors.Is(err, session.ErrNoNode) {
			return data, stat, w, err
		}
		_, exists, w, err := p.s.ExistsW(ctx, path)
		if err != nil {
			return nil, session.Stat{}, nil, err
		}
		if !exists {
			return nil, session.Stat{}, w, nil
		}
		w.Stop()
	}
}

// answers waits for the answers to reads that were sent together, and hands on those
// that there are. It fails, having waited for all, if the connection was lost on the
// way; a node that does not exist is none of its business.
func answers(ctx context.Context, futures []*session.Future[session.Seen], use func(i int, seen session.Seen, there bool)) error {
	var failed error
	for i, f := range futures {
		seen, err := f.Wait(ctx)
		switch {
		case err == nil:
			use(i, seen, true)
		case errors.Is(err, session.ErrNoNode):
			use(i, seen, false)
		case failed == nil:
			failed = err
		}
	}
	return failed
}
