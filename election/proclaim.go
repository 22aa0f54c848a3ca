package election

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// proclamation is the value of a leadership, an ephemeral znode of its own. Only its
// leadership writes the znode, one call after the other, each on condition of the version
// that the call has seen; so a write whose reply was lost never replaces a later one.
type proclamation struct {
	turn chan struct{} // cap 1: held by the call in progress

	// The fields below belong to the holder of turn.

	// made: the znode exists, with this version, as far as the last call knows.
	made    bool
	version int32
	// doubt: a write on this condition was not answered, or the znode is not like that.
	doubt bool

	// mu guards over and used: no write is started after over, and the end of the leadership
	// deletes the znode of a value that was, or may have been, written.
	mu         sync.Mutex
	over, used bool
}

// valuePath is the path of the znode with the value that the candidate called name has
// proclaimed.
func (e *Elector) valuePath(name string) string {
	return znode.Join(e.path+lockformat.ProclaimedSuffix, name)
}

// Proclaim publishes value while the leadership lasts: [Elector.Leader], [Elector.Observe] and
// [Elector.Candidates] return it with the leader, as Candidate.Value. Each call replaces the
// value of the call before. An empty value is a value too. The value goes with the leadership.
//
// The write carries the leadership's guard: if the leadership has ended, nothing is written, and
// the error wraps session.ErrLost and the reason, or ErrNotLeader after [Leadership.Resign]. If a
// reply is lost, Proclaim finds out whether the value was written. If ctx ends during the write,
// the error wraps session.ErrUnknownOutcome: the value may be published or not, and may still be
// published until the next Proclaim has returned nil. Calls at the same time take turns.
//
// Value, and about 200 bytes more, must fit into the servers' jute.maxbuffer (1,048,575 bytes by
// default): otherwise the error wraps session.ErrTooLarge. Proclaim takes one request, and up to
// four the first time. Each observer takes four requests for a change of the value.
func (l *Leadership) Proclaim(ctx context.Context, value []byte) error {
	l = receiver.OrZero(l)
	const op = "proclaim"
	err := holding.BeginHeld(ctx, l.hold != nil, "election.Leadership", "election.Elector", ErrInvalidArgument)
	if err == nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err == nil {
		err = l.proclaim(ctx, slices.Clone(value))
	}
	if err != nil {
		return l.e.failure(ctx, op, err)
	}
	return nil
}

func (l *Leadership) proclaim(ctx context.Context, value []byte) error {
	p := &l.value
	select {
	case p.turn <- struct{}{}:
		defer func() { <-p.turn }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	s := l.hold.Session()
	return s.Retry(ctx, func() error {
		for {
			again, err := l.writeValue(ctx, s, value)
			if err != nil || !again {
				return err
			}
		}
	})
}

// writeValue is one attempt to write the value. It reports whether another one is needed,
// because the znode, or its folder, is not as this leadership has seen it last.
func (l *Leadership) writeValue(ctx context.Context, s *session.Session, value []byte) (again bool, err error) {
	p, path := &l.value, l.e.valuePath(znode.Base(l.hold.Path()))
	if p.doubt {
		if done, err := p.findOutcome(ctx, s, path, value); done || err != nil {
			return false, err
		}
	}
	write := session.SetOp(path, value, p.version)
	if !p.made {
		write = session.CreateOp(path, value, session.Ephemeral, &session.CreateOptions{ACL: l.e.opts.ACL})
	}
	sent, err := l.startWrite(s, write)
	if err != nil {
		return false, err
	}
	results, err := sent.Wait(ctx)
	refused := optimistic.CulpritIndex(err)
	switch {
	case err == nil:
		p.made, p.version = true, results[1].Stat.Version // 0 for a creation
		return false, nil
	case refused < 0:
		p.doubt = true
		return false, err
	case refused == 0 && errors.Is(err, session.ErrNoNode):
		return false, l.endedError()
	case refused != 1:
		return false, err
	case errors.Is(err, session.ErrNoNode) && !p.made:
		// The folder is missing: there was no value before, or servers have deleted it
		// because it was empty.
		folder := l.e.path + lockformat.ProclaimedSuffix
		return true, s.EnsurePath(ctx, folder, session.Container, &session.CreateOptions{ACL: l.e.opts.ACL})
	case errors.Is(err, session.ErrNoNode), errors.Is(err, session.ErrBadVersion), errors.Is(err, session.ErrNodeExists):
		p.doubt = true // a write of before, or an operator
		return true, nil
	}
	return false, err
}

// findOutcome reads the znode of the value after a write that got no reply. done says that the
// znode has the value, by that write or by a later one: the condition of the write does not
// hold any more. A write of another value that is still on its way would replace an equal
// value of before.
func (p *proclamation) findOutcome(ctx context.Context, s *session.Session, path string, value []byte) (done bool, err error) {
	data, stat, err := s.Get(ctx, path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return false, err
	}
	exists := err == nil
	done = exists && (!p.made || stat.Version > p.version) && bytes.Equal(data, value)
	p.made, p.version, p.doubt = exists, stat.Version, false
	return done, nil
}

// startWrite sends the transaction, unless the leadership has ended. The first call has the
// znode deleted at the end of the leadership.
func (l *Leadership) startWrite(s *session.Session, write session.Op) (*session.Future[[]session.Result], error) {
	p := &l.value
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.over || l.hold.Err() != nil {
		return nil, l.endedError()
	}
	if !p.used {
		p.used = true
		path := l.e.valuePath(znode.Base(l.hold.Path()))
		context.AfterFunc(l.hold.Context(), func() {
			// No write starts behind the deletion: the lock orders them on the connection, and
			// on a later connection the servers refuse what is late on a former one.
			p.mu.Lock()
			defer p.mu.Unlock()
			p.over = true
			optimistic.DeleteLater(s, path)
		})
	}
	return s.StartTxn(l.hold.Guard(), write), nil
}

// endedError is why the leadership has ended; the leader may not know it yet.
func (l *Leadership) endedError() error {
	switch err := l.hold.Err(); {
	case errors.Is(err, session.ErrReleased):
		return ErrNotLeader
	case err != nil:
		return err
	}
	return holding.ErrTaken
}

// readValue reads the value that a candidate has proclaimed.
func (c *Candidate) readValue(ctx context.Context, s *session.Session, e *Elector) error {
	data, _, err := s.Get(ctx, e.valuePath(c.Name))
	return c.setValue(data, err)
}

// setValue sets the value by the result of its read; nil if there is none.
func (c *Candidate) setValue(data []byte, err error) error {
	switch {
	case errors.Is(err, session.ErrNoNode):
		c.Value = nil
		return nil
	case err != nil:
		return fmt.Errorf("the proclaimed value: %w", err)
	}
	c.Value = append([]byte{}, data...) // an empty value is not nil
	return nil
}
