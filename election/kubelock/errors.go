package kubelock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrNotRunning: Create or Update was called outside of Run.
	ErrNotRunning = errors.New("not running: call it within Lock.Run")
	// ErrHeld: another candidate leads.
	ErrHeld = errors.New("another candidate leads")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "kubelock", op, path, err)
}
