package holding

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

// ErrTaken says that another client had deleted the znode of the hold that is released.
var ErrTaken = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// Delete deletes the znode of a hold that its owner has ended, for which nobody else
// sends a deletion; see [session.Session.EnsureDeleted]. If it is not there when it is asked
// for the first time, it had been lost, though the hold may not have known yet. While
// no server answers it ends before ctx does; see [session.Session.GiveBackContext].
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
