package stm

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// marker is an ephemeral znode, set by one transaction at a time together with
// its writes. Its data version counts the applied transactions.
type marker struct {
	path    string
	version int32
}

// setOp returns the operation that counts a transaction.
func (m *marker) setOp() session.Op { return session.SetOp(m.path, nil, m.version) }

// outcome says whether a transaction was applied.
type outcome int

const (
	applied outcome = iota
	notApplied
	gone // the marker is gone
	unknown
)

// readOutcome reads the outcome of the transaction with marker m.
func (m *marker) readOutcome(ctx context.Context, s *session.Session) (outcome, error) {
	stat, exists, err := existsFresh(ctx, s, m.path)
	switch {
	case err != nil:
		return unknown, err
	case !exists:
		return gone, nil
	case stat.Version == m.version:
		return notApplied, nil
	case stat.Version == m.version+1:
		return applied, nil
	}
	return unknown, nil // another client has changed the marker
}

// existsFresh is Exists, and sees everything committed before the call.
func existsFresh(ctx context.Context, s *session.Session, path string) (stat session.Stat, exists bool, err error) {
	err = s.ReadFresh(ctx, path, func() (err error) {
		stat, exists, err = s.Exists(ctx, path)
		return err
	})
	return stat, exists, err
}

// markerPool keeps the unused markers of a session: as many as transactions
// have run concurrently.
type markerPool struct {
	dir string
	acl []session.ACL

	// mu guards the fields below. Invariant: free belongs to session s.
	mu   sync.Mutex
	s    *session.Session
	free []*marker
}

// takeMarker returns a marker of session s for one transaction, and creates a marker
// if necessary.
func (p *markerPool) takeMarker(ctx context.Context, s *session.Session) (*marker, error) {
	if m := p.popFree(s); m != nil {
		return m, nil
	}
	o := &session.CreateOptions{ACL: p.acl}
	for {
		node, err := s.CreateProtected(ctx, newMarkerPath(p.dir), nil, session.Ephemeral, o)
		switch {
		case err == nil:
			return &marker{path: node.Path}, nil
		case !errors.Is(err, session.ErrNoNode):
			return nil, err
		}
		if err := s.EnsurePath(ctx, p.dir, session.Container, o); err != nil {
			return nil, err
		}
	}
}

func (p *markerPool) popFree(s *session.Session) *marker {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s != s {
		if s.Err() != nil {
			return nil // a late call with a former session
		}
		p.s, p.free = s, nil // the others went with their session
	}
	n := len(p.free)
	if n == 0 {
		return nil
	}
	m := p.free[n-1]
	p.free = p.free[:n-1]
	return m
}

// putBack returns a marker of session s whose version is known.
func (p *markerPool) putBack(s *session.Session, m *marker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.s == s {
		p.free = append(p.free, m)
	}
}

// dropMarker deletes a marker with an unknown state in the background.
func (p *markerPool) dropMarker(s *session.Session, m *marker) {
	optimistic.DeleteLater(s, m.path)
}
