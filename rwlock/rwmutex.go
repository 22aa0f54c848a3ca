package rwlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// RWMutex is a lock that any number of readers hold together, or one writer
// alone, among all processes that use its path. Each call of a locking method is
// a contender of its own: goroutines that share an RWMutex are served in the same
// order as processes.
//
// Rejected: handing a read lock over among the goroutines of a process, as
// lock.Mutex does with its lock. A goroutine that joins a reader passes every
// writer that queues behind that reader, and a process with ever-overlapping
// readers would keep all writers out.
type RWMutex struct {
	client *session.Client
	path   string
	opts   Options
	err    error // of invalid arguments
}

// New makes a lock on path, whose children are the contenders. New sends nothing;
// the first call of a method reports an invalid argument. o may be nil.
func New(client *session.Client, path string, o *Options) *RWMutex {
	m := &RWMutex{client: client, path: path}
	m.opts, m.err = o.withDefaults()
	if m.err == nil {
		m.err = session.ValidatePath(path)
	}
	if m.err == nil && path == "/" {
		m.err = fmt.Errorf("%w: the path is the root; a lock must be below it", ErrInvalidArgument)
	}
	if m.err != nil && !errors.Is(m.err, ErrInvalidArgument) {
		m.err = fmt.Errorf("%w: path: %w", ErrInvalidArgument, m.err)
	}
	if m.err == nil && client == nil {
		m.err = fmt.Errorf("%w: the client is nil", ErrInvalidArgument)
	}
	return m
}

// Path returns the path argument of [New].
func (m *RWMutex) Path() string { return receiver.OrZero(m).path }

// Lock waits until it holds the lock for writing. ctx bounds the wait, not the
// hold; when ctx ends, no znode is left behind. If the session is lost during the
// wait, the place in the queue is lost, and Lock continues in the next session.
//
// A ctx that comes from a hold of the same lock is refused with ErrUpgrade or
// ErrNested.
func (m *RWMutex) Lock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	return m.acquire(ctx, "lock", writer, false)
}

// RLock waits until it holds the lock for reading; see [RWMutex.Lock]. RLock does
// not pass a writer that came earlier.
func (m *RWMutex) RLock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	return m.acquire(ctx, "read lock", reader, false)
}

// TryLock takes the lock for writing if no client holds it or waits for it;
// otherwise the error wraps ErrBusy. ctx bounds the call.
func (m *RWMutex) TryLock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	return m.acquire(ctx, "try to lock", writer, true)
}

// TryRLock takes the lock for reading if no writer holds it or waits for it;
// otherwise the error wraps ErrBusy. ctx bounds the call.
func (m *RWMutex) TryRLock(ctx context.Context) (*Held, error) {
	m = receiver.OrZero(m)
	return m.acquire(ctx, "try to read lock", reader, true)
}

// Do runs fn while it holds the lock for writing. fn's context has ctx's values,
// and ends when ctx or the hold ends (see [Options.Grace]). Do waits for fn, and
// then releases the lock that fn left: after [Held.Downgrade], the read lock. The
// error is fn's error, joined with the error of the lock: if the lock was lost
// while fn ran, errors.Is(err, session.ErrLost) is true. fn may release or
// downgrade the lock with its own context.
//
// Do waits until a server has confirmed the release, also after the end of ctx, but
// no longer than until no server has answered for a session timeout: then the error
// wraps session.ErrLost, and the release continues in the background.
func (m *RWMutex) Do(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	m = receiver.OrZero(m)
	return m.run(ctx, m.Lock, fn)
}

// RDo is Do with the lock held for reading.
func (m *RWMutex) RDo(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	m = receiver.OrZero(m)
	return m.run(ctx, m.RLock, fn)
}

func (m *RWMutex) run(ctx context.Context, lock func(context.Context) (*Held, error), fn func(context.Context, *Held) error) error {
	if err := m.checkCall(ctx); err == nil && fn == nil {
		return failure(ctx, "do", m.path, fmt.Errorf("%w: fn is nil", ErrInvalidArgument))
	}
	held, err := lock(ctx)
	if err != nil {
		return err
	}
	return holding.Run(m.withMark(ctx, held.place), held.Context(), m.opts.Grace, ErrNotHeld,
		func(ctx context.Context) error { return fn(ctx, held) }, held.place.unlock)
}

func (m *RWMutex) checkCall(ctx context.Context) error {
	return holding.Begin(ctx, m.client, "rwlock.New", m.err, ErrInvalidArgument)
}

// acquire contends until it has the lock, or, with try, until it knows whether it
// can have it at once.
func (m *RWMutex) acquire(ctx context.Context, op string, k kind, try bool) (*Held, error) {
	err := m.checkCall(ctx)
	if err == nil {
		err = m.refuseNested(ctx, k)
	}
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	waiting := observing.Begin(ctx, m.client, k.observed(), m.path, try)
	h, err := m.contend(ctx, k, try, waiting)
	if err != nil {
		err = failure(ctx, op, m.path, err)
		waiting.EndTry(err, errors.Is(err, ErrBusy))
		return nil, err
	}
	h.observe(waiting.NewHold(h, false))
	waiting.End(nil)
	h.observed.Begin()
	return h, nil
}

// contend queues up until it has the lock, or knows that it cannot have it at once.
func (m *RWMutex) contend(ctx context.Context, k kind, try bool, waiting *observing.Wait) (*Held, error) {
	var backoff contender.Backoff
	for {
		backoff.Begin()
		before := m.client.RemainsDealtWith()
		s, err := m.client.Session(ctx)
		if err != nil {
			return nil, err
		}
		h, err := m.contendOnce(ctx, s, k, try, waiting)
		switch {
		case err == nil:
			return h, nil
		case ctx.Err() == nil && errors.Is(err, ErrBusy) && m.client.AwaitRemains(ctx, before):
			continue // it may have met the contender of a session that this client has lost
		case ctx.Err() != nil, s.Err() == nil && !errors.Is(err, contender.ErrGone):
			return nil, err
		}
		backoff.Pause(ctx, s) // the node is gone: queue up again, in the next session if this one is lost
	}
}

// contendOnce queues up once; it leaves nothing behind when it fails.
func (m *RWMutex) contendOnce(ctx context.Context, s *session.Session, k kind, try bool, waiting *observing.Wait) (*Held, error) {
	if try {
		if err := m.checkFree(ctx, s, k); err != nil {
			return nil, err
		}
	}
	queue, err := m.queue(k)
	if err != nil {
		return nil, err
	}
	c, err := contender.Enter(ctx, s, queue)
	if err != nil {
		return nil, err
	}
	c.Observe(waiting)
	if try {
		err = busyUnlessGranted(ctx, c)
	} else {
		err = c.Await(ctx)
	}
	var h *Held
	if err == nil {
		h, err = m.holdLock(ctx, c, k)
	}
	if err != nil {
		c.LeaveBehind()
		return nil, err
	}
	return h, nil
}

// queue describes the queue to a contender of kind k.
func (m *RWMutex) queue(k kind) (contender.Spec, error) {
	name, err := m.opts.Layout.newName(k)
	return contender.Spec{
		Dir: m.path, Name: name, Markers: lockformat.RWMarkers(), Data: m.opts.Data, ACL: m.opts.ACL, Rule: k.rule(),
		Lasting: m.opts.Layout == Kazoo,
	}, err
}

// holdLock holds the lock that c was granted.
func (m *RWMutex) holdLock(ctx context.Context, c *contender.Contender, k kind) (*Held, error) {
	hold, err := c.Hold(ctx)
	if err != nil {
		return nil, err
	}
	h := newHeld(m, k, hold, c.Node().Stat.Czxid, &heldPlace{})
	h.place.held.Store(h)
	return h, nil
}
