package rwlock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrBusy is returned by the Try methods when a hold or a queued contender
	// excludes the caller.
	ErrBusy = errors.New("the lock is held, or another contender waits for it")
	// ErrNotHeld: the hold to release or downgrade was released or downgraded before, or the
	// contender of a Break holds no more, or that of a Revoke has gone.
	ErrNotHeld = errors.New("not held: it was released or downgraded before")
	// ErrWithdrawn: the place in the queue was withdrawn.
	ErrWithdrawn = errors.New("the place in the queue was withdrawn")
	// ErrUpgrade: a reader asks for the lock for writing, and would wait for
	// itself. No request was sent.
	ErrUpgrade = errors.New("a read lock cannot be upgraded: its holder would wait for itself; release it and lock again")
	// ErrNested: a holder asks for the lock once more. No request was sent.
	ErrNested = errors.New("this context comes from a hold of the same lock, which is not reentrant")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "rwlock", op, path, err)
}
