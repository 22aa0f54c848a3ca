package workerctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
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
func (w *Worker) Release(ctx context.Context) error {
	return receiver.OrZero(w).giveUp(ctx, releaseOp, w.deleteLive)
}

// deleteLive deletes the live znode, and changes nothing else.
func (w *Worker) deleteLive(ctx context.Context) error {
	if lost := w.endHold(); lost != nil {
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

// endHold ends the hold, ahead of the requests of this worker itself: the deletion of the
// live znode must not look like a loss. The error says that the worker was lost before.
// The live znode of a session that was given up is then deleted in the next session:
// the other workers learn that this worker has stopped.
func (w *Worker) endHold() error {
	w.hold.End(nil)
	lost := w.hold.Err()
	if errors.Is(lost, session.ErrReleased) {
		return nil
	}
	w.hold.Session().EnsureRemainsDeleted(w.Path())
	return lost
}
