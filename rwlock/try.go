package rwlock

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/contender"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// checkFree looks whether a contender of kind k would be granted the lock, without
// leaving a trace; the error wraps ErrBusy if not.
func (m *RWMutex) checkFree(ctx context.Context, s *session.Session, k kind) error {
	children, _, err := s.Children(ctx, m.path)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return err
	}
	for _, e := range znode.Parse(children, lockformat.RWMarkers()...).Entries {
		if k == writer || lockformat.Writes(e.Marker) {
			return ErrBusy
		}
	}
	return nil
}

// busyUnlessGranted is ErrBusy unless c's turn has come.
func busyUnlessGranted(ctx context.Context, c *contender.Contender) error {
	ok, err := c.Granted(ctx)
	if err == nil && !ok {
		return ErrBusy
	}
	return err
}
