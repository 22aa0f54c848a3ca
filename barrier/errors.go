package barrier

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrParties: the others on the path say another number of parties.
	ErrParties = errors.New("wrong number of parties")
	// ErrRecord: the path's data is not the record of such a barrier, and was
	// left alone.
	ErrRecord = errors.New("the path belongs to something else")
	// ErrTooMany: the largest number of parties is inside already, and this party is
	// not one of them.
	ErrTooMany = errors.New("too many parties")
	// ErrNotInside: the seat was given back before.
	ErrNotInside = errors.New("not inside: the seat was given back before")
)

// errGone: the party's znode has gone, and the party was not released.
var errGone = errors.New("its znode was deleted while it waited")

// errUnknownRelease: the party's znode has gone, and its release is unknown.
var errUnknownRelease = errors.New("its znode has gone, and the path does not tell any more whether it was let through")

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "barrier", op, path, err)
}

// reportedFailure is failure, for a call that may leave an outcome unknown: an observer is
// told.
func reportedFailure(ctx context.Context, c *session.Client, op, path string, err error) error {
	return observing.Unknown(ctx, c, "barrier", path, op, failure(ctx, op, path, err))
}
