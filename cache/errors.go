package cache

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrRunning: the view is running already.
	ErrRunning = errors.New("the view is running already")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "cache", op, path, err)
}
