package rwlock

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a held lock, for reading or writing. Release it with Unlock, even after
// a loss.
type Held struct {
	m     *RWMutex
	kind  kind
	hold  *session.Hold
	token int64
	place *heldPlace
	end   holding.Release
	// observed reports the hold; set by observe.
	observed *observing.Hold
	turn     chan struct{} // cap 1: taken by a Downgrade while it runs
	heir     string        // a writer's: the znode of the reader that it may become

	// mu guards the fields below. Invariants: ctx ends before a request is sent
	// that gives the lock back or downgrades it. Such requests are handed to
	// the session under mu, so that none follows once given is set.
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	given  bool // back, or on to the reader
	// unsure says that heir may exist instead of the writer's znode. No caller
	// was told so.
	unsure bool
}

var _ session.Held = (*Held)(nil)

// newHeld makes a hold with the place p. No other goroutine has the hold before the caller
// sets p.held.
func newHeld(m *RWMutex, k kind, hold *session.Hold, token int64, p *heldPlace) *Held {
	h := &Held{m: m, kind: k, hold: hold, token: token, place: p}
	if k == writer {
		h.turn, h.heir = make(chan struct{}, 1), m.readerName(hold.Path())
	}
	h.startLocked() // no other goroutine has h yet
	return h
}

// observe has o report the hold. No other goroutine has h yet.
func (h *Held) observe(o *observing.Hold) {
	h.observed = o
	h.end.Observe(o)
}

// startLocked makes the context that ends with the hold.
func (h *Held) startLocked() {
	ctx, cancel := h.hold.Derive()
	h.ctx, h.cancel = h.m.withMark(ctx, h.place), cancel
}

// mustHold is the znode's hold; a zero Held has none.
func (h *Held) mustHold() *session.Hold {
	holding.MustBeMade(h != nil && h.hold != nil, "rwlock.Held", "rwlock.RWMutex")
	return h.hold
}

// checkCall is the first check of Unlock and Downgrade.
func (h *Held) checkCall(ctx context.Context, op string) error {
	err := holding.BeginHeld(ctx, h.hold != nil, "rwlock.Held", "rwlock.RWMutex", ErrInvalidArgument)
	switch {
	case err == nil:
		return nil
	case h.m == nil:
		return failure(ctx, op, "", err)
	}
	return failure(ctx, op, h.m.path, err)
}

// Context ends on release, on downgrade and on loss, and context.Cause tells
// which: session.ErrReleased, or an error that wraps session.ErrLost and the
// reason. The context ends before the server can grant an excluded contender the
// lock, unless this process was paused; after a pause, its Err is correct as soon
// as the process runs again. Pass the context to everything that must stop when
// the lock is lost.
func (h *Held) Context() context.Context {
	_ = h.mustHold()
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx
}

// Token is a fencing token: the zxid at which the contender's znode was created.
// Of two holds that exclude each other, the later hold has the greater token. The
// protected resource can refuse a token below the highest that it has seen. A
// reader that was a writer has the writer's token: the reader has the writer's
// place, and the next writer may have joined the queue before the downgrade.
func (h *Held) Token() int64 {
	_ = h.mustHold()
	return h.token
}

// Exclusive reports whether the lock is held for writing.
func (h *Held) Exclusive() bool {
	_ = h.mustHold()
	return h.kind == writer
}

// Guard is a check for a transaction, which fails if the lock is not held any
// more: s.Txn(ctx, held.Guard(), ...). A writer's guard fails after a
// downgrade.
func (h *Held) Guard() session.Op { return h.mustHold().Guard() }

// Session returns the session in which the lock was won.
func (h *Held) Session() *session.Session { return h.mustHold().Session() }

// Path returns the path of the contender's znode.
func (h *Held) Path() string { return h.mustHold().Path() }

// Unlock releases the lock. If the lock was lost before, the error wraps
// session.ErrLost and the reason. If ctx ends before the server has confirmed the
// release, or no server answers for a session timeout (also session.ErrLost), the
// deletion continues in the background until the znode or the session is gone. A
// second call, and a call after [Held.Downgrade], returns the same error, or
// ErrNotHeld.
func (h *Held) Unlock(ctx context.Context) error {
	h = receiver.OrZero(h)
	if err := h.checkCall(ctx, "unlock"); err != nil {
		return err
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, "unlock", h.m.path, err) }
	return h.end.Once(ctx, ErrNotHeld, explain, func(ctx context.Context) error {
		znodes, err := h.giveBack()
		if err != nil {
			for _, path := range znodes {
				h.Session().EnsureRemainsDeleted(path)
			}
			return err
		}
		if len(znodes) == 1 {
			return holding.Delete(ctx, h.Session(), znodes[0])
		}
		ctx, cancel := h.Session().GiveBackContext(ctx)
		defer cancel()
		var errs []error
		for _, path := range znodes {
			errs = append(errs, h.Session().EnsureDeleted(ctx, path))
		}
		return errors.Join(errs...)
	})
}

// Release is Unlock, by the name that everything held shares; see [session.Held].
func (h *Held) Release(ctx context.Context) error { return h.Unlock(ctx) }

// giveBack ends the hold and returns the znodes that may stand for it.
func (h *Held) giveBack() (znodes []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		return nil, ErrNotHeld
	}
	h.given = true
	lost := h.hold.Err()
	if h.unsure {
		// The deletion of the writer's znode may be our own work.
		lost = h.Session().Err()
	}
	znodes = h.znodesLocked()
	h.hold.End(session.ErrReleased)
	h.cancel(session.ErrReleased)
	return znodes, lost
}

// znodesLocked are the znodes that may stand for the hold.
func (h *Held) znodesLocked() []string {
	if h.unsure {
		return []string{h.hold.Path(), h.heir}
	}
	return []string{h.hold.Path()}
}

// znodes are the znodes that may stand for the hold.
func (h *Held) znodes() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.znodesLocked()
}

// isHeld reports whether a znode of the hold is, or may be, in the queue.
func (h *Held) isHeld() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.given && h.Session().Err() == nil && (h.unsure || h.hold.Err() == nil)
}
