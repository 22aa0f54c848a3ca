package lock

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// serverLock is a lock held at the server. Several Held of one process may use the
// serverLock, one after the other.
type serverLock struct {
	m     *Mutex
	hold  *session.Hold
	token int64
	won   time.Time
}

// giveBack gives h's lock back: to the next waiter of this process as long as
// this is fair to other processes, otherwise to the server.
func (c *serverLock) giveBack(ctx context.Context, h *Held) error {
	m := c.m
	if !m.takeBatonFrom(h) {
		c.deleteRemains()
		return c.hold.Err() // lost; the baton was passed on
	}
	h.forget()
	if err := c.hold.Err(); err != nil {
		c.deleteRemains()
		m.passBaton(baton{})
		return err
	}
	if time.Since(c.won) < m.opts.LocalHandover && m.handOver(c) {
		h.end.HandOver()
		return nil
	}
	c.hold.End(session.ErrReleased)
	// The deletion is sent first, and the next local waiter's request to queue up
	// second: the local waiter must come behind the waiters at the server.
	removal := c.startRemoval()
	m.passBaton(baton{})
	return c.finishRemoval(ctx, removal)
}

// handOver gives the lock to the next waiter of this process, if any.
func (m *Mutex) handOver(c *serverLock) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.waiters.serve(baton{lock: c})
}

// deleteRemains deletes the remains of a lost lock, after the end of its work and as
// soon as a session is available.
func (c *serverLock) deleteRemains() { c.hold.Session().EnsureRemainsDeleted(c.hold.Path()) }

// releaseAsync gives a lock without a holder or waiter back to the server, without
// waiting. A znode deleted by another client is not deleted again: a foreign
// znode of the same name may exist by now.
func (c *serverLock) releaseAsync() {
	if errors.Is(c.hold.Err(), session.ErrNodeDeleted) {
		return
	}
	over, cancel := context.WithCancel(c.hold.Session().Context())
	cancel()
	c.hold.End(session.ErrReleased)
	_ = c.finishRemoval(over, c.startRemoval()) // goes on until the node or the session is gone
}

// startRemoval sends the deletion of the node, and returns a function that
// waits for the reply. Requests sent later are carried out after the deletion.
func (c *serverLock) startRemoval() func(context.Context) error {
	s := c.hold.Session()
	if note := c.releaseNote(); note != nil {
		f := s.StartTxn(session.DeleteOp(c.hold.Path(), -1), *note)
		return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
	}
	f := s.StartDelete(c.hold.Path(), -1)
	return func(ctx context.Context) error { _, err := f.Wait(ctx); return err }
}

// finishRemoval waits for the deletion, and repeats it until the node is gone. If the
// first deletion did not find the node, the lock had been lost.
func (c *serverLock) finishRemoval(ctx context.Context, removal func(context.Context) error) error {
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

// nodeGone reports whether err means that the contender's own znode is gone:
// the first operation of such a request concerns the contender's znode. A
// failure at the note, which an administrator may delete, says nothing about
// the lock: its znode then exists.
func nodeGone(err error) bool {
	var txn *session.TxnError
	return errors.Is(err, session.ErrNoNode) && (!errors.As(err, &txn) || txn.Index == 0)
}
