package holding

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// ErrTaken says that another client had deleted the znode of the hold that is released.
var ErrTaken = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// Delete deletes the znode of a hold that its owner has ended, for which no other call sends
// a deletion; see [session.Session.EnsureDeleted]. If the first request finds no znode, the
// hold had been lost, possibly before the owner knew. While no server answers, Delete
// returns before ctx ends; see [session.Session.GiveBackContext].
func Delete(ctx context.Context, s *session.Session, path string) error {
	ctx, cancel := s.GiveBackContext(ctx)
	defer cancel()
	_, err := s.StartDelete(path, -1).Wait(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNoNode):
		return ErrTaken
	}
	return s.EnsureDeleted(ctx, path)
}
