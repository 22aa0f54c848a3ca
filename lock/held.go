package lock

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a lock that is held. It must be given back with Unlock, also when it
// was lost.
type Held struct {
	claim  *claim
	ctx    context.Context
	cancel context.CancelCauseFunc
	forget func() bool // ends the waiting for a loss

	end holding.Release
}

// Context ends on release and on loss; context.Cause tells which:
// session.ErrReleased, or an error that wraps session.ErrLost and the reason. It
// ends before the server can give the lock to
// someone else, unless this process itself was paused; then its Err tells the
// truth as soon as the process runs again. Pass it to everything that must stop
// when the lock is lost.
func (h *Held) Context() context.Context { return h.ctx }

// Token is a fencing token: the zxid at which the contender's znode was
// created. It grows with every grant of the path at the server; who gets a lock
// handed on within a process has the same token. Whatever the lock protects can
// refuse a token below one that it has seen.
func (h *Held) Token() int64 { return h.claim.token }

// Guard is a check for a transaction, which then fails if the lock is not held
// any more: session.Txn(ctx, held.Guard(), ...). Like the token it is the same for
// all to whom the lock is handed on within a process: it does not tell them apart.
func (h *Held) Guard() session.Op { return h.claim.hold.Guard() }

// Session is the session in which the lock was won.
func (h *Held) Session() *session.Session { return h.claim.hold.Session() }

// Path is the znode that stands for the lock.
func (h *Held) Path() string { return h.claim.hold.Path() }

// Unlock gives the lock back. If it was lost before, the error says so and
// wraps session.ErrLost. If ctx ends before the
// server has confirmed, the deletion goes on in the background until the znode
// or the session is gone. A second call gets the same error, or ErrNotHeld.
func (h *Held) Unlock(ctx context.Context) error {
	return release(ctx, &h.end, h.claim.m.path, func() error {
		lost := h.claim.hold.Err()
		h.cancel(session.ErrReleased)
		if err := h.claim.unlock(ctx, h); lost == nil {
			return err
		}
		return lost
	})
}

// run runs fn for Do.
func (h *Held) run(ctx context.Context, fn func(context.Context, *Held) error) error {
	return holding.Run(ctx, h.ctx, func(ctx context.Context) error { return fn(ctx, h) }, h.Unlock)
}
