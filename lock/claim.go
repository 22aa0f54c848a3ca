package lock

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// claim is a lock won at the server, which several Held of one process may
// stand on, one after the other.
type claim struct {
	m     *Mutex
	hold  *session.Hold
	token int64
	won   time.Time

	watch  sync.Once
	forget func() bool
}

// guardLoss passes the turn on when the claim is lost: who waits in this
// process must not wait for a holder that has been told, but may be slow.
func (c *claim) guardLoss() {
	c.watch.Do(func() {
		c.forget = context.AfterFunc(c.hold.Context(), func() { c.m.drop(c) })
	})
}

// drop frees the turn of a claim that is over.
func (m *Mutex) drop(c *claim) {
	m.mu.Lock()
	mine := m.current == c
	m.mu.Unlock()
	if mine {
		m.pass(turn{})
	}
}

// letGo gives the claim back to the server without waiting.
func (c *claim) letGo() {
	over, cancel := context.WithCancel(c.hold.Context())
	cancel()
	_ = c.release(over) // goes on until the node or the session is gone
}

// release deletes the node. The turn must have been taken from the claim.
func (c *claim) release(ctx context.Context) error {
	c.hold.End(session.ErrReleased)
	return c.remove(ctx, c.startRemoval())
}

// startRemoval sends the deletion. What is sent after it comes after it.
func (c *claim) startRemoval() *session.Future[[]session.Result] {
	return c.hold.Session().StartTxn(c.removal()...)
}

// remove waits for the deletion, and repeats it until the node is gone.
func (c *claim) remove(ctx context.Context, sent *session.Future[[]session.Result]) error {
	_, err := sent.Wait(ctx)
	if err == nil || errors.Is(err, session.ErrNoNode) {
		return nil
	}
	return c.hold.Session().Discard(ctx, c.hold.Path())
}

// unlock gives the claim back: to the next in line of this process for as long
// as that is fair to the others, and to the server otherwise.
func (c *claim) unlock(ctx context.Context) error {
	m := c.m
	m.mu.Lock()
	if m.current != c {
		m.mu.Unlock()
		return context.Cause(c.hold.Context()) // lost; the turn was passed on
	}
	if len(m.waiters) > 0 && c.hold.Err() == nil && time.Since(c.won) < m.opts.LocalHandover {
		w := m.waiters[0]
		m.waiters = m.waiters[1:]
		w.turn <- turn{claim: c}
		m.mu.Unlock()
		return nil
	}
	m.current = nil
	m.mu.Unlock()
	if err := c.hold.Err(); err != nil {
		m.pass(turn{})
		return err
	}
	c.forget()
	c.hold.End(session.ErrReleased)
	// First the deletion, then the next one's request to queue up: it must
	// come behind whoever waits at the server.
	sent := c.startRemoval()
	m.pass(turn{})
	return c.remove(ctx, sent)
}
