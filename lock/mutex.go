package lock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Mutex is a lock with one holder at a time, among all processes that use its
// path. Goroutines that share a Mutex queue in this process, first in, first out,
// and one of them at a time contends at the server.
type Mutex struct {
	client *session.Client
	path   string
	opts   Options
	room   *contender.Room
	err    error // an invalid argument of New

	// mu guards the fields below. Invariant: while taken, the baton is in exactly
	// one place: with a goroutine in acquireWith or tryOnce, on its way to a
	// waiter, or with current. waiters is empty unless taken.
	mu      sync.Mutex
	taken   bool
	current *Held
	waiters localQueue
}

// baton is the right to hold or contend on behalf of this Mutex. The baton carries
// the lock held at the server, or the contender with its place in the server's
// queue, or neither: then its owner starts again.
type baton struct {
	lock      *serverLock
	contender *contender.Contender
}

// New makes a lock on path, whose children are the contenders. New sends nothing;
// the first call of a method reports an invalid argument. o may be nil.
func New(client *session.Client, path string, o *Options) *Mutex {
	m := &Mutex{client: client, path: path}
	m.opts, m.err = o.withDefaults()
	m.room = contender.NewRoom(path+lockformat.RoomSuffix, m.opts.MaxQueue)
	if m.err == nil {
		m.err = session.ValidatePath(path)
	}
	if m.err == nil && path == "/" {
		m.err = fmt.Errorf("%w: the path is the root; a lock must be below it", ErrInvalidArgument)
	}
	if m.err == nil && client == nil {
		m.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return m
}

// Path returns the path argument of [New].
func (m *Mutex) Path() string { return receiver.OrZero(m).path }

// Lock waits until it holds the lock. ctx bounds the wait, not the hold; when ctx
// ends, no znode is left behind. If the session is lost during the wait, the
// place in the queue is lost, and Lock continues in the next session.
func (m *Mutex) Lock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	const op = "acquire"
	if err := m.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	waiting := observing.BeginWait(ctx, m.client, observe.Lock, m.path)
	held, err := m.acquire(ctx, waiting)
	if err != nil {
		err = failure(ctx, op, m.path, err)
		waiting.End(err)
	}
	return held, err
}

// acquire waits for the baton, and with it for the lock.
func (m *Mutex) acquire(ctx context.Context, waiting *observing.Wait) (*Held, error) {
	w, first := m.joinLocalQueue()
	if first {
		return m.acquireWith(ctx, baton{}, waiting)
	}
	select {
	case b := <-w.baton:
		return m.acquireWith(ctx, b, waiting)
	case <-ctx.Done():
		if b, given := m.leaveLocalQueue(w); given {
			m.passBaton(b) // the baton came in the same instant
		}
		return nil, context.Cause(ctx)
	}
}

func (m *Mutex) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, m.client, "lock.New", m.err, ErrInvalidArgument)
}

// joinLocalQueue takes the baton if free, and queues up otherwise.
func (m *Mutex) joinLocalQueue() (w *waiter, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.taken {
		m.taken = true
		return nil, true
	}
	return m.waiters.join(), false
}

// leaveLocalQueue removes w from the queue. If w was given the baton already,
// leaveLocalQueue returns the baton.
func (m *Mutex) leaveLocalQueue(w *waiter) (baton, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiters.leave(w) {
		return baton{}, false
	}
	return <-w.baton, true // sent before w was taken out, under mu
}

// passBaton gives the baton to the next local waiter. Without a waiter, the baton
// becomes free, and its lock or contender goes back to the server.
func (m *Mutex) passBaton(b baton) {
	m.mu.Lock()
	if m.waiters.serve(b) {
		m.mu.Unlock()
		return
	}
	m.taken = false
	m.mu.Unlock()
	switch {
	case b.lock != nil:
		b.lock.releaseAsync()
	case b.contender != nil:
		b.contender.LeaveBehind()
	}
}

// acquireWith continues with the contents of b until the lock is held. In all cases
// the baton is passed on, or bound to the returned Held.
func (m *Mutex) acquireWith(ctx context.Context, b baton, waiting *observing.Wait) (*Held, error) {
	if b.lock != nil {
		if b.lock.hold.Err() == nil {
			return m.newHeld(b.lock, waiting, true), nil
		}
		b.lock.deleteRemains() // lost during the hand-over: no other code deletes the remains
	}
	c := b.contender
	var backoff contender.Backoff
	for {
		backoff.Begin()
		var err error
		if c == nil {
			c, err = m.enterServerQueue(ctx)
		}
		if err == nil {
			c.Observe(waiting)
			err = c.Await(ctx)
		}
		var got *serverLock
		if err == nil {
			got, err = m.holdServerLock(ctx, c)
		}
		switch {
		case err == nil:
			return m.newHeld(got, waiting, false), nil
		case ctx.Err() != nil:
			// The place in the queue goes to another waiter of this process.
			m.passBaton(baton{contender: c})
			return nil, err
		case c != nil && (c.Session().Err() != nil || errors.Is(err, contender.ErrGone) || nodeGone(err)):
			c.LeaveBehind() // its watches, too
			backoff.Pause(ctx, c.Session())
			c = nil // the node is gone: queue up again
		case c == nil && errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrClosed):
			// The session was lost while queueing up.
		default:
			if c != nil {
				c.LeaveBehind()
			}
			m.passBaton(baton{})
			return nil, err
		}
	}
}

// enterServerQueue queues up at the server.
func (m *Mutex) enterServerQueue(ctx context.Context) (*contender.Contender, error) {
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	queue, err := m.queue()
	if err != nil {
		return nil, err
	}
	return contender.Enter(ctx, s, queue)
}

// queue describes the queue at the server.
func (m *Mutex) queue() (contender.Spec, error) {
	name, err := m.opts.Layout.nameMaker()
	return contender.Spec{
		Dir: m.path, Name: name, Markers: lockformat.MutexMarkers(), Data: m.opts.Data, ACL: m.opts.ACL, Rule: contender.Exclusive,
		Lasting: m.opts.Layout == Kazoo, Room: m.room,
	}, err
}

// holdServerLock holds the lock that c was granted.
func (m *Mutex) holdServerLock(ctx context.Context, c *contender.Contender) (*serverLock, error) {
	if err := m.awaitDelay(ctx, c); err != nil {
		return nil, err
	}
	hold, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return &serverLock{m: m, hold: hold, token: c.Node().Stat.Czxid, won: time.Now()}, nil
}

// newHeld makes a Held of a lock held at the server, and gives it the baton. local says
// that a goroutine of this process has handed it over.
func (m *Mutex) newHeld(l *serverLock, waiting *observing.Wait, local bool) *Held {
	h := m.bindHeld(l)
	h.end.Observe(waiting.Granted(h, local))
	return h
}

// bindHeld is newHeld without a report.
func (m *Mutex) bindHeld(l *serverLock) *Held {
	h := &Held{lock: l}
	h.ctx, h.cancel = l.hold.Derive()
	m.mu.Lock()
	m.current = h
	m.mu.Unlock()
	// Waiters in this process must not wait for a slow holder after its loss.
	h.forget = context.AfterFunc(l.hold.Context(), func() {
		if m.takeBatonFrom(h) {
			m.passBaton(baton{})
		}
	})
	return h
}

// takeBatonFrom takes the baton from h, if h still has the baton.
func (m *Mutex) takeBatonFrom(h *Held) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.current != h {
		return false
	}
	m.current = nil
	return true
}

// Do runs fn while it holds the lock. fn's context has ctx's values, and ends
// when ctx or the hold ends (see [Options.Grace]); Do waits for fn before it
// releases the lock. The error is fn's error, joined with the error of the lock:
// if the lock was lost while fn ran, errors.Is(err, session.ErrLost) is true. fn
// may release the lock itself.
//
// Do waits until a server has confirmed the release, also after the end of ctx, but
// no longer than until no server has answered for a session timeout: then the error
// wraps session.ErrLost, and the release continues in the background.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	m = receiver.OrZero(m)
	if err := m.checkCall(ctx); err == nil && fn == nil {
		return failure(ctx, "do", m.path, fmt.Errorf("%w: fn is nil", ErrInvalidArgument))
	}
	held, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return held.runFunc(ctx, fn)
}
