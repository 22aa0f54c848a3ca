package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// TryLock takes the lock if no client holds it or waits for it; otherwise the
// error wraps ErrBusy. ctx bounds the call, which takes [Options.LockDelay] if
// the last holder has not released the lock. A contender that a lost session of this
// client has left does not count: TryLock waits until the client has deleted it.
func (m *Mutex) TryLock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	const op = "try"
	if err := m.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	waiting := observing.Begin(ctx, m.client, observe.Lock, m.path, true)
	held, err := m.tryAcquire(ctx, waiting)
	if err != nil {
		err = failure(ctx, op, m.path, err)
		waiting.EndTry(err, errors.Is(err, ErrBusy))
	}
	return held, err
}

// takeBaton takes the baton if it is free.
func (m *Mutex) takeBaton() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	taken := !m.taken
	m.taken = true
	return taken
}

// tryAcquire tries until it knows whether the lock is free.
func (m *Mutex) tryAcquire(ctx context.Context, waiting *observing.Wait) (*Held, error) {
	if !m.takeBaton() {
		return nil, ErrBusy
	}
	var backoff contender.Backoff
	for {
		backoff.Begin()
		before := m.client.RemainsDealtWith()
		c, held, err := m.tryOnce(ctx, waiting)
		switch {
		case err == nil:
			return held, nil
		case ctx.Err() == nil && c != nil && (session.IsSessionLoss(err) || errors.Is(err, contender.ErrGone)):
			c.LeaveBehind() // its watches, too
			backoff.Pause(ctx, c.Session())
		case ctx.Err() == nil && c == nil && session.IsSessionLoss(err):
			// The session was lost before the contender had entered.
		case ctx.Err() == nil && errors.Is(err, ErrBusy) && m.client.AwaitRemains(ctx, before):
			// It may have met the contender of a session that this client has lost.
			if c != nil {
				c.LeaveBehind()
			}
		default:
			m.passBaton(baton{contender: c}) // to a goroutine that has come to wait meanwhile
			return nil, err
		}
	}
}

// tryOnce contends once. With an error, tryOnce returns the contender, if it entered.
func (m *Mutex) tryOnce(ctx context.Context, waiting *observing.Wait) (*contender.Contender, *Held, error) {
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, nil, err
	}
	children, _, err := s.Children(ctx, m.path)
	switch {
	case err != nil && !errors.Is(err, session.ErrNoNode):
		return nil, nil, err
	case len(znode.Parse(children, lockformat.MutexMarkers()...).Entries) > 0:
		return nil, nil, ErrBusy // seen without leaving a trace
	}
	c, err := m.enterServerQueue(ctx)
	if err != nil {
		return nil, nil, err
	}
	c.Observe(waiting)
	granted, err := c.Granted(ctx)
	if err == nil && !granted {
		err = ErrBusy
	}
	var got *serverLock
	if err == nil {
		got, err = m.holdServerLock(ctx, c)
	}
	if err != nil {
		return c, nil, err
	}
	return nil, m.newHeld(got, waiting, false), nil
}

// checkRoom checks whether n permits are available without waiting; otherwise the
// error wraps ErrBusy. The check leaves no trace: a contender that queues up
// and leaves again would block smaller requests for a moment, including its own
// next try.
func (s *Semaphore) checkRoom(ctx context.Context, sess *session.Session, n int) error {
	dir := s.path
	if s.opts.CuratorV2 {
		dir = s.leasesDir()
	}
	children, _, err := sess.Children(ctx, dir)
	if errors.Is(err, session.ErrNoNode) {
		return nil
	}
	if s.opts.CuratorV2 {
		n += len(children) // foreign nodes too, as for waiting
	} else {
		for _, e := range znode.Parse(children, lockformat.Permit).Entries {
			n += lockformat.PermitsOf(e.Name)
		}
	}
	if err != nil || n <= s.permits {
		return err
	}
	// With a different number of permits a retry would be useless.
	data, err := readPathData(ctx, s.client, s.path)
	if err == nil && !s.opts.CuratorV2 {
		err = s.checkPermits(data)
	}
	if err == nil {
		err = ErrBusy
	}
	return err
}
