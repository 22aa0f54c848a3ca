package lock

import (
	"context"
	"errors"
	"fmt"
)

var (
	// ErrBusy is what the Try methods return when somebody else has it.
	ErrBusy = errors.New("somebody else holds it")
	// ErrNotHeld: what is released was released before.
	ErrNotHeld = errors.New("not held: it was released before")
	// ErrPermits: the number of permits is not the one that the others use,
	// or more are asked for than there are.
	ErrPermits = errors.New("wrong number of permits")
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
)

// failure names operation and path. A context's error is there for errors.Is
// beside its cause.
func failure(ctx context.Context, op, path string, err error) error {
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("lock: %s %s: %w: %w", op, path, e, err)
	}
	return fmt.Errorf("lock: %s %s: %w", op, path, err)
}
