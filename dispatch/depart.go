package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// deleteAlive deletes the worker's alive node in the background. The master then deletes the
// worker's folder.
//
// After the loss of the session, the deletion gives the tasks to other workers, and to this
// one in its next session, before the servers expire the lost session. The deletion
// therefore waits until the handlers have returned.
func (ws *workerSession) deleteAlive() {
	if ws.s.Err() == nil && !errors.Is(ws.hold.Err(), session.ErrTrustRanOut) {
		optimistic.DeleteLater(ws.s, ws.alivePath(ws.id))
		return
	}
	// Waited for by Run; ends with the handlers.
	ws.handlers.Go(func() {
		ws.begun.Wait()
		optimistic.DeleteLater(ws.s, ws.alivePath(ws.id))
	})
}

// announceDraining tells the master that the worker takes no more tasks. Fields of the
// record that this version does not know are kept; garbage is replaced.
func (ws *workerSession) announceDraining(ctx context.Context) error {
	ws.profile.Draining = true
	return ws.applyTxn(ctx, func(tx *stm.Tx) error {
		node, err := tx.Get(ws.alivePath(ws.id))
		if err != nil {
			return err
		}
		next := ws.profile
		if written, err := decode[profile](node.Data); err == nil {
			next.Kept = written.Kept
		}
		return tx.Set(node.Path, encode(next))
	})
}

// endHandlers ends the contexts of all handlers after WorkerOptions.Grace, whatever the loop
// waits for by then.
func (ws *workerSession) endHandlers() (stop func() bool) {
	jobs := slices.Collect(maps.Values(ws.held))
	end := func() {
		for _, h := range jobs {
			h.cancel(context.Cause(ws.stop))
		}
	}
	if ws.about.Grace > 0 {
		return time.AfterFunc(ws.about.Grace, end).Stop
	}
	end()
	return func() bool { return false }
}

// leaveWait is how long a worker without a task, whose context has ended, waits for the
// reply of servers that seem to be reachable.
const leaveWait = time.Second

// departIfIdle leaves at once if the worker holds no task, without waiting for a server that
// cannot be reached. left is false if tasks must be given back first.
func (ws *workerSession) departIfIdle() (left bool, err error) {
	if len(ws.held) > 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ws.s.Context(), leaveWait)
	defer cancel()
	if ws.client.State().Status != session.Connected {
		cancel()
	}
	left, err = ws.deregister(ctx)
	if err != nil && ctx.Err() != nil && ws.s.Err() == nil {
		err = fmt.Errorf("%w, which is to confirm that the worker has left", session.ErrUnreachable)
	}
	return left, err
}

// leavePause is how long a worker waits if it cannot leave because its folder is not
// empty. Usually an event of the view ends the wait. An assignment that is created
// before the attempt to leave, and canceled before the view reads it, causes no event.
const leavePause = time.Second

// deregister deletes the worker's folder and its alive node in one transaction, which fails
// while the worker has an assignment. ctx is not the hold's context: that context ends with
// the node, perhaps before the reply comes.
func (ws *workerSession) deregister(ctx context.Context) (left bool, err error) {
	err = ws.applyTxn(ctx, func(tx *stm.Tx) error {
		err := tx.Delete(ws.alivePath(ws.id))
		if err == nil && !ws.junk { // otherwise the master deletes the folder
			err = tx.Delete(ws.workerPath(ws.id))
		}
		return err
	})
	switch {
	case errors.Is(err, session.ErrNotEmpty):
		return false, nil
	case isConflict(err):
		err = nil // deleted by a try whose reply was lost
	}
	return err == nil, cmp.Or(err, ws.unreturned)
}

// giveBack gives back the tasks that have not begun and that are unwanted.
func (ws *workerSession) giveBack(unwanted func(*heldTask) bool) {
	ws.queue = slices.DeleteFunc(ws.queue, func(h *heldTask) bool {
		if !unwanted(h) {
			return false
		}
		// Waited for by Run; ends with the request, or the session.
		ws.handlers.Go(func() {
			defer ws.signalEnd(h)
			h.writeOutcome(h.Task.returned(), nil)
		})
		return true
	})
}
