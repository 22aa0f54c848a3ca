package dispatch

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrInvalidArgument is session.ErrInvalidArgument.
	ErrInvalidArgument = session.ErrInvalidArgument
	// ErrNoTask: there is no task of this id: there never was, or it was
	// collected, or its retention is over.
	ErrNoTask = errors.New("no such task")
	// ErrConflict: a task of this id exists, with another payload.
	ErrConflict = errors.New("a task of this id has another payload")
	// ErrFull: the queue takes no more tasks at the moment. Nothing was
	// submitted.
	ErrFull = errors.New("the queue is full")
	// ErrState: the task is in a state in which this cannot be done; the error
	// names it.
	ErrState = errors.New("not in this state of the task")
	// ErrPermanent is for handlers to wrap: another attempt would fail too, so
	// none is made, and the task has failed.
	ErrPermanent = errors.New("permanent failure")
	// ErrRecord: a znode's data is not a record that this package writes. It was left
	// alone.
	ErrRecord = errors.New("not a record of this package")
)

// wrapError names operation and path. A context's error is there for errors.Is
// beside its cause.
func wrapError(ctx context.Context, op, path string, err error) error {
	if ctx == nil {
		return fmt.Errorf("dispatch: %s %s: %w", op, path, err)
	}
	if e := ctx.Err(); e != nil && !errors.Is(err, e) {
		return fmt.Errorf("dispatch: %s %s: %w: %w", op, path, e, err)
	}
	return fmt.Errorf("dispatch: %s %s: %w", op, path, err)
}

// isConflict reports whether a write failed because another client had changed a
// znode that the write depends on, or a znode has unexpected children.
func isConflict(err error) bool {
	return optimistic.Conflict(err) || errors.Is(err, session.ErrNotEmpty)
}
