package lock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrBusy is what the Try methods return when somebody else has it.
	ErrBusy = errors.New("somebody else holds it")
	// ErrNotHeld: what is released was released before.
	ErrNotHeld = errors.New("not held: it was released before")
	// ErrPermits: the number of permits is not the one that the others use,
	// or more are asked for than there are.
	ErrPermits = errors.New("wrong number of permits")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "lock", op, path, err)
}

// release gives back what end stands for, once.
func release(ctx context.Context, end *holding.Release, path string, give func(context.Context) error) error {
	explain := func(ctx context.Context, err error) error { return failure(ctx, "release", path, err) }
	return end.Once(ctx, ErrNotHeld, explain, give)
}
