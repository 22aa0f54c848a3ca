package dispatch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/usererror"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// heldTask is an assignment that a worker holds.
type heldTask struct {
	ws    *workerSession
	name  string
	token int64
	assignment
	// ctx ends when the assignment is gone, with the hold, and with the task.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// gone: the view has shown that the assignment is gone; the loop's.
	gone bool
	// kept is why no write has succeeded, though the assignment exists; nil if one has.
	kept error
	// lost is the reason why nothing was left to write: the worker or its assignment
	// was lost. unanswered: a write may have been applied, although the assignment was
	// gone when it was repeated.
	lost       error
	unanswered bool
	observed   *observedAttempt // nil without an observer

	// mu guards the next fields: release is the call of Attempt.Release, if the handler
	// made one before it returned, and returned reports that the handler has returned.
	// While neither is set, the assignment above does not change, and Run waits for the
	// handler.
	mu       sync.Mutex
	release  *release
	returned bool
}

// errGone is the cause of the end of a handler's context.
var errGone = fmt.Errorf("the assignment is %w: %w", session.ErrLost, session.ErrNodeDeleted)

// errDeadline is the cause of the end of a handler's context.
var errDeadline = fmt.Errorf("%w: the task's", context.DeadlineExceeded)

// errExit is the failure of a handler that has ended its goroutine, as t.FailNow does.
var errExit = errors.New("the handler has ended its goroutine")

// runHandler runs the handler and writes the outcome of the task.
func (h *heldTask) runHandler() {
	t := h.Task
	if !t.Deadline.IsZero() {
		timer := time.AfterFunc(h.untilDeadline(), func() { h.cancel(errDeadline) })
		defer timer.Stop()
	}
	output, err := []byte(nil), errExit
	defer func() { h.reportOutcome(output, err) }() // whatever the handler does
	output, err = h.callHandler()
}

// untilDeadline is how long the handler may run, by the servers' clock: the worker's own
// clock may be wrong.
func (h *heldTask) untilDeadline() time.Duration { return h.Task.Deadline.Sub(h.ws.clock.now()) }

// reportOutcome writes the outcome of the task, unless the handler has released the task.
func (h *heldTask) reportOutcome(output []byte, err error) {
	if h.awaitRelease() {
		return
	}
	t := h.Task
	if errors.Is(context.Cause(h.ctx), errGone) || h.ws.hold.Err() != nil {
		h.observed.lost(cmp.Or(h.ws.hold.Err(), errGone))
		return // the task belongs to another worker
	}
	h.observed.ending()
	defer h.observed.end(h)
	stopped := h.ctx.Err() != nil
	h.cancel(session.ErrReleased) // first: the view may show at once that the assignment is gone
	now := h.ws.clock.now()
	switch {
	case err == nil:
		h.writeOutcome(t.endedAs(done, "", now), output)
	case t.isLate(now):
		h.writeOutcome(t.endedAs(failed, deadlineText, now), nil)
	case errors.Is(err, ErrPermanent):
		h.writeOutcome(t.endedAs(failed, err.Error(), now), nil)
	case h.ws.stop.Err() != nil && (stopped || h.ws.about.Grace == 0):
		h.writeOutcome(t.returned(), nil)
	default:
		h.writeOutcome(t.afterFailure(err.Error(), t.backoff(), now), nil)
	}
}

// callHandler reads the payload and calls the handler.
func (h *heldTask) callHandler() (output []byte, err error) {
	t := h.Task
	r := newReading(h.ctx, h.ws.s)
	payload := h.ws.getTogether(r, h.ws.dataPath(t.ID, t.Run))
	switch {
	case r.Err != nil:
		return nil, fmt.Errorf("the payload cannot be read: %w", r.Err)
	case !payload.Exists || payloadHash(payload.Data) != t.Hash:
		return nil, errPayload
	}
	defer func() {
		if p := recover(); p != nil {
			output, err = nil, fmt.Errorf("the handler has panicked: %v", p)
		}
	}()
	a := &Attempt{
		ID: t.ID, Payload: payload.Data, Number: t.Attempt, MaxAttempts: t.MaxAttempts, Submitted: t.Submitted,
		Deadline: t.Deadline, LastFailure: t.LastFailure,
		held: h,
	}
	h.observed.beginAttempt(a)
	output, err = h.ws.handler(h.ctx, a)
	return output, usererror.Usable(err)
}

// writeOutcome writes the outcome of the task in one transaction, which also deletes the
// assignment. The transaction fails as a whole if the assignment is gone, so it is applied
// at most once, and by this worker alone. A failed write changes nothing. A write whose
// reply was lost is repeated as long as the assignment exists.
func (h *heldTask) writeOutcome(next record, output []byte) {
	ctx, ws := h.ws.hold.Context(), h.ws
	path := ws.assignmentPath(ws.id, h.name)
	replace := false
	for range maxWrites {
		void, err := h.writeOutcomeOnce(ctx, path, next, output, replace)
		h.kept = err
		at, reason := optimistic.Culprit(err)
		switch {
		case err == nil:
			if !void {
				h.reportOutcomeWritten(next)
			}
			return
		case ctx.Err() != nil:
			h.kept, h.lost = nil, context.Cause(ctx)
			return
		case at == path && errors.Is(reason, session.ErrNoNode):
			if h.kept = nil; !h.unanswered || h.wasNotWritten(ctx, next) {
				h.lost = errGone
				return
			}
			h.reportOutcomeWritten(next)
			return
		case errors.Is(err, session.ErrTooLarge) && output != nil:
			next = h.Task.endedAs(failed, fmt.Sprintf("the output has %d bytes, too many for a znode", len(output)), ws.clock.now())
			output = nil
		case errors.Is(reason, session.ErrNodeExists):
			replace = true // another client has written the result
		case errors.Is(reason, session.ErrNoNode): // a part of the task was deleted by hand
			if err := ws.repairTask(ctx, h.Task.ID); err != nil && !isConflict(err) {
				h.kept = err
				return
			}
		default:
			return
		}
	}
}

// writeOutcomeOnce writes next if the task still belongs to the assignment. If the task does
// not, or has gone, the assignment is void, and is deleted.
func (h *heldTask) writeOutcomeOnce(ctx context.Context, path string, next record, output []byte, replace bool) (deleted bool, _ error) {
	task := h.ws.taskPath(h.Task.ID)
	results, err := h.ws.applyResults(ctx, func(tx *stm.Tx) error {
		h.unanswered = h.unanswered || tx.Unanswered()
		known := stm.Node{Path: task, Exists: true, Stat: session.Stat{Version: h.Version}}
		if err := errors.Join(tx.Guard(session.CheckOp(path, -1)), tx.Assume(known)); err != nil {
			return err
		}
		now, err := tx.Get(task)
		if err != nil {
			return err
		}
		if deleted, err = h.isReplaced(now); err != nil {
			return err
		}
		if deleted {
			return tx.Delete(path)
		}
		h.Version = now.Stat.Version
		return h.editsFor(path, next, output, replace).addTo(tx, h.ws.create)
	})
	if err == nil && !deleted {
		h.ws.clock.noteWrite(h.ws.s, results[1].Stat) // of the task
	}
	return deleted, err
}

// wasNotWritten reports whether the task, read now, shows that a write of next without a
// reply was not applied: another client has ended the assignment. Later changes of the
// task, or its removal, hide that; the write is then taken for applied, as most are.
func (h *heldTask) wasNotWritten(ctx context.Context, next record) bool {
	r := newReading(ctx, h.ws.s)
	node := r.Get(h.ws.taskPath(h.Task.ID))
	switch {
	case r.Err != nil || !node.Exists:
		return false
	case node.Stat.Version == h.Version+1:
		return !bytes.Equal(node.Data, encode(next))
	}
	return node.Stat.Version <= h.Version
}

// reportOutcomeWritten reports the change of the task to next.
func (h *heldTask) reportOutcomeWritten(next record) {
	if h.ws.client.Observer() != nil {
		h.ws.reportChange(h.ws.stop, &seen{record: h.Task}, next, h.ws.clock.now())
	}
}

// isReplaced reports whether the task, if it was read, does not belong to the assignment.
func (h *heldTask) isReplaced(task stm.Node) (bool, error) {
	if task.Exists && task.Data == nil && task.Stat.Version == h.Version {
		return false, nil // as the assignment says
	}
	if !task.Exists {
		return true, nil
	}
	now, err := h.ws.decodeTask(task.Path, task.Data)
	return err == nil && now.Assignment != h.name, err
}

// maxWrites is how often a write is tried. If more than a few tries fail, the queue's
// znodes are damaged: the task then stays with the worker until the worker ends.
const maxWrites = 100

func (h *heldTask) editsFor(path string, next record, output []byte, replace bool) transaction {
	l, t := h.ws.layout, h.Task
	edits := transaction{deleteNode(path, -1), requireNode(l.dataPath(t.ID, t.Run)), setNode(l.taskPath(t.ID), encode(next), h.Version)}
	if !next.State.Finished() {
		return edits
	}
	if replace {
		edits = append(edits, deleteNode(l.resultPath(t.ID), -1))
	}
	return append(edits, createNode(l.resultPath(t.ID), encodeResult(next.toResult(h.Version+1), output)))
}
