package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Result is how a task has ended.
type Result struct {
	ID string
	// State is "done", "failed", "canceled" or "dead"; see [State].
	State State
	// Output is what the handler returned, of a task that is done.
	Output []byte
	// Error is why the task is not done, as text.
	Error string
	// Attempt is the number of the last attempt, and Worker the id of the worker
	// that made it; "" if there was none.
	Attempt int
	Worker  string
	// Submitted is by the clock of who submitted, Assigned by the master's, and
	// zero if the task was not assigned at its end, Finished by that of whoever
	// finished the task.
	Submitted, Assigned, Finished time.Time

	run     string
	version int32
}

// Wait waits for the end of a task, which any process may have submitted, over
// lost connections and sessions. The error wraps ErrNoTask if there is no such
// task; a task that has failed is no error. Nothing is changed.
//
// It takes two requests, one more when the task ends, two more if it has ended
// before, and three more if there is no such task.
func (q *Queue) Wait(ctx context.Context, id string) (Result, error) {
	const op = "wait for a task of"
	out, err := q.await(ctx, id, false)
	if err != nil {
		return Result{}, failure(ctx, op, q.Path(), err)
	}
	return out, nil
}

// await waits for the end of a task; with collect, its result is removed next.
func (q *Queue) await(ctx context.Context, id string, collect bool) (out Result, err error) {
	if err := q.begin(ctx); err != nil {
		return out, err
	}
	if err := checkID(id); err != nil {
		return out, err
	}
	synced := false
	err = persist(ctx, q.client, func(s *session.Session) error {
		r := newReading(ctx)
		if synced {
			r.Synced(s.StartSync(q.task(id)))
		}
		result, task := s.StartExists(q.result(id), true), s.StartExists(q.task(id), false)
		defer optimistic.StopWatch(result)
		end, there := r.Seen(result), r.Seen(task)
		switch {
		case r.Err != nil:
			return r.Err
		case end.Exists:
			if collect {
				end.Watch.Forget()
			}
			out, err = q.readResult(ctx, s, id)
			return err
		case there.Exists:
			if _, err = end.Watch.Wait(ctx); err == nil {
				if out, err = q.readResult(ctx, s, id); errors.Is(err, optimistic.ErrChanged) {
					err = optimistic.ErrNews // the watch was a hint
				}
			}
			return err
		case synced:
			return noTask(id)
		}
		synced = true // this server may be behind
		return optimistic.ErrChanged
	})
	return out, err
}

// readResult reads a result that has been seen.
func (q *Queue) readResult(ctx context.Context, s *session.Session, id string) (Result, error) {
	data, _, err := s.Get(ctx, q.result(id))
	if errors.Is(err, session.ErrNoNode) {
		return Result{}, optimistic.ErrChanged
	}
	if err != nil {
		return Result{}, err
	}
	e, output, err := decodeResult(data)
	return Result{
		ID: e.ID, State: e.State, Output: output, Error: e.Error, Attempt: e.Attempt, Worker: e.Worker,
		Submitted: e.Submitted, Assigned: e.Assigned, Finished: e.Finished, run: e.Run, version: e.Version,
	}, err
}

// Collect is [Queue.Wait], and then removes the task with all that it has, in one
// transaction. Of several that collect a task one gets its result at least. If the
// task has ended, and ctx ends before the removal is certain, the result is
// returned with the error. It takes one request more than Wait.
func (q *Queue) Collect(ctx context.Context, id string) (Result, error) {
	const op = "collect a task of"
	for tries := 1; ; tries++ {
		out, err := q.await(ctx, id, true)
		if err != nil {
			return Result{}, failure(ctx, op, q.Path(), err)
		}
		again := false
		err = persist(ctx, q.client, func(s *session.Session) error {
			again, err = q.remove(ctx, s, out)
			return err
		})
		if err != nil {
			return out, failure(ctx, op, q.Path(), err)
		}
		if !again {
			return out, nil
		}
		if tries == maxWrites {
			return out, failure(ctx, op, q.Path(), fmt.Errorf("%w: task and result of %q do not fit together", ErrRecord, id))
		}
	}
}

// remove removes the task that has ended in out. If it is another one by now, or
// has been requeued, it is left alone; then again says that its end must be waited
// for.
func (q *Queue) remove(ctx context.Context, s *session.Session, out Result) (again bool, err error) {
	_, err = s.Txn(ctx, q.removal(out.ID, out.run, out.version)...)
	if err == nil || !conflict(err) {
		return false, err
	}
	// Somebody else has, or this very call, whose answer was lost; or it was
	// requeued.
	t, err := q.look(ctx, s, out.ID, true)
	return err == nil && t != nil && t.Run == out.run, err
}

// removal removes a task that has ended.
func (l layout) removal(id, run string, version int32) []session.Op {
	return []session.Op{
		session.DeleteOp(l.task(id), version), session.DeleteOp(l.data(id, run), -1), session.DeleteOp(l.result(id), -1),
	}
}

func noTask(id string) error { return fmt.Errorf("%w: %q", ErrNoTask, id) }
