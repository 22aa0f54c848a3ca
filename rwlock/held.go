package rwlock

import (
	"context"
	"errors"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a lock that is held, alone or with other readers. It must be given
// back with Unlock, also when it was lost.
type Held struct {
	m     *RWMutex
	kind  kind
	hold  *session.Hold
	token int64
	place *place
	end   holding.Release
	turn  chan struct{} // cap 1: taken by a Downgrade while it runs
	heir  string        // a writer's: the znode of the reader that it may become

	// mu guards what follows. Invariants: ctx ends before a request is sent
	// that gives the lock back or downgrades it. Such requests are handed to
	// the session under mu, so that none follows once given is set.
	mu     sync.Mutex
	ctx    context.Context
	cancel context.CancelCauseFunc
	given  bool // back, or on to the reader
	// unsure: heir may be there, instead of the writer's znode. Nobody was
	// told so.
	unsure bool
}

func newHeld(m *RWMutex, k kind, hold *session.Hold, token int64, p *place) *Held {
	h := &Held{m: m, kind: k, hold: hold, token: token, place: p}
	if k == writer {
		h.turn, h.heir = make(chan struct{}, 1), m.heir(hold.Path())
	}
	h.beginLocked() // nobody else has it yet
	p.held.Store(h)
	return h
}

// beginLocked makes the context that ends with the hold.
func (h *Held) beginLocked() {
	ctx, cancel := h.hold.Derive()
	h.ctx, h.cancel = h.m.mark(ctx, h.place), cancel
}

// Context ends on release, on downgrade and on loss; context.Cause tells which:
// session.ErrReleased, or an error that wraps session.ErrLost and the reason. It
// ends before the server can give to someone else what excludes it, unless this
// process itself was paused; then its Err tells the truth as soon as the process
// runs again. Pass it to everything that must stop when the lock is lost.
func (h *Held) Context() context.Context {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.ctx
}

// Token is a fencing token: the zxid at which the contender's znode was
// created. Of two holds that exclude each other, the later one's is greater.
// Whatever the lock protects can refuse a token below one that it has seen. A
// reader that was a writer has the writer's token: it stands in that place, and
// the writer that waits behind may have queued up before the downgrade.
func (h *Held) Token() int64 { return h.token }

// Exclusive reports whether the lock is held for writing, alone.
func (h *Held) Exclusive() bool { return h.kind == writer }

// Guard is a check for a transaction, which then fails if the lock is not held
// any more: session.Txn(ctx, held.Guard(), ...). A writer's fails once it was
// downgraded.
func (h *Held) Guard() session.Op { return h.hold.Guard() }

// Session is the session in which the lock was won.
func (h *Held) Session() *session.Session { return h.hold.Session() }

// Path is the znode that stands for the lock.
func (h *Held) Path() string { return h.hold.Path() }

// Unlock gives the lock back. If it was lost before, the error says so and
// wraps session.ErrLost. If ctx ends before the server has confirmed, the
// deletion goes on in the background until the znode or the session is gone. A
// second call gets the same error, or ErrNotHeld, as does a call after
// [Held.Downgrade].
func (h *Held) Unlock(ctx context.Context) error {
	explain := func(err error) error { return failure(ctx, "unlock", h.m.path, err) }
	return h.end.Once(ctx, ErrNotHeld, explain, func() error {
		znodes, err := h.give()
		if err != nil {
			return err
		}
		if len(znodes) == 1 {
			return holding.Delete(ctx, h.Session(), znodes[0])
		}
		var errs []error
		for _, path := range znodes {
			errs = append(errs, h.Session().Discard(ctx, path))
		}
		return errors.Join(errs...)
	})
}

// give ends the hold and returns the znodes that may stand for it.
func (h *Held) give() (znodes []string, err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.given {
		return nil, ErrNotHeld
	}
	h.given = true
	lost := h.hold.Err()
	znodes = []string{h.hold.Path()}
	if h.unsure {
		// The deletion of the writer's znode may be our own work.
		lost, znodes = h.Session().Err(), append(znodes, h.heir)
	}
	h.hold.End(session.ErrReleased)
	h.cancel(session.ErrReleased)
	return znodes, lost
}

// has reports whether a znode of the hold is, or may be, in the queue.
func (h *Held) has() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return !h.given && h.Session().Err() == nil && (h.unsure || h.hold.Err() == nil)
}
