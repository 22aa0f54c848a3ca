package stm

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrGuard: the condition of a [Tx.Guard] does not hold, usually because a lock, or
	// whatever else was held, has been lost. Nothing was written.
	ErrGuard = errors.New("guard failed")
	// ErrConflicts: other writers were faster too many times in a row; see
	// [Options.MaxConflicts]. Nothing was written.
	ErrConflicts = errors.New("too many conflicts in a row")
	// ErrVersion: the znode's data version is -1, which means "any version" to
	// ZooKeeper, so no transaction can depend on the version. The 4294967295th
	// change of a znode leads to this version, and the next change by any client
	// repairs it. Nothing was written.
	ErrVersion = errors.New("the data version is -1, on which no transaction can depend")
)

// failure adds operation and path to err.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "stm", op, path, err)
}
