package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// canceledText is the Result.Error of a task that was canceled.
const canceledText = "canceled by request"

// Cancel ends a task that is not finished, in one transaction: it is canceled, the
// context of its handler ends, and what the handler still returns is refused. A
// task that is canceled already is no error; of one that has ended otherwise the
// error wraps ErrState, of one that does not exist ErrNoTask. If an answer was lost,
// and the task has gone before that was found out, it wraps session.ErrUnknownOutcome.
// It takes two requests.
func (q *Queue) Cancel(ctx context.Context, id string) error {
	call := session.NewID()
	return q.change(ctx, "cancel a task of", id, func(t *seen) ([]session.Op, error) {
		switch {
		case t.State == canceled || t.Canceled == call:
			return nil, nil // or it was requeued since a try that was not answered
		case t.State.Finished():
			return nil, fmt.Errorf("%w: %q is %s", ErrState, id, t.State)
		}
		return q.end(t, t.canceled(call, time.Now()), nil, q.create), nil
	})
}

// Requeue has a task that is dead, failed or canceled tried anew, in one
// transaction: with all its attempts, without its result, and without a deadline.
// A task that is not finished is no error; of one that is done the error wraps
// ErrState, of one that does not exist ErrNoTask. If an answer was lost, and the task
// has gone before that was found out, it wraps session.ErrUnknownOutcome. It takes two
// requests.
func (q *Queue) Requeue(ctx context.Context, id string) error {
	call := session.NewID()
	return q.change(ctx, "requeue a task of", id, func(t *seen) ([]session.Op, error) {
		switch {
		case !t.State.Finished() || t.Requeued == call:
			return nil, nil // or it has ended anew since a try that was not answered
		case t.State == done:
			return nil, fmt.Errorf("%w: %q is %s", ErrState, id, t.State)
		}
		return append(q.set(t, t.requeued(call)), session.DeleteOp(q.result(id), -1)), nil
	})
}

// change reads a task and writes what decide makes of it, on condition that it
// stays the same; nothing if that is nothing. What has become of a transaction
// that was not answered shows in the task: decide then has nothing to do. If that task
// has gone, nothing shows it any more, and one that has its id since is another.
func (q *Queue) change(ctx context.Context, op, id string, decide func(*seen) ([]session.Op, error)) error {
	c := &changing{q: q, id: id, decide: decide}
	err := q.begin(ctx)
	if err == nil {
		err = checkID(id)
	}
	if err == nil {
		err = persist(ctx, q.client, func(s *session.Session) error {
			// What is written is safe with an old view; a verdict without a write
			// needs a new one.
			err := c.try(ctx, s, false)
			if errors.Is(err, errVerdict) {
				err = c.try(ctx, s, true)
			}
			return err
		})
	}
	if c.run != "" && errors.Is(err, ErrNoTask) {
		err = &session.UnknownOutcomeError{Op: op, Path: q.task(id), Reason: errTaskGone}
	}
	if err != nil {
		return failure(ctx, op, q.Path(), err)
	}
	return nil
}

// errVerdict: a view that may be old leads to no write.
var errVerdict = errors.New("not certain")

// errTaskGone: a write was not answered, and the task that it was about has gone.
var errTaskGone = errors.New("the task has gone meanwhile")

// changing is a call of change.
type changing struct {
	q      *Queue
	id     string
	decide func(*seen) ([]session.Op, error)
	// run is that of the task of which a write was not answered; "" if none.
	run string
}

func (c *changing) try(ctx context.Context, s *session.Session, surely bool) error {
	q := c.q
	t, err := q.look(ctx, s, c.id, surely)
	switch {
	case err != nil:
		return err
	case t == nil:
		return noTask(c.id)
	case c.run != "" && c.run != t.Run && !surely:
		return errVerdict
	case c.run != "" && c.run != t.Run:
		return noTask(c.id) // this one is another
	}
	ops, err := c.decide(t)
	switch {
	case (err != nil || len(ops) == 0) && !surely:
		return errVerdict
	case err != nil || len(ops) == 0:
		return err
	}
	err = c.write(ctx, s, t, ops)
	switch at, reason := culprit(err); {
	case conflict(err) && !surely:
		return errVerdict // maybe only the view was old
	case t.State != assigned || at != q.assignment(t.Worker, t.Assignment) || !errors.Is(reason, session.ErrNoNode):
		return err
	}
	// If the task is still as it was, somebody has deleted its assignment by hand.
	now, e := q.look(ctx, s, c.id, true)
	if e != nil || now == nil || now.mzxid != t.mzxid {
		return errors.Join(err, e)
	}
	now.orphan = true
	if ops, err = c.decide(now); err == nil {
		err = c.write(ctx, s, now, ops)
	}
	return err
}

// write notes of which task a write was not answered.
func (c *changing) write(ctx context.Context, s *session.Session, t *seen, ops []session.Op) error {
	_, err := s.Txn(ctx, ops...)
	if errors.Is(err, session.ErrUnknownOutcome) {
		c.run = t.Run
	}
	return err
}

// set writes a task's next record, on condition that it is still the same task,
// and as it was seen.
func (l layout) set(t *seen, next record) []session.Op {
	return []session.Op{
		session.CheckOp(l.data(t.ID, t.Run), -1),
		session.SetOp(l.task(t.ID), encode(next), t.version),
	}
}

// free is set, and takes the task from its worker if it has one.
func (l layout) free(t *seen, next record) []session.Op {
	ops := l.set(t, next)
	if t.State == assigned && !t.orphan {
		ops = append(ops, session.DeleteOp(l.assignment(t.Worker, t.Assignment), -1))
	}
	return ops
}

// end is free, and writes the result of the task, which has ended in next.
func (l layout) end(t *seen, next record, output []byte, create *session.CreateOptions) []session.Op {
	return append(l.free(t, next),
		session.CreateOp(l.result(t.ID), encodeResult(next.ending(t.version+1), output), session.Persistent, create))
}

// give is set, and makes the assignment that next names.
func (l layout) give(t *seen, next record, create *session.CreateOptions) []session.Op {
	data := encode(assignment{Format: format, Task: next, Version: t.version + 1})
	return append(l.set(t, next),
		session.CreateOp(l.assignment(next.Worker, next.Assignment), data, session.Persistent, create))
}
