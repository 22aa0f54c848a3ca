package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrConflict: the path has a znode that is not for this keeper to take over.
	ErrConflict = errors.New("another client has this znode")
)

// errTTL explains session.ErrUnsupported, of the creation of a TTL znode.
const errTTL = "TTL znodes need ZooKeeper servers that run with -Dzookeeper.extendedTypesEnabled=true"

// explain says what the user can do about a refused TTL znode.
func explain(err error) error {
	if errors.Is(err, session.ErrUnsupported) {
		return fmt.Errorf("%w (%s)", err, errTTL)
	}
	return err
}

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, packageName, op, path, err)
}
