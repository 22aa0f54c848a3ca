package lock

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a held lock. Release it with Unlock, even after a loss.
type Held struct {
	lock   *serverLock
	ctx    context.Context
	cancel context.CancelCauseFunc
	forget func() bool // ends the waiting for a loss

	end holding.Release
}

var _ session.Held = (*Held)(nil)

// mustHold returns the lock as held at the server, and panics for a zero Held.
func (h *Held) mustHold() *serverLock {
	holding.MustBeMade(h != nil && h.lock != nil, "lock.Held", "lock.Mutex")
	return h.lock
}

// Context ends on release and on loss. context.Cause tells the cause:
// session.ErrReleased, or an error that wraps session.ErrLost and the reason.
// The context ends before the server can grant the lock to another client,
// unless this process was paused; after a pause, its Err is correct as soon as
// the process runs again. Pass the context to everything that must stop when
// the lock is lost.
func (h *Held) Context() context.Context {
	_ = h.mustHold()
	return h.ctx
}

// Token is a fencing token: the zxid at which the contender's znode was
// created. The token grows with every grant of the path at the server; a lock
// handed over within a process keeps its token. The protected resource can
// refuse a token below the highest token seen so far.
func (h *Held) Token() int64 { return h.mustHold().token }

// Guard is a check for a transaction; the transaction fails if the lock is not
// held any more: s.Txn(ctx, held.Guard(), ...). Like the token, the guard
// stays the same for a hand-over within a process, and does not distinguish
// these holders.
func (h *Held) Guard() session.Op { return h.mustHold().hold.Guard() }

// Session returns the session in which the lock was won.
func (h *Held) Session() *session.Session { return h.mustHold().hold.Session() }

// Path returns the path of the contender's znode.
func (h *Held) Path() string { return h.mustHold().hold.Path() }

// Unlock releases the lock. If the lock was lost before, the error wraps
// session.ErrLost and the reason. If ctx ends before the server has confirmed the
// release, or no server answers for a session timeout (also session.ErrLost), the
// deletion continues in the background until the znode or the session is gone.
// ctx may be the lock's own context, or derived from it: ctx does not end with
// the release (session.WithoutRelease). A second call returns the same error, or
// ErrNotHeld.
func (h *Held) Unlock(ctx context.Context) error {
	h = receiver.OrZero(h)
	if err := holding.BeginHeld(ctx, h.lock != nil, "lock.Held", "lock.Mutex", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", h.lockPath(), err)
	}
	return releaseOnce(ctx, &h.end, h.lockPath(), func(ctx context.Context) error {
		lost := h.lock.hold.Err()
		h.cancel(session.ErrReleased)
		err := h.lock.giveBack(ctx, h)
		if lost != nil {
			return lost
		}
		return err
	})
}

// Release is Unlock, under the method name common to everything held; see
// [session.Held].
func (h *Held) Release(ctx context.Context) error { return h.Unlock(ctx) }

// lockPath is the path of the Mutex, for errors.
func (h *Held) lockPath() string {
	if h.lock == nil {
		return ""
	}
	return h.lock.m.path
}

// runFunc runs fn under the lock, for Do.
func (h *Held) runFunc(ctx context.Context, fn func(context.Context, *Held) error) error {
	return holding.Run(ctx, h.ctx, h.lock.m.opts.Grace, ErrNotHeld, func(ctx context.Context) error { return fn(ctx, h) }, h.Unlock)
}
