package rwlock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

var (
	// ErrBusy is what the Try methods return when somebody is in the way.
	ErrBusy = errors.New("somebody else is in the way")
	// ErrNotHeld: what is given back, or downgraded, was given back or
	// downgraded before.
	ErrNotHeld = errors.New("not held: it was released or downgraded before")
	// ErrUpgrade: who holds the lock for reading asks for it for writing,
	// and would wait for itself. Nothing was sent.
	ErrUpgrade = errors.New("a read lock cannot be upgraded: its holder would wait for itself; release it and lock anew")
	// ErrNested: who holds the lock asks for it once more. Nothing was sent.
	ErrNested = errors.New("this context comes from a hold of the same lock, which is not reentrant")
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "rwlock", op, path, err)
}
