package workerctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/session"
)

var _ session.Held = (*Worker)(nil)

// releaseOp names Release in errors.
const releaseOp = "release"

// errNotLeft is the error of Leave and Fail after Release.
var errNotLeft = fmt.Errorf("the worker was %w without leaving: come back with Job.Join, and leave then", session.ErrReleased)

// Release gives the worker up without a report, under the method name common to
// everything held; see [session.Held]. The worker has neither left nor failed:
// to the other workers it has died, and the job waits until a process joins
// under its identity and leaves, or for a [Janitor]. To report the end of the
// worker's part, call Leave or Fail instead of Release.
//
// If the worker was lost before, the error wraps session.ErrLost. If ctx ends first, or
// no server answers for a session timeout (also session.ErrLost), the deletion of the
// live znode continues in the background. A second call returns the result of the first
// call, whether Release, Leave or Fail; Leave and Fail after Release return an error
// that wraps session.ErrReleased. Release takes one request.
func (w *Worker) Release(ctx context.Context) error { return w.giveUp(ctx, releaseOp, w.deleteLive) }

// deleteLive deletes the live znode, and changes nothing else.
func (w *Worker) deleteLive(ctx context.Context) error {
	// Ended first: the deletion by this worker itself must not look like a loss.
	w.hold.End(nil)
	if lost := w.hold.Err(); !errors.Is(lost, session.ErrReleased) {
		return lost
	}
	s := w.hold.Session()
	ctx, cancel := s.GiveBackContext(ctx)
	defer cancel()
	_, err := s.StartDelete(w.Path(), -1).Wait(ctx)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, session.ErrNoNode):
		return w.goneError(err) // only the worker itself deletes the node while running
	}
	return s.EnsureDeleted(ctx, w.Path())
}
