package rebalanser

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
	// ErrMode: the group at the path has another mode. It was left alone.
	ErrMode = errors.New("the group has another mode")
	// ErrNoGroup: there is no group at the path.
	ErrNoGroup = errors.New("no such group")
	// ErrInstanceInUse: another member has this instance id, and has not gone
	// within Options.InstanceWait.
	ErrInstanceInUse = errors.New("the instance id is in use")
	// ErrRunning: the group's Run is under way already.
	ErrRunning = errors.New("the group is running already")
	// ErrRecord: a znode's data is not what this package writes. It was left
	// alone.
	ErrRecord = errors.New("not a record of this package")
	// ErrRevoked ends the contexts of resources that are given up in order.
	ErrRevoked = errors.New("revoked")
	// ErrRevokeTimeout ends the contexts of resources whose handler has not given
	// them up within Options.RevokeTimeout. They stay its own until it has.
	ErrRevokeTimeout = errors.New("not given up in time")
)

// errNodeGone: a transaction has found the client's node gone, before its watch told.
var errNodeGone = fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted)

// errDeposed: somebody else has written the epoch.
var errDeposed = errors.New("another client has become the coordinator")

// failure names operation and path. A context's error is there for errors.Is
// beside its cause.
func failure(ctx context.Context, op, path string, err error) error {
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("rebalanser: %s %s: %w: %w", op, path, e, err)
	}
	return fmt.Errorf("rebalanser: %s %s: %w", op, path, err)
}

// over reports whether a request in s has failed since s has ended, so that it can be
// begun anew in the next session.
func over(s *session.Session, err error) bool {
	if lost := s.Err(); lost != nil {
		return session.Passing(lost)
	}
	return session.Passing(err)
}

// culprit is the operation that made a transaction fail; -1 if that is not why it
// failed.
func culprit(err error) int {
	var txn *session.TxnError
	if errors.As(err, &txn) {
		return txn.Index
	}
	return -1
}
