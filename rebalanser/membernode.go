package rebalanser

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/batches"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// memberNode is a client's place in a group: one session, and one znode below clients.
type memberNode struct {
	s      *session.Session
	at     layout
	client string // its name; never used by any other client
	acl    []session.ACL
}

func (p *memberNode) nodePath() string { return p.at.clientPath(p.client) }

// guardMember makes a transaction fail once the client is not a member any more.
func (p *memberNode) guardMember() session.Op { return p.s.CheckOp(p.nodePath(), -1) }

func (p *memberNode) createOptions() *session.CreateOptions {
	return &session.CreateOptions{ACL: p.acl}
}

// awaitRemoval waits until path may have been removed, or the connection was lost. When ctx
// ends, the caller deletes path, which frees the watch on the server without a request.
func (p *memberNode) awaitRemoval(ctx context.Context, path string) error {
	read := p.s.StartExists(path, true)
	seen, err := read.Wait(ctx)
	switch {
	case err == nil && seen.Exists:
		select {
		case <-seen.Watch.Done():
		case <-ctx.Done():
			seen.Watch.Abandon()
		}
	case err == nil:
		seen.Watch.Stop()
	case ctx.Err() != nil:
		read.Then(func(late session.Seen, err error) {
			switch {
			case err == nil && late.Exists:
				late.Watch.Abandon()
			case err == nil:
				late.Watch.Stop()
			}
		})
		return context.Cause(ctx)
	case !session.IsConnectionLoss(err):
		return err
	}
	return nil
}

// readFresh calls read, which gets all in view that was committed before: also what read
// says is missing or otherwise than asked for is true then. read may be called again.
func (p *memberNode) readFresh(ctx context.Context, read func() error) error {
	return optimistic.ReadFresh(ctx, p.s, string(p.at), isAnswer, read)
}

// isAnswer reports whether err says how the group is, and not that reading has failed.
func isAnswer(err error) bool {
	for _, answer := range []error{ErrNoGroup, ErrMode, ErrRecord, session.ErrNoNode} {
		if errors.Is(err, answer) {
			return true
		}
	}
	return false
}

// list lists the children of a znode; one that does not exist has none.
func (p *memberNode) list(ctx context.Context, path string) ([]string, error) {
	r := optimistic.Reading{Ctx: ctx, Session: p.s}
	names := r.List(path)
	return names, r.Err
}

// readAll reads the znodes of many names, in as few round trips as possible, and passes on
// each answer. After a read that fails, no answer of its round trip is passed on. A znode
// that does not exist has Exists false.
func (p *memberNode) readAll(ctx context.Context, names []string, path func(name string) string, use func(name string, seen session.Seen)) error {
	for part := range batches.OfNames(names) {
		paths := make([]string, len(part))
		for i, name := range part {
			paths[i] = path(name)
		}
		r := optimistic.Reading{Ctx: ctx, Session: p.s}
		answers := r.GetAll(paths...)
		if r.Err != nil {
			return r.Err
		}
		for i, seen := range answers {
			use(part[i], seen)
		}
	}
	return nil
}
