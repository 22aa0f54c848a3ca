package lock

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// claim is a lock won at the server, which several Held of one process may
// stand on, one after the other.
type claim struct {
	m     *Mutex
	hold  *session.Hold
	token int64
	won   time.Time
}

// unlock gives h's claim back: to the next in line of this process for as long
// as that is fair to the others, and to the server otherwise.
func (c *claim) unlock(ctx context.Context, h *Held) error {
	m := c.m
	if !m.resign(h) {
		c.forsake()
		return c.hold.Err() // lost; the turn was passed on
	}
	h.forget()
	if err := c.hold.Err(); err != nil {
		c.forsake()
		m.pass(turn{})
		return err
	}
	if time.Since(c.won) < m.opts.LocalHandover && m.handOn(c) {
		return nil
	}
	c.hold.End(session.ErrReleased)
	// The deletion is sent first, and the next local waiter's request to queue up
	// second: the local waiter must come behind the waiters at the server.
	removal := c.startRemoval()
	m.pass(turn{})
	return c.remove(ctx, removal)
}

// handOn gives the claim to the next in line of this process, if there is one.
func (m *Mutex) handOn(c *claim) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiters.serve(turn{claim: c})
}

// forsake deletes, as soon as there is a session for it, what a lost claim whose work
// has ended left behind.
func (c *claim) forsake() { c.hold.Session().EnsureRemainsDeleted(c.hold.Path()) }

// letGo gives a claim that nobody has the turn for back to the server, without
// waiting. A znode that somebody has deleted is not deleted again: by now a stranger
// may have made one of that name.
func (c *claim) letGo() {
	if errors.Is(c.hold.Err(), session.ErrNodeDeleted) {
		return
	}
	over, cancel := context.WithCancel(c.hold.Session().Context())
	cancel()
	c.hold.End(session.ErrReleased)
	_ = c.remove(over, c.startRemoval()) // goes on until the node or the session is gone
}

// startRemoval sends the deletion of the node, and returns a function that waits for
// it. Requests that are sent later are carried out after the deletion.
func (c *claim) startRemoval() func(context.Context) error {
	s := c.hold.Session()
	if note := c.releaseNote(); note != nil {
		f := s.StartTxn(session.DeleteOp(c.hold.Path(), -1), *note)
		return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
	}
	f := s.StartDelete(c.hold.Path(), -1)
	return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
}

// remove waits for the deletion, and repeats it until the node is gone. If the first
// one did not find it, the lock had been lost.
func (c *claim) remove(ctx context.Context, removal func(context.Context) error) error {
	ctx, cancel := c.hold.Session().GiveBackContext(ctx)
	defer cancel()
	err := removal(ctx)
	switch {
	case err == nil:
		return nil
	case nodeGone(err):
		return holding.ErrTaken
	}
	if err := c.hold.Session().EnsureDeleted(ctx, c.hold.Path()); err != nil {
		return err
	}
	if err := c.noteRelease(ctx); err != nil && !holding.IsLoss(err) {
		return err
	}
	return nil // the lock was given back before the session was lost
}

// nodeGone reports whether err says that the contender's own znode is gone: that
// of a request whose first operation is about it. That of the note, which an
// administrator may delete, says nothing of the lock, whose znode is there then.
func nodeGone(err error) bool {
	var txn *session.TxnError
	return errors.Is(err, session.ErrNoNode) && (!errors.As(err, &txn) || txn.Index == 0)
}
