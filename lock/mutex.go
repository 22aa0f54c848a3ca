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
	"github.com/zkrecipes/zkrecipes/session"
)

// Mutex is a lock with one holder at a time, among all processes that use its
// path. Goroutines that share a Mutex queue in this process, first in, first out,
// and one of them at a time contends at the server.
type Mutex struct {
	client *session.Client
	path   string
	opts   Options
	err    error // an invalid argument of New

	// mu guards the fields below. Invariant: while taken, exactly one of these
	// has the turn: a goroutine in acquire or try, a turn on its way to a
	// waiter, or current. waiters is empty unless taken.
	mu      sync.Mutex
	taken   bool
	current *Held
	waiters localQueue
}

// turn is the right to hold or contend on behalf of this Mutex. With a claim,
// the lock is handed on; with a contender, the place in the server's queue;
// otherwise the owner starts again.
type turn struct {
	claim     *claim
	contender *contender.Contender
}

// New makes a lock on path, whose children are the contenders. New sends nothing;
// the first call of a method reports an invalid argument. o may be nil.
func New(client *session.Client, path string, o *Options) *Mutex {
	m := &Mutex{client: client, path: path}
	m.opts, m.err = o.withDefaults()
	if m.err == nil {
		m.err = session.ValidatePath(path)
	}
	if m.err == nil && path == "/" {
		m.err = fmt.Errorf("%w: the path is the root, whose children are no contenders", ErrInvalidArgument)
	}
	if m.err == nil && client == nil {
		m.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return m
}

// Path returns the path argument of [New].
func (m *Mutex) Path() string { return m.path }

// Lock waits until it holds the lock. ctx bounds the wait, not the hold; when ctx
// ends, no znode is left behind. If the session is lost during the wait, the
// place in the queue is lost, and Lock continues in the next session.
func (m *Mutex) Lock(ctx context.Context) (*Held, error) {
	const op = "acquire"
	if err := m.begin(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	w, first := m.line()
	if first {
		return m.acquire(ctx, turn{})
	}
	select {
	case t := <-w.turn:
		return m.acquire(ctx, t)
	case <-ctx.Done():
		if t, given := m.leave(w); given {
			m.pass(t) // the turn came in the same instant
		}
		return nil, failure(ctx, op, m.path, context.Cause(ctx))
	}
}

func (m *Mutex) begin(ctx context.Context) error {
	return holding.Begin(ctx, m.client, "lock.New", m.err, ErrInvalidArgument)
}

// line takes the turn if free, and queues up otherwise.
func (m *Mutex) line() (w *waiter, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.taken {
		m.taken = true
		return nil, true
	}
	return m.waiters.join(), false
}

// leave removes w from the queue. If w's turn has come already, leave returns
// the turn.
func (m *Mutex) leave(w *waiter) (turn, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiters.leave(w) {
		return turn{}, false
	}
	return <-w.turn, true // sent before w was taken out, under mu
}

// pass gives the turn to the next in line. Without a waiter, the turn becomes
// free, and its claim or place goes back to the server.
func (m *Mutex) pass(t turn) {
	m.mu.Lock()
	if m.waiters.serve(t) {
		m.mu.Unlock()
		return
	}
	m.taken = false
	m.mu.Unlock()
	switch {
	case t.claim != nil:
		t.claim.letGo()
	case t.contender != nil:
		t.contender.LeaveBehind()
	}
}

// acquire goes on from turn t until the lock is held. In all cases the turn is
// passed on or bound to the returned Held.
func (m *Mutex) acquire(ctx context.Context, t turn) (*Held, error) {
	const op = "acquire"
	if t.claim != nil {
		if t.claim.hold.Err() == nil {
			return m.hand(t.claim), nil
		}
		t.claim.forsake() // lost during the hand-over: no other code deletes the remains
	}
	c := t.contender
	var pace contender.Pace
	for {
		pace.Begin()
		var err error
		if c == nil {
			c, err = m.enter(ctx)
		}
		if err == nil {
			err = c.Await(ctx)
		}
		var got *claim
		if err == nil {
			got, err = m.claim(ctx, c)
		}
		switch {
		case err == nil:
			return m.hand(got), nil
		case ctx.Err() != nil:
			// The place in the queue goes to another waiter of this process.
			m.pass(turn{contender: c})
			return nil, failure(ctx, op, m.path, err)
		case c != nil && (c.Session().Err() != nil || errors.Is(err, contender.ErrGone) || nodeGone(err)):
			c.LeaveBehind() // its watches, too
			pace.Pause(ctx, c.Session())
			c = nil // the node is gone: queue up again
		case c == nil && errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrClosed):
			// The session was lost while queueing up.
		default:
			if c != nil {
				c.LeaveBehind()
			}
			m.pass(turn{})
			return nil, failure(ctx, op, m.path, err)
		}
	}
}

// enter queues up at the server.
func (m *Mutex) enter(ctx context.Context) (*contender.Contender, error) {
	s, err := m.client.Session(ctx)
	if err != nil {
		return nil, err
	}
	name, err := m.opts.Layout.name()
	if err != nil {
		return nil, err
	}
	return contender.Enter(ctx, s, contender.Spec{
		Dir: m.path, Name: name, Markers: lockformat.MutexMarkers(), Data: m.opts.Data, ACL: m.opts.ACL, Rule: contender.Exclusive,
		Lasting: m.opts.Layout == Kazoo,
	})
}

// claim turns c's turn at the server into a claim.
func (m *Mutex) claim(ctx context.Context, c *contender.Contender) (*claim, error) {
	if err := m.awaitDelay(ctx, c); err != nil {
		return nil, err
	}
	hold, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	return &claim{m: m, hold: hold, token: c.Node().Stat.Czxid, won: time.Now()}, nil
}

// hand makes a Held of a claim.
func (m *Mutex) hand(c *claim) *Held {
	h := &Held{claim: c}
	h.ctx, h.cancel = c.hold.Derive()
	m.mu.Lock()
	m.current = h
	m.mu.Unlock()
	// Waiters in this process must not wait for a slow holder after its loss.
	h.forget = context.AfterFunc(c.hold.Context(), func() {
		if m.resign(h) {
			m.pass(turn{})
		}
	})
	return h
}

// resign takes the turn from h, if h still has the turn.
func (m *Mutex) resign(h *Held) bool {
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
// may release the lock itself. If ctx has ended by then, Do does not wait until
// the server confirms the release, which continues in the background.
func (m *Mutex) Do(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	if err := m.begin(ctx); err == nil && fn == nil {
		return failure(ctx, "do", m.path, fmt.Errorf("%w: fn is nil", ErrInvalidArgument))
	}
	held, err := m.Lock(ctx)
	if err != nil {
		return err
	}
	return held.run(ctx, fn)
}
