package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// canceledText is the Result.Error of a task that was canceled.
const canceledText = "canceled by request"

// Cancel ends an unfinished task in one transaction: the task is canceled, the
// context of its handler ends, and the handler's result is refused. Canceling a
// canceled task is not an error; for a task that has ended otherwise the error
// wraps ErrState, and for a missing task ErrNoTask. If a reply was lost, and the
// task was gone before Cancel could find out, the error wraps
// session.ErrUnknownOutcome. Cancel takes two requests.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	q = receiver.OrZero(q)
	return q.cancelTask(ctx, id, canceledText)
}

// CancelBy is [Queue.Cancel] for operators: the Result.Error of the task is "canceled by ", by,
// ": " and reason, up to 1,024 bytes. by names who cancels the task; "" means the host name and
// the process id. reason is required. Each has up to 1,024 bytes of UTF-8. A task that was
// canceled already keeps its text.
func (q *Queue) CancelBy(ctx context.Context, id, by, reason string) error {
	q = receiver.OrZero(q)
	by = cmp.Or(by, processID())
	err := q.checkCall(ctx)
	if err == nil {
		err = checkReason(by, reason)
	}
	if err != nil {
		return wrapError(ctx, opCancel, q.Path(), err)
	}
	return q.cancelTask(ctx, id, "canceled by "+by+": "+reason)
}

const opCancel = "cancel a task of"

func (q *Queue) cancelTask(ctx context.Context, id, why string) error {
	call := session.NewID()
	return q.changeTask(ctx, opCancel, id, func(c *taskChange, t *seen) (transaction, error) {
		switch {
		case t.Canceled == call:
			return nil, nil // it may have been requeued since a try that was not answered
		case t.State == canceled:
			c.change = nil // by another call
			return nil, nil
		case t.State.Finished():
			return nil, fmt.Errorf("%w: %q is %s", ErrState, id, t.State)
		}
		next := t.canceledBy(call, why, time.Now())
		c.noteAttempt(t, next)
		return q.finishTask(t, next, nil), nil
	})
}

// Requeue retries a dead, failed or canceled task, in one transaction: with all its
// attempts, without its result, and without a deadline. Requeuing an unfinished task
// is not an error; for a task that is done the error wraps ErrState, and for a
// missing task ErrNoTask. A task of [Queue.SubmitUnique] takes its key again; if another
// task has the key by now, the error wraps ErrState. If a reply was lost, and the task
// was gone before Requeue could find out, the error wraps session.ErrUnknownOutcome.
// Requeue takes two requests; a unique task takes two or three more.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	q = receiver.OrZero(q)
	call := session.NewID()
	return q.changeTask(ctx, "requeue a task of", id, func(c *taskChange, t *seen) (transaction, error) {
		switch {
		case t.Requeued == call:
			return nil, nil // an unanswered try requeued it, and it may have ended again
		case !t.State.Finished():
			c.change = nil // by another call
			return nil, nil
		case t.State == done:
			return nil, fmt.Errorf("%w: %q is %s", ErrState, id, t.State)
		}
		next := t.requeuedBy(call)
		c.noteAttempt(t, next)
		return append(q.setTask(t, next), deleteNode(q.resultPath(id), -1)), c.reclaimKey(c.tx, t)
	})
}

// changeTask reads a task and commits the transaction that decide returns, on condition
// that the task has not changed; a nil transaction changes nothing. After an unanswered
// transaction the task is read again: if the transaction was applied, decide returns nil.
// If the task has gone, the outcome stays unknown, and a task that has its id by now is
// another task.
func (q *Queue) changeTask(ctx context.Context, op, id string, decide func(*taskChange, *seen) (transaction, error)) error {
	return q.reportUnknown(ctx, op, q.tryChangeTask(ctx, op, id, decide))
}

// tryChangeTask is changeTask; an outcome that stays unknown is not reported.
func (q *Queue) tryChangeTask(ctx context.Context, op, id string, decide func(*taskChange, *seen) (transaction, error)) error {
	c := &taskChange{q: q, id: id, decide: decide}
	err := q.checkCall(ctx)
	if err == nil {
		err = checkID(id)
	}
	if err == nil {
		err = c.applyChange(ctx)
	}
	if c.run != "" && errors.Is(err, ErrNoTask) {
		err = &session.UnknownOutcomeError{Op: op, Path: q.taskPath(id), Reason: errTaskGone}
	}
	if err != nil {
		return wrapError(ctx, op, q.Path(), err)
	}
	if c.change != nil {
		q.reportChange(ctx, &c.change.task, c.change.next, time.Now())
	}
	return nil
}

// errTaskGone: a write was not answered, and the task that it was about has gone.
var errTaskGone = errors.New("the task has gone meanwhile")

// taskChange is one call of changeTask.
type taskChange struct {
	q      *Queue
	id     string
	decide func(*taskChange, *seen) (transaction, error)
	tx     *stm.Tx // of the attempt
	// change is what decide has noted: nil without an observer, and if nothing changes.
	change *stateChange
	// task is the task as the last attempt has read it.
	task seen
	// run is the run of the task whose write was not answered; "" if none.
	run string
	// orphanAt is the mzxid of the task whose assignment was deleted by hand.
	orphanAt int64
}

// applyChange applies the change, and recreates deleted znodes of the task.
func (c *taskChange) applyChange(ctx context.Context) error {
	for tries := 1; ; tries++ {
		err := c.q.applyTxn(ctx, c.attemptChange)
		path, reason := optimistic.Culprit(err)
		switch t := &c.task; {
		case tries == maxWrites:
			return err
		case c.q.isDamaged(t, err):
			if err := c.q.repairTask(ctx, c.id); err != nil && !isConflict(err) {
				return err
			}
		case t.State == assigned && path == c.q.assignmentPath(t.Worker, t.Assignment) && errors.Is(reason, session.ErrNoNode):
			c.orphanAt = t.mzxid // the task is proved to be as it was read
		case t.Unique != "" && path == c.q.keyPath(t.Unique) && errors.Is(reason, session.ErrNoNode):
			if err := c.q.ensurePath(ctx, znode.Parent(path)); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

func (c *taskChange) attemptChange(tx *stm.Tx) error {
	if tx.Unanswered() && c.run == "" {
		c.run = c.task.Run
	}
	node, err := tx.Get(c.q.taskPath(c.id))
	if err != nil {
		return err
	}
	if !node.Exists {
		return noTask(c.id)
	}
	rec, err := c.q.decodeTask(node.Path, node.Data)
	if err != nil {
		return err
	}
	t := seenAs(rec, node.Stat)
	if c.run != "" && c.run != t.Run {
		return noTask(c.id) // this one is another
	}
	t.orphan = c.orphanAt == t.mzxid
	c.tx = tx
	edits, err := c.decide(c, &t)
	if err != nil {
		return err
	}
	c.task = t
	return edits.addTo(tx, c.q.create)
}

// setTask writes a task's next record, on condition that it is still the same task,
// and as it was seen.
func (l layout) setTask(t *seen, next record) transaction {
	return transaction{requireNode(l.dataPath(t.ID, t.Run)), setNode(l.taskPath(t.ID), encode(next), t.version)}
}

// freeTask is setTask, and takes the task from its worker if it has one.
func (l layout) freeTask(t *seen, next record) transaction {
	edits := l.setTask(t, next)
	if t.State == assigned && !t.orphan {
		edits = append(edits, deleteNode(l.assignmentPath(t.Worker, t.Assignment), -1))
	}
	return edits
}

// finishTask is freeTask, and writes the result of the task, which has ended in next.
func (l layout) finishTask(t *seen, next record, output []byte) transaction {
	return append(l.freeTask(t, next), createNode(l.resultPath(t.ID), encodeResult(next.toResult(t.version+1), output)))
}

// assignTask is setTask, and makes the assignment that next names.
func (l layout) assignTask(t *seen, next record) transaction {
	data := encode(assignment{Format: format, Task: next, Version: t.version + 1})
	return append(l.setTask(t, next), createNode(l.assignmentPath(next.Worker, next.Assignment), data))
}
