package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Result is the outcome of a task.
type Result struct {
	ID string
	// State is "done", "failed", "canceled" or "dead"; see [State].
	State State
	// Output is the handler's return value, if the task is done.
	Output []byte
	// Error says why the task is not done.
	Error string
	// Attempt is the number of the last attempt, and Worker the id of its worker;
	// "" if no attempt was made.
	Attempt int
	Worker  string
	// Submitted is measured by the submitting client's clock. Assigned is
	// measured by the servers' clock, and zero if the task was not assigned at
	// its end. Finished is measured by the servers' clock, or by the clock of the
	// client that canceled the task.
	Submitted, Assigned, Finished time.Time

	run     string
	version int32
}

// Wait waits for the end of a task of any process, over lost connections and
// sessions. The error wraps ErrNoTask if the task does not exist; a failed task
// is not an error. Wait changes nothing.
//
// Wait takes two requests, one more when the task ends, two more if the task has
// ended before, and three more if the task does not exist. While it waits, Wait
// sends two more requests after a minute, and then after twice as long each time,
// up to 16 minutes, because a task that is deleted by hand makes no event.
func (q *Queue) Wait(ctx context.Context, id string) (Result, error) {
	q = receiver.OrZero(q)
	const op = "wait for a task of"
	out, err := q.awaitResult(ctx, id, false)
	if err != nil {
		return Result{}, wrapError(ctx, op, q.Path(), err)
	}
	return out, nil
}

// awaitResult waits for the end of a task; with collect, its result is removed next.
func (q *Queue) awaitResult(ctx context.Context, id string, collect bool) (out Result, err error) {
	if err := q.checkCall(ctx); err != nil {
		return out, err
	}
	if err := checkID(id); err != nil {
		return out, err
	}
	w := &taskWait{q: q, id: id, collect: collect, pause: firstRecheck}
	err = retryConflicts(ctx, q.client, func(s *session.Session) error { return w.waitOnce(ctx, s) })
	return w.out, err
}

// A watch tells a waiting client when the result exists. No watch tells the client
// that the task was deleted, that the result was deleted before the client could read
// it, or that either was overwritten. So the client reads both again, first after
// firstRecheck, then after twice as long each time, up to lastRecheck.
const (
	firstRecheck = time.Minute
	lastRecheck  = 16 * time.Minute
)

// taskWait is a call of await.
type taskWait struct {
	q       *Queue
	id      string
	collect bool
	// unsure: there is no such task, unless the server is behind.
	unsure bool
	pause  time.Duration
	out    Result
}

// waitOnce looks for the result with a watch, and reads the task then. The result of a task
// that has ended exists, unless it was deleted by hand, or the task has ended between the
// two reads: then the watch has fired.
func (w *taskWait) waitOnce(ctx context.Context, s *session.Session) error {
	q := w.q
	r := newReading(ctx, s)
	var node, end session.Seen
	defer func() { stopWatch(end) }()
	read := func() {
		stopWatch(end) // of a read whose proof was lost
		end = session.Seen{}
		result := s.StartExists(q.resultPath(w.id), true)
		node = q.getTogether(r, q.taskPath(w.id))
		if seen := r.Collect(result); r.Err == nil {
			end = seen[0]
		}
	}
	if w.unsure {
		r.Fresh(q.taskPath(w.id), read)
	} else {
		read()
	}
	if r.Err != nil {
		return r.Err
	}
	t, err := q.decodeSeen(q.taskPath(w.id), node)
	switch {
	case err != nil:
		return err
	case end.Exists:
		if w.collect {
			end.Watch.Abandon()
		}
		return w.readResult(ctx, s, t)
	case t == nil && w.unsure:
		return noTask(w.id)
	case t == nil:
		w.unsure = true
		return optimistic.ErrChanged
	case t.State.Finished() && end.Watch.Fired():
		return optimistic.ErrNews
	case t.State.Finished():
		return w.repairTask(ctx)
	}
	limited, cancel := context.WithTimeout(ctx, w.pause)
	defer cancel()
	_, err = end.Watch.Wait(limited)
	switch {
	case limited.Err() != nil && ctx.Err() == nil:
		w.pause = min(2*w.pause, lastRecheck)
		return optimistic.ErrNews
	case err != nil:
		return err
	}
	if err = w.readResult(ctx, s, t); errors.Is(err, optimistic.ErrChanged) {
		err = optimistic.ErrNews // the watch was a hint
	}
	return err
}

// readResult reads the result of t, a task that was read before; t may be nil. A result of
// another run is newer than t, or was left behind when its task was deleted by hand.
func (w *taskWait) readResult(ctx context.Context, s *session.Session, t *seen) (err error) {
	w.out, err = w.q.readResult(ctx, s, w.id)
	if err == nil && t != nil && w.out.run != t.Run {
		return w.repairTask(ctx)
	}
	return err
}

func (w *taskWait) repairTask(ctx context.Context) error {
	w.out = Result{}
	if err := w.q.repairTask(ctx, w.id); err != nil {
		return err
	}
	return optimistic.ErrChanged
}

// readResult reads a result that has been seen.
func (q *Queue) readResult(ctx context.Context, s *session.Session, id string) (Result, error) {
	r := newReading(ctx, s)
	node := q.getTogether(r, q.resultPath(id))
	if r.Err != nil {
		return Result{}, r.Err
	}
	if !node.Exists {
		return Result{}, optimistic.ErrChanged
	}
	e, output, err := decodeResult(node.Data)
	switch {
	case err != nil:
		return Result{}, fmt.Errorf("%s: %w", q.resultPath(id), err)
	case e.State == done && e.Error != "":
		err = fmt.Errorf("%w: %q is done, but %s", ErrRecord, id, e.Error)
	}
	return Result{
		ID: e.ID, State: State(e.State), Output: output, Error: e.Error, Attempt: e.Attempt, Worker: e.Worker,
		Submitted: e.Submitted, Assigned: e.Assigned, Finished: e.Finished, run: e.Run, version: e.Version,
	}, err
}

// Collect is [Queue.Wait], and then removes the task with all that it has, in one
// transaction. If several clients collect a task, at least one of them gets its
// result. If the task has ended, and ctx ends before the removal is certain,
// Collect returns the result with the error; so it does if the output is missing
// because it was deleted by hand. Collect takes one request more than Wait.
func (q *Queue) Collect(ctx context.Context, id string) (Result, error) {
	q = receiver.OrZero(q)
	const op = "collect a task of"
	for tries := 1; ; tries++ {
		out, missing := q.awaitResult(ctx, id, true)
		if missing != nil && out.run == "" {
			return Result{}, wrapError(ctx, op, q.Path(), missing)
		}
		again, err := q.removeTask(ctx, out)
		if err == nil && !again {
			err = missing
		}
		if err != nil {
			return out, q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
		}
		if !again {
			return out, nil
		}
		if tries == maxWrites {
			return out, wrapError(ctx, op, q.Path(), fmt.Errorf("%w: task and result of %q do not fit together", ErrRecord, id))
		}
	}
}

// removeTask removes the task that has ended with out. If another task has its id by now,
// or the task was requeued, removeTask leaves it alone; again then reports that the caller
// must wait for the end of the task.
func (q *Queue) removeTask(ctx context.Context, out Result) (again bool, err error) {
	known := stm.Node{Path: q.taskPath(out.ID), Exists: true, Stat: session.Stat{Version: out.version}}
	var found struct{ damaged, deleted bool }
	for assume := true; ; assume = false {
		err = q.applyTxn(ctx, func(tx *stm.Tx) (err error) {
			again, found.damaged, found.deleted = false, false, found.deleted && tx.Unanswered()
			if assume {
				err = tx.Assume(known)
			}
			task, err2 := tx.Get(known.Path)
			if err = errors.Join(err, err2); err != nil || !task.Exists {
				return err
			}
			if task.Data != nil || task.Stat.Version != out.version { // it was read
				now, err := q.decodeTask(task.Path, task.Data)
				if err != nil || now.Run != out.run {
					return err
				}
				if again = task.Stat.Version != out.version; again {
					found.damaged = now.State.Finished() // the record was written by hand
					return nil
				}
			}
			found.deleted = true
			return q.deleteTask(out.ID, out.run, out.version).addTo(tx, q.create)
		})
		if !assume || !isConflict(err) {
			break
		}
	}
	if found.damaged || isConflict(err) { // a part of the task is missing
		again = true
		if err = q.repairTask(ctx, out.ID); isConflict(err) {
			err = nil
		}
	}
	if found.deleted && err == nil && !again {
		q.reportCollected(ctx, out)
	}
	return again, err
}

// deleteTask removes a task that has ended.
func (l layout) deleteTask(id, run string, version int32) transaction {
	return transaction{deleteNode(l.taskPath(id), version), deleteNode(l.dataPath(id, run), -1), deleteNode(l.resultPath(id), -1)}
}

func noTask(id string) error { return fmt.Errorf("%w: %q", ErrNoTask, id) }
