package counter

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrCorrupt: the znode's data is not a number of the format; the data was not
	// changed. Only Set replaces it.
	ErrCorrupt = errors.New("no number of this format")
	// ErrDeleted: the znode of a [Latch] was deleted while a caller waited for its count to
	// be 0.
	ErrDeleted = errors.New("deleted while its count was awaited; it may have been 0 before")
	// ErrOverflow: the result does not fit the format; nothing was changed.
	ErrOverflow = errors.New("overflow")
	// ErrVersion: the znode's version is -1, which means "any" to ZooKeeper, so
	// a change cannot depend on the value read. Nothing was changed. The version
	// becomes -1 when another library, or a Set without knowledge of the last
	// value, makes the 4294967295th change of a node (other changes of this
	// package step over -1). The next change ends the state: call Set.
	ErrVersion = batchwrite.ErrVersion
	// ErrReused: the numbers reserved by a Sequence are not above the numbers
	// handed out before: another client set its znode back, or deleted it.
	ErrReused = errors.New("the sequence was set back: its numbers would be handed out twice")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "counter", op, path, err)
}
