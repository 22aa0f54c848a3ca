package rebalanser

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrMode: the group at the path has another mode. It was left alone.
	ErrMode = errors.New("the group has another mode")
	// ErrNoGroup: there is no group at the path.
	ErrNoGroup = errors.New("no such group")
	// ErrInstanceInUse: another member has this instance id, and has not gone
	// within Options.InstanceWait.
	ErrInstanceInUse = errors.New("the instance id is in use")
	// ErrRunning: Run was called before, and has not returned.
	ErrRunning = errors.New("the group is running already")
	// ErrRecord is locktable.ErrRecord: a znode's data is not what this version of the
	// package writes, or has a newer format. The error names the path; the data was left
	// alone.
	ErrRecord = locktable.ErrRecord
	// ErrRevoked ends the contexts of resources that are given up gracefully.
	ErrRevoked = errors.New("revoked")
	// ErrRevokeTimeout ends the contexts of resources whose handler has not given
	// them up within Options.RevokeTimeout. They stay its own until it has.
	ErrRevokeTimeout = errors.New("not given up in time")
)

// errNodeGone: a transaction has found the client's node gone, before its watch told.
var errNodeGone = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// errDeposed: another client has written the epoch.
var errDeposed = errors.New("another client has become the coordinator")

// checkUsable is the first check of a method: wrong is the error that constructor has found
// in its arguments. A zero value, which constructor has not made, has no client and no such
// error.
func checkUsable(ctx context.Context, client *session.Client, constructor string, wrong error) error {
	switch {
	case ctx == nil:
		return fmt.Errorf("%w: the context is nil", ErrInvalidArgument)
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case wrong != nil:
		return wrong
	case client == nil:
		return fmt.Errorf("%w: it has no client: make it with %s", ErrInvalidArgument, constructor)
	}
	return nil
}

// failure names operation and path. A context's error is there for errors.Is
// beside its cause.
func failure(ctx context.Context, op, path string, err error) error {
	if ctx == nil {
		return fmt.Errorf("rebalanser: %s %s: %w", op, path, err)
	}
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("rebalanser: %s %s: %w: %w", op, path, e, err)
	}
	return fmt.Errorf("rebalanser: %s %s: %w", op, path, err)
}

// isOver reports whether a request in s has failed because s has ended, so that the caller
// can begin again in the next session.
func isOver(s *session.Session, err error) bool {
	if lost := s.Err(); lost != nil {
		return session.IsSessionLoss(lost)
	}
	return session.IsSessionLoss(err)
}
