package locktable

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrNotHeld: the lock or the owner was released before.
	ErrNotHeld = errors.New("not held: it was released before")
	// ErrRecord: a znode's data is not a record of this version of the package,
	// or has a newer format. The error names the path; the data was left alone.
	ErrRecord = errors.New("not a record of this package")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

var errNoKeep = fmt.Errorf("%w: the function that says which locks to keep is nil", ErrInvalidArgument)

// errChanged: another client has written the znode of a held lock.
var errChanged = fmt.Errorf("%w: another client has changed its znode", session.ErrLost)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "locktable", op, path, err)
}

// goneError is the error of a transaction that has found the owner's znode gone. Release
// ends the owner first and then deletes the znode; otherwise it was deleted, and the watch
// has not told yet.
func (o *Owner) goneError() error {
	if o.ctx.Err() != nil {
		return context.Cause(o.ctx)
	}
	return holding.ErrTaken
}
