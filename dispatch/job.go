package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// job is an assignment in the hands of a worker.
type job struct {
	sh    *shift
	name  string
	token int64
	assignment
	// ctx ends when the assignment is gone, with the hold, and with the job.
	ctx    context.Context
	cancel context.CancelCauseFunc
	// gone: the view has shown that the assignment is gone; the loop's.
	gone bool
	// left: no write has succeeded, though the assignment is there.
	left bool
}

// errDeadline is the cause of the end of a handler's context.
var errDeadline = fmt.Errorf("%w: the task's", context.DeadlineExceeded)

// errExit is the failure of a handler that has ended its goroutine, as t.FailNow does.
var errExit = errors.New("the handler has ended its goroutine")

// run runs the handler and writes what has become of the task.
func (j *job) run() {
	t := j.Task
	if !t.Deadline.IsZero() {
		timer := time.AfterFunc(time.Until(t.Deadline), func() { j.cancel(errDeadline) })
		defer timer.Stop()
	}
	output, err := []byte(nil), errExit
	defer func() { j.report(output, err) }() // whatever the handler does
	output, err = j.attempt()
}

// report writes what has become of the task.
func (j *job) report(output []byte, err error) {
	t := j.Task
	if errors.Is(context.Cause(j.ctx), errGone) || j.sh.hold.Err() != nil {
		return // it is somebody else's
	}
	now := time.Now()
	switch {
	case err == nil:
		j.write(t.ended(done, "", now), output)
	case t.late(now):
		j.write(t.ended(failed, deadlineText, now), nil)
	case errors.Is(err, ErrPermanent):
		j.write(t.ended(failed, err.Error(), now), nil)
	case j.sh.stop.Err() != nil:
		j.write(t.returned(), nil)
	default:
		j.write(t.attempted(err.Error(), t.backoff(), now), nil)
	}
}

// attempt reads the payload and calls the handler.
func (j *job) attempt() (output []byte, err error) {
	t := j.Task
	payload, _, err := j.sh.s.Get(j.ctx, j.sh.data(t.ID, t.Run))
	if err != nil {
		return nil, fmt.Errorf("the payload cannot be read: %w", err)
	}
	defer func() {
		if p := recover(); p != nil {
			output, err = nil, fmt.Errorf("the handler has panicked: %v", p)
		}
	}()
	return j.sh.handler(j.ctx, &Attempt{
		ID: t.ID, Payload: payload, Number: t.Attempt, MaxAttempts: t.MaxAttempts, Submitted: t.Submitted,
		Deadline: t.Deadline, LastFailure: t.LastFailure,
		path: j.sh.assignment(j.sh.id, j.name), token: j.token, s: j.sh.s,
	})
}

// write ends the assignment, and writes what comes after it, in one transaction,
// whose first operation deletes the assignment: nobody else can do that too, and
// nothing of it happens if it is gone. A failed write changes nothing, and one whose
// answer was lost is repeated as long as the assignment is there.
func (j *job) write(next record, output []byte) {
	ctx, sh := j.sh.hold.Context(), j.sh
	path := sh.assignment(sh.id, j.name)
	replace := false
	j.left = true
	for range maxWrites {
		err := sh.s.Retry(ctx, func() error {
			_, err := sh.s.Txn(ctx, j.ops(path, next, output, replace)...)
			return err
		})
		at, reason := culprit(err)
		switch {
		case err == nil, ctx.Err() != nil, at == path && errors.Is(reason, session.ErrNoNode):
			j.left = false
			return
		case errors.Is(err, session.ErrTooLarge) && output != nil:
			next = j.Task.ended(failed, fmt.Sprintf("the output has %d bytes, too many for a znode", len(output)), time.Now())
			output = nil
		case errors.Is(reason, session.ErrNodeExists):
			replace = true // a result that nobody of us has written
		case errors.Is(reason, session.ErrNoNode) && at == sh.result(j.Task.ID):
			if sh.makeBucket(ctx, sh.s, j.Task.ID) != nil {
				return
			}
		case errors.Is(reason, session.ErrBadVersion):
			// Somebody has written the task's record by hand.
			t, err := sh.look(ctx, sh.s, j.Task.ID, true)
			if err != nil || t == nil || t.Assignment != j.name {
				return
			}
			j.Version = t.version
		default:
			return
		}
	}
}

// maxWrites is how often a write is tried. More than a few means that something is
// there that cannot be: the task stays with the worker then, until that ends.
const maxWrites = 100

func (j *job) ops(path string, next record, output []byte, replace bool) []session.Op {
	l, t := j.sh.layout, j.Task
	ops := []session.Op{
		session.DeleteOp(path, -1),
		session.CheckOp(l.data(t.ID, t.Run), -1),
		session.SetOp(l.task(t.ID), encode(next), j.Version),
	}
	if !next.State.Finished() {
		return ops
	}
	if replace {
		ops = append(ops, session.DeleteOp(l.result(t.ID), -1))
	}
	return append(ops, session.CreateOp(l.result(t.ID), encodeResult(next.ending(j.Version+1), output), session.Persistent, j.sh.create))
}
