package session

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// unconfirmed ends the wait for something that is given back; see
// [Session.GiveBackContext]. It is a context's error too, so that it stands for
// itself in messages.
type unconfirmed struct{}

func (unconfirmed) Error() string {
	return fmt.Sprintf("no server has answered for a session timeout, so what is given back may be %v: %v", ErrLost, ErrTrustRanOut)
}

func (unconfirmed) Unwrap() []error { return []error{ErrLost, ErrTrustRanOut, context.Canceled} }

// GiveBackContext returns a context for giving back something that goes with the
// session, by [Session.EnsureDeleted] or otherwise. The context ends with ctx, and when
// no server has answered for a session timeout: from then on the servers may
// expire the session, and no caller needs to wait for them. A call that gives
// back therefore ends even if its caller's context never does and no server can
// be reached; its error wraps ErrLost and ErrTrustRanOut.
//
// The session continues, and so does a deletion by EnsureDeleted: other users of the
// session are not disturbed, and when a server is back the znode is deleted at
// once instead of a session timeout later.
func (s *Session) GiveBackContext(ctx context.Context) (context.Context, context.CancelFunc) {
	s.mustBeUsable(ctx)
	return endUnanswered(ctx, s.confirmable)
}

// confirmable is how long the servers surely keep the session yet, as far as an
// answer of any of them, to a handshake too, tells.
func (s *Session) confirmable() time.Duration {
	k := s.renewer
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.timing.timeout - s.now().Sub(k.lastContact)
}

// GiveBackContext is [Session.GiveBackContext] for giving back in any session of
// the client. Without a session, the context ends when a session timeout has
// passed since the last reply in the former session, and since the call of
// GiveBackContext.
func (c *Client) GiveBackContext(ctx context.Context) (context.Context, context.CancelFunc) {
	c.mustBeUsable(ctx)
	began := time.Now()
	return endUnanswered(ctx, func() time.Duration {
		c.mu.Lock()
		s, latest := c.session, c.latest
		c.mu.Unlock()
		left := latest.confirmable()
		if s == nil || s.Err() != nil {
			left = max(left, c.timeout()-time.Since(began))
		}
		return left
	})
}

// endUnanswered returns a context that ends with ctx, and as soon as left, which is
// asked whenever it may be so, is not positive.
func endUnanswered(ctx context.Context, left func() time.Duration) (context.Context, context.CancelFunc) {
	within, cancel := context.WithCancelCause(ctx)
	d := &answerDeadline{left: left, within: within, cancel: cancel}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer = time.AfterFunc(max(0, left()), d.cancelIfLate)
	return within, d.stop
}

// answerDeadline ends a context when no server answers any more.
type answerDeadline struct {
	left   func() time.Duration
	within context.Context
	cancel context.CancelCauseFunc

	// mu guards timer, which runs until within has ended.
	mu    sync.Mutex
	timer *time.Timer
}

func (d *answerDeadline) cancelIfLate() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.within.Err() != nil {
		return
	}
	if left := d.left(); left > 0 {
		d.timer.Reset(left)
		return
	}
	d.cancel(unconfirmed{})
}

func (d *answerDeadline) stop() {
	d.cancel(nil)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.timer.Stop()
}

// timeout is the session timeout that is asked for.
func (c *Client) timeout() time.Duration {
	asked := c.opts.Timeout
	setDefault(&asked, DefaultTimeout)
	return asked
}
