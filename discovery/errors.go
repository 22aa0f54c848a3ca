package discovery

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrConflict: another client is registered under this name.
	ErrConflict = errors.New("another client has registered this name")
	// ErrUnregistered: the owner has given the registration back.
	ErrUnregistered = errors.New("unregistered by its owner")
	// ErrMalformed: the data of a znode is not an instance.
	ErrMalformed = errors.New("malformed data")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "discovery", op, path, err)
}
