package optimistic

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

var (
	// ErrChanged is for the function that [Change] calls: its reads have changed
	// meanwhile, or do not fit together. The function is called again.
	ErrChanged = errors.New("it has changed meanwhile")
	// ErrNews is for the function that [Change] calls: the event that it has waited for
	// may have come, or a part of its work is done. The function is called again, and
	// all conflicts are forgotten.
	ErrNews = errors.New("there may be news")
)

// maxConflicts is after how many conflicts in a row Change gives up: each means that
// another client was faster, unless the znodes do not fit together. After many
// conflicts Change waits for a moment each time.
const maxConflicts, manyConflicts = 2_000, 500

// Change calls f with the client's present session until it succeeds, or fails for a
// reason that does not pass: over lost connections and sessions, as
// [session.Client.Retry] does, and over conflicts with others. f reads, and then writes
// on condition of its reads; so f finds out by itself the outcome of a write whose
// answer was lost.
//
// When ctx ends and a write of any call was not answered, the error wraps
// [session.ErrUnknownOutcome]. After 2,000 conflicts in a row, the later ones with
// pauses in between, it wraps misfit.
func Change(ctx context.Context, client *session.Client, misfit error, f func(s *session.Session) error) error {
	conflicts := 0
	return client.Retry(ctx, func(s *session.Session) error {
		for {
			err := f(s)
			switch {
			case errors.Is(err, ErrNews):
				conflicts = 0
			case !Conflict(err):
				return err
			default:
				conflicts++
			}
			if conflicts > maxConflicts {
				return fmt.Errorf("%w: it does not fit together: %w", misfit, err)
			}
			if err := s.BackOff(ctx, min(1, conflicts/manyConflicts)); err != nil {
				return err
			}
		}
	})
}

// Conflict reports whether a write failed because another client had changed a znode
// that the write depends on: read again.
func Conflict(err error) bool {
	if errors.Is(err, ErrChanged) {
		return true
	}
	var txn *session.TxnError
	return errors.As(err, &txn) && (errors.Is(err, session.ErrBadVersion) ||
		errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrNodeExists))
}
