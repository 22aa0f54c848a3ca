package rwlock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/standing"
	"github.com/zkrecipes/zkrecipes/session"
)

// Place is a place in the queue of an [RWMutex], bound to one session. Give it up with
// Withdraw, or with [Held.Unlock] after the grant.
type Place struct {
	m     *RWMutex
	kind  kind
	place *standing.Place[Held]
}

// Enqueue takes a place in the queue of writers and readers, as a writer, and does not wait
// for the lock: call [Place.Await] to wait. A place whose turn has come keeps all others from
// the lock, until it is withdrawn or its Held is released, whether Await is called or not. A
// waiting writer keeps later readers out. After an error, no znode is left behind. If the
// session is lost, so is the place: then Await fails, unlike Lock, which continues at the end
// of the queue.
//
// A ctx that comes from a hold of the same lock is refused with ErrUpgrade or ErrNested.
func (m *RWMutex) Enqueue(ctx context.Context) (*Place, error) {
	m = receiver.OrZero(m)
	return m.enqueue(ctx, "enqueue", writer)
}

// REnqueue is Enqueue as a reader: a place whose turn has come keeps all writers from the
// lock.
func (m *RWMutex) REnqueue(ctx context.Context) (*Place, error) {
	m = receiver.OrZero(m)
	return m.enqueue(ctx, "enqueue for reading", reader)
}

func (m *RWMutex) enqueue(ctx context.Context, op string, k kind) (*Place, error) {
	err := m.checkCall(ctx)
	if err == nil {
		err = m.refuseNested(ctx, k)
	}
	var queue contender.Spec
	if err == nil {
		queue, err = m.queue(k)
	}
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	place, err := standing.Take(ctx, standing.Recipe[Held]{
		Client: m.client, Kind: k.observed(), Path: m.path, Withdrawn: ErrWithdrawn, Failure: failure,
		Hold: func(ctx context.Context, c *contender.Contender, waiting *observing.Wait) (*Held, error) {
			h, err := m.holdLock(ctx, c, k)
			if err == nil {
				h.observe(waiting.NewHold(h, false))
			}
			return h, err
		},
		Begin: func(h *Held) { h.observed.Begin() }, GiveBack: withdrawHeld,
	}, queue)
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	return &Place{m: m, kind: k, place: place}, nil
}

// withdrawHeld releases, for a withdrawal, the lock that h was granted, or the read lock that
// it was downgraded to. If the holder has released it before, withdrawHeld waits until it is
// gone.
func withdrawHeld(ctx context.Context, h *Held) (confirmed bool, err error) {
	if err := h.place.unlock(ctx); !errors.Is(err, ErrNotHeld) {
		return true, err
	}
	last := h.place.held.Load()
	if last.end.Confirmed() {
		return true, nil
	}
	s := last.Session()
	ctx, cancel := s.GiveBackContext(ctx)
	defer cancel()
	var errs []error
	for _, path := range last.znodes() {
		errs = append(errs, s.EnsureDeleted(ctx, path))
	}
	return true, errors.Join(errs...)
}

// mustPlace returns the place; a zero Place has none.
func (p *Place) mustPlace() *standing.Place[Held] {
	holding.MustBeMade(p != nil && p.place != nil, "rwlock.Place", "rwlock.RWMutex.Enqueue")
	return p.place
}

// checkCall is the first check of all methods with a context.
func (p *Place) checkCall(ctx context.Context, op string) error {
	err := holding.BeginHeld(ctx, p.place != nil, "rwlock.Place", "rwlock.RWMutex.Enqueue", ErrInvalidArgument)
	switch {
	case err == nil:
		return nil
	case p.m == nil:
		return failure(ctx, op, "", err)
	}
	return failure(ctx, op, p.m.path, err)
}

// Exclusive reports whether the place is a writer's.
func (p *Place) Exclusive() bool {
	_ = p.mustPlace()
	return p.kind == writer
}

// Path returns the path of the contender's znode.
func (p *Place) Path() string { return p.mustPlace().Contender().Node().Path }

// Session returns the session of the place.
func (p *Place) Session() *session.Session { return p.mustPlace().Contender().Session() }

// Watching returns the name of the contender that the place watches at present: of the
// nearest that it waits for. The name is "" before the first Await, once the lock is granted,
// and after the end of the place.
func (p *Place) Watching() string { return p.mustPlace().Watching() }

// Ahead returns the number of contenders ahead in the queue, holders included, as of one
// moment during the call. A reader may be granted the lock while other readers are ahead;
// after the first Await that has returned the Held, the number is 0. Ahead lists the queue
// with one request. If the place is lost, the error wraps session.ErrLost; after Withdraw it
// wraps ErrWithdrawn.
func (p *Place) Ahead(ctx context.Context) (int, error) {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "look ahead"); err != nil {
		return 0, err
	}
	return p.place.Ahead(ctx)
}

// Await waits until the lock is granted. If ctx ends first, the place stays, and Await can be
// called again. Once the lock is granted, and until Withdraw, every call returns the same
// Held, even if it was released, downgraded or lost.
//
// Each call that waits is a wait of its own for an observer of the client. The observer must
// not withdraw the place while it receives an observe.WaitQueued of that wait.
//
// If the place is lost, with its session or because its znode was deleted, the error wraps
// session.ErrLost: enqueue again. After Withdraw the error wraps ErrWithdrawn. A ctx that
// comes from another hold of the same lock is refused with ErrUpgrade or ErrNested.
func (p *Place) Await(ctx context.Context) (*Held, error) {
	p = receiver.OrZero(p)
	const op = "await"
	if err := p.checkCall(ctx, op); err != nil {
		return nil, err
	}
	if err := p.m.refuseNested(ctx, p.kind); err != nil && !p.place.Granted() {
		return nil, failure(ctx, op, p.m.path, err)
	}
	return p.place.Await(ctx)
}

// Withdraw gives up the place, and releases the lock if Await has returned it: after
// [Held.Downgrade], the read lock. An Await in progress ends. If Withdraw returns nil, the
// znode is gone; if ctx ends first, the deletion continues in the background until the znode
// or the session is gone. If the session is lost, or the lock was lost before, the error
// wraps session.ErrLost. A second call returns the same error, or ErrWithdrawn.
func (p *Place) Withdraw(ctx context.Context) error {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "withdraw"); err != nil {
		return err
	}
	return p.place.Withdraw(ctx)
}
