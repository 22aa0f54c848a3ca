package lock

import (
	"context"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/standing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Place is a place in the queue of a [Mutex], bound to one session. Give it up with
// Withdraw, or with [Held.Unlock] after the grant.
type Place struct {
	m     *Mutex
	place *standing.Place[Held]
}

// Enqueue takes a place in the queue, and does not wait for the lock: call [Place.Await] to
// wait. A place whose turn has come keeps all others from the lock, until it is withdrawn or
// its Held is released, whether Await is called or not. After an error, no znode is left
// behind.
//
// Each place is a contender of its own at the server, in the order of arrival: it neither
// joins the goroutines that hand the lock over within this process (see
// [Options.LocalHandover]) nor waits for them. If the session is lost, so is the place: then
// Await fails, unlike Lock, which continues at the end of the queue.
func (m *Mutex) Enqueue(ctx context.Context) (*Place, error) {
	m = receiver.OrZero(m)
	const op = "enqueue"
	if err := m.checkCall(ctx); err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	queue, err := m.queue()
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	// A Mutex of its own, with the baton and without waiters: no goroutine can hand the
	// lock over to the place, and its Held hands the lock over to the server only.
	own := &Mutex{client: m.client, path: m.path, opts: m.opts, room: m.room, taken: true}
	place, err := standing.Take(ctx, standing.Recipe[Held]{
		Client: m.client, Kind: observe.Lock, Path: m.path, Withdrawn: ErrWithdrawn, Failure: failure,
		Hold: own.holdPlace, Begin: func(h *Held) { h.end.Begin() },
		GiveBack: func(ctx context.Context, h *Held) (bool, error) { return h.end.Settle(h.Unlock(ctx), ErrNotHeld) },
	}, queue)
	if err != nil {
		return nil, failure(ctx, op, m.path, err)
	}
	return &Place{m: m, place: place}, nil
}

// holdPlace holds the lock that the contender of a place was granted.
func (m *Mutex) holdPlace(ctx context.Context, c *contender.Contender, waiting *observing.Wait) (*Held, error) {
	l, err := m.holdServerLock(ctx, c)
	switch {
	case err == nil:
	case nodeGone(err): // as a transaction of LockDelay has found out
		return nil, fmt.Errorf("%w: %w", contender.ErrGone, err)
	default:
		return nil, err
	}
	h := m.bindHeld(l)
	h.end.Observe(waiting.NewHold(h, false))
	return h, nil
}

// mustPlace returns the place; a zero Place has none.
func (p *Place) mustPlace() *standing.Place[Held] {
	holding.MustBeMade(p != nil && p.place != nil, "lock.Place", "lock.Mutex.Enqueue")
	return p.place
}

// checkCall is the first check of all methods with a context.
func (p *Place) checkCall(ctx context.Context, op string) error {
	err := holding.BeginHeld(ctx, p.place != nil, "lock.Place", "lock.Mutex.Enqueue", ErrInvalidArgument)
	switch {
	case err == nil:
		return nil
	case p.m == nil:
		return failure(ctx, op, "", err)
	}
	return failure(ctx, op, p.m.path, err)
}

// Path returns the path of the contender's znode. It changes when the contender moves to
// "<path>.waiting" and back: see [Options.MaxQueue].
func (p *Place) Path() string { return p.mustPlace().Contender().Node().Path }

// Session returns the session of the place.
func (p *Place) Session() *session.Session { return p.mustPlace().Contender().Session() }

// Watching returns the name of the predecessor that the place watches at present. The name
// is "" before the first Await, once the lock is granted, and after the end of the place.
func (p *Place) Watching() string { return p.mustPlace().Watching() }

// Ahead returns the number of contenders ahead in the queue, the holder included, as of one
// moment during the call; 0 once the turn of the place has come. Ahead lists the queue with
// one request. For a place in "<path>.waiting" it also reads the znodes of all contenders. If
// the place is lost, the error wraps session.ErrLost; after Withdraw it wraps ErrWithdrawn.
func (p *Place) Ahead(ctx context.Context) (int, error) {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "look ahead"); err != nil {
		return 0, err
	}
	return p.place.Ahead(ctx)
}

// Await waits until the lock is granted. If ctx ends first, the place stays, and Await can be
// called again. Once the lock is granted, and until Withdraw, every call returns the same
// Held, even if it was released or lost.
//
// Each call that waits is a wait of its own for an observer of the client. The observer must
// not withdraw the place while it receives an observe.WaitQueued of that wait.
//
// If the place is lost, with its session or because its znode was deleted, the error wraps
// session.ErrLost: enqueue again. After Withdraw the error wraps ErrWithdrawn.
func (p *Place) Await(ctx context.Context) (*Held, error) {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "await"); err != nil {
		return nil, err
	}
	return p.place.Await(ctx)
}

// Withdraw gives up the place, and releases the lock if Await has returned it. An Await in
// progress ends. If Withdraw returns nil, the znode is gone; if ctx ends first, the deletion
// continues in the background until the znode or the session is gone. If the session is lost,
// or the lock was lost before, the error wraps session.ErrLost. A second call returns the
// same error, or ErrWithdrawn.
func (p *Place) Withdraw(ctx context.Context) error {
	p = receiver.OrZero(p)
	if err := p.checkCall(ctx, "withdraw"); err != nil {
		return err
	}
	return p.place.Withdraw(ctx)
}
