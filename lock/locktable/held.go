package locktable

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/session"
)

// Held is a held lock. Release it with [Held.Unlock], or many of them with [Owner.Unlock],
// even after a loss.
type Held struct {
	o       *Owner
	name    string
	version int32
	token   int64
	kept    versioned.Kept // fields of the record written by a newer version

	// Owner.mu guards the fields below. err is the reason why the lock is not
	// held any more, other than the end of the owner. ctx is made at the first
	// use: a hundred thousand unused contexts would cost more than the locks.
	err    error
	ctx    context.Context
	cancel context.CancelCauseFunc
	watch  *session.Watch
}

var _ session.Held = (*Held)(nil)

func (h *Held) mustBeMade() *Held {
	holding.MustBeMade(h != nil && h.o != nil, "locktable.Held", "locktable.Owner")
	return h
}

// Name returns the name of the lock.
func (h *Held) Name() string { return h.mustBeMade().name }

// Path returns the path of the lock's znode.
func (h *Held) Path() string { return h.mustBeMade().o.t.lockPath(h.name) }

// Owner returns the owner that holds the lock.
func (h *Held) Owner() *Owner { return h.mustBeMade().o }

// Context ends on release and on loss. context.Cause tells the cause:
// session.ErrReleased, or an error that wraps session.ErrLost and the reason.
// If the owner is lost, the context ends before the servers can let another
// client take the lock; see [Owner.Context]. If another client deletes or
// changes the znode of this lock alone, the context ends when the servers
// report the change, unless [Options.Unwatched] is set.
func (h *Held) Context() context.Context {
	o := h.mustBeMade().o
	o.mu.Lock()
	defer o.mu.Unlock()
	if h.ctx == nil {
		h.ctx, h.cancel = session.WithHolds(o.ctx)
		if h.err != nil {
			h.cancel(h.err)
		}
	}
	return h.ctx
}

// Token is a fencing token: the zxid of the transaction that took the lock.
// Locks taken in one transaction have the same token. Of two holders of a lock,
// the later one has the greater token, even if the lock was removed in between.
// The protected resource can refuse a token below the highest token seen so
// far.
func (h *Held) Token() int64 { return h.mustBeMade().token }

// Guard is one operation for a transaction: s.Txn(ctx, held.Guard(),
// ...). The transaction fails once the owner has gone, or the lock was released
// or taken away. The operation has two checks: of the owner's znode, and of the
// version of the lock's znode. The same version may occur again if the lock is
// removed and taken again while the owner exists. So the guard also fails,
// without a request, once this process knows of the release or loss.
func (h *Held) Guard() session.Op {
	o := h.mustBeMade().o
	return session.AllOf(o.hold.Guard(), o.s.CheckOp(o.t.lockPath(h.name), h.version)).While(h.Context())
}

// Unlock is [Owner.Unlock] of one lock.
func (h *Held) Unlock(ctx context.Context) error {
	h = receiver.OrZero(h)
	if err := holding.BeginHeld(ctx, h.o != nil, "locktable.Held", "locktable.Owner", ErrInvalidArgument); err != nil {
		return failure(ctx, "release", "", err)
	}
	return h.o.Unlock(ctx, h)
}

// Release is Unlock, under the method name common to everything held; see
// [session.Held].
func (h *Held) Release(ctx context.Context) error { return h.Unlock(ctx) }

// lossLocked is the reason of the loss or release; nil while held.
func (h *Held) lossLocked() error {
	if h.err == nil {
		return h.o.hold.Err()
	}
	return h.err
}

// endLocked records why the lock is not held any more. The returned function
// ends the context; call it without Owner.mu.
func (h *Held) endLocked(why error) (end func()) {
	h.err = why
	delete(h.o.held, h.name)
	cancel := h.cancel
	return func() {
		if cancel != nil {
			cancel(why)
		}
	}
}
