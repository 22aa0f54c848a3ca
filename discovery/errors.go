package discovery

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

var (
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
	// ErrConflict: somebody else is registered under this name.
	ErrConflict = errors.New("somebody else has this name")
	// ErrUnregistered: it was given back by its owner.
	ErrUnregistered = errors.New("unregistered by its owner")
	// ErrMalformed: what a znode says is no instance.
	ErrMalformed = errors.New("malformed data")
)

// errPending is why something that was just asked for is not registered.
var errPending = errors.New("not registered yet")

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "discovery", op, path, err)
}
