package counter

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrArgument: an argument is none; nothing was sent.
	ErrArgument = errors.New("invalid argument")
	// ErrCorrupt: the znode's data is no number of the format; it was not
	// changed. Only Set replaces it.
	ErrCorrupt = errors.New("no number of this format")
	// ErrOverflow: the result does not fit the format; nothing was changed.
	ErrOverflow = errors.New("overflow")
	// ErrVersion: the znode's version is -1, which ZooKeeper takes for "any",
	// so that a change cannot be made to depend on what was read. Nothing was
	// changed. It comes to pass when another library, or a Set that does not
	// know what others have written, makes the 4294967295th change of a node
	// (changes made here step over it otherwise), and passes with the next one:
	// Set makes it.
	ErrVersion = errors.New("the version is -1, on which no change can depend")
	// ErrReused: the numbers that a Sequence reserved are not above those that
	// it has handed out before: somebody set its znode back, or deleted it.
	ErrReused = errors.New("the sequence was set back: its numbers would be handed out twice")
)

// failure names operation and path.
func failure(ctx context.Context, op, path string, err error) error {
	return holding.Failure(ctx, "counter", op, path, err)
}

// unknown says that a change may have been made, or not.
func unknown(path string, reason error) error {
	return &session.UnknownOutcomeError{Op: "change", Path: path, Reason: reason}
}
