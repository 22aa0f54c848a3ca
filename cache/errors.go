package cache

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
)

var (
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
	// ErrRunning: the view's Run is under way already.
	ErrRunning = errors.New("the view is running already")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "cache", op, path, err)
}
