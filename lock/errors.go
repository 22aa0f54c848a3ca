package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrBusy is returned by the Try methods if another contender has the lock.
	ErrBusy = errors.New("another client holds it")
	// ErrNotHeld: what is released was released before.
	ErrNotHeld = errors.New("not held: it was released before")
	// ErrWithdrawn: the place in the queue was withdrawn.
	ErrWithdrawn = errors.New("the place in the queue was withdrawn")
	// ErrPermits: the number of permits differs from the other clients' number,
	// or is out of range; then the error wraps ErrInvalidArgument, too.
	ErrPermits = errors.New("wrong number of permits")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "lock", op, path, err)
}

// releaseOnce gives a hold back, once.
func releaseOnce(ctx context.Context, end *holding.Release, path string, give func(context.Context) error) error {
	explain := func(ctx context.Context, err error) error { return failure(ctx, "release", path, err) }
	return end.Once(ctx, ErrNotHeld, explain, give)
}
