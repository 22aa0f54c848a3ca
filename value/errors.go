package value

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/batchwrite"
	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrVersion: the znode's version is -1, which means "any" to ZooKeeper, so
	// a change cannot depend on the data read. Nothing was changed. The version
	// becomes -1 when another library, or a Set without knowledge of the last
	// data, makes the 4294967295th change of a znode (other changes of this
	// package step over -1). The next change ends the state: call Set.
	ErrVersion = batchwrite.ErrVersion
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "value", op, path, err)
}
