package rwlock

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// RWMutex is a lock that any number of readers hold together, or one writer
// alone, among all processes that use its path. Every call of a method that
// locks contends for itself: goroutines that share an RWMutex have the same
// order among themselves as among processes.
//
// Rejected: to hand a read lock on among the goroutines of a process, as
// lock.Mutex does with its lock. Who joins a reader that holds already has
// passed every writer that queues behind that reader, and a process whose
// readers overlap without end would keep all writers out.
type RWMutex struct {
	client *session.Client
	path   string
	opts   Options
	err    error // what is wrong with the arguments
}

// New makes a lock on path, whose children are the contenders. It does nothing
// yet; a wrong argument is reported by the first call of a method. o may be
// nil.
func New(client *session.Client, path string, o *Options) *RWMutex {
	m := &RWMutex{client: client, path: path}
	m.opts, m.err = o.withDefaults()
	if m.err == nil {
		m.err = session.ValidatePath(path)
	}
	if m.err == nil && path == "/" {
		m.err = fmt.Errorf("%w: the path is the root, whose children are no contenders", ErrArgument)
	}
	if m.err != nil && !errors.Is(m.err, ErrArgument) {
		m.err = fmt.Errorf("%w: path: %w", ErrArgument, m.err)
	}
	if m.err == nil && client == nil {
		m.err = fmt.Errorf("%w: the client is nil", ErrArgument)
	}
	return m
}

// Path is the path that the lock was made with.
func (m *RWMutex) Path() string { return m.path }

// Lock waits until it holds the lock alone. ctx bounds the wait, not the hold;
// when it ends, no znode is left behind. A session that is lost during the wait
// costs the place in the queue: Lock goes on in the next session.
//
// A ctx that comes from a hold of the same lock is refused with ErrUpgrade or
// ErrNested.
func (m *RWMutex) Lock(ctx context.Context) (*Held, error) {
	return m.take(ctx, "lock", writer, false)
}

// RLock waits until it holds the lock together with other readers; see
// [RWMutex.Lock]. Nobody passes a writer that came before.
func (m *RWMutex) RLock(ctx context.Context) (*Held, error) {
	return m.take(ctx, "read lock", reader, false)
}

// TryLock takes the lock if nobody holds it or waits for it; otherwise the
// error wraps ErrBusy. ctx bounds the call.
func (m *RWMutex) TryLock(ctx context.Context) (*Held, error) {
	return m.take(ctx, "try to lock", writer, true)
}

// TryRLock takes the lock together with other readers if no writer holds it or
// waits for it; otherwise the error wraps ErrBusy. ctx bounds the call.
func (m *RWMutex) TryRLock(ctx context.Context) (*Held, error) {
	return m.take(ctx, "try to read lock", reader, true)
}

// Do runs fn while it holds the lock alone. fn's context has ctx's values and
// ends when ctx, or the hold, does; Do waits for fn before it releases what fn
// has then: after [Held.Downgrade], the lock that it was downgraded to. The
// error is fn's, joined with what went wrong with the lock: if it was lost
// while fn ran, errors.Is(err, session.ErrLost) holds. If ctx has ended by then,
// Do does not wait for the server to confirm the release, which goes on in the
// background.
func (m *RWMutex) Do(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	return m.run(ctx, m.Lock, fn)
}

// RDo is Do with the lock held together with other readers.
func (m *RWMutex) RDo(ctx context.Context, fn func(ctx context.Context, held *Held) error) error {
	return m.run(ctx, m.RLock, fn)
}

func (m *RWMutex) run(ctx context.Context, lock func(context.Context) (*Held, error), fn func(context.Context, *Held) error) error {
	if err := m.begin(ctx); err == nil && fn == nil {
		return failure(ctx, "do", m.path, fmt.Errorf("%w: fn is nil", ErrArgument))
	}
	held, err := lock(ctx)
	if err != nil {
		return err
	}
	return holding.Run(m.mark(ctx, held.place), held.Context(),
		func(ctx context.Context) error { return fn(ctx, held) }, held.place.unlock)
}

func (m *RWMutex) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return m.err
}

// take contends until it has the lock, or, with try, until it knows whether it
// can have it at once.
func (m *RWMutex) take(ctx context.Context, op string, k kind, try bool) (*Held, error) {
	err := m.begin(ctx)
	if err == nil {
		err = m.nested(ctx, k)
	}
	for err == nil {
		var s *session.Session
		if s, err = m.client.Session(ctx); err != nil {
			break
		}
		var h *Held
		if h, err = m.contend(ctx, s, k, try); err == nil {
			return h, nil
		}
		if ctx.Err() == nil && (s.Err() != nil || errors.Is(err, contender.ErrGone)) {
			err = nil // the node is gone: queue up again, in the next session if this one is lost
		}
	}
	return nil, failure(ctx, op, m.path, err)
}

// contend queues up once; it leaves nothing behind when it fails.
func (m *RWMutex) contend(ctx context.Context, s *session.Session, k kind, try bool) (*Held, error) {
	if try {
		if err := m.free(ctx, s, k); err != nil {
			return nil, err
		}
	}
	name, err := m.opts.Layout.name(k)
	if err != nil {
		return nil, err
	}
	c, err := contender.Enter(ctx, s, contender.Spec{
		Dir: m.path, Name: name, Markers: markers(), Data: m.opts.Data, ACL: m.opts.ACL, Rule: k.rule(),
	})
	if err != nil {
		return nil, err
	}
	if try {
		err = granted(ctx, c)
	} else {
		err = c.Await(ctx)
	}
	var hold *session.Hold
	if err == nil {
		hold, err = c.Hold(ctx)
	}
	if err != nil {
		c.LeaveBehind()
		return nil, err
	}
	return newHeld(m, k, hold, c.Node().Stat.Czxid, &place{}), nil
}
