package election

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrNoLeader: there is no leader, whether the path exists or not.
	ErrNoLeader = errors.New("there is no leader")
	// ErrNotLeader: the leadership was given back before.
	ErrNotLeader = errors.New("not the leader: it has resigned before")
	// ErrWithdrawn: the candidacy was withdrawn.
	ErrWithdrawn = errors.New("the candidacy was withdrawn")
	// ErrPreempted: the leader makes way for a candidate with a higher priority
	// ([Options.PreemptAfter]); the cause of the end of the context of Run's function.
	ErrPreempted = errors.New("the leader makes way for a candidate with a higher priority")
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "election", op, path, err)
}
