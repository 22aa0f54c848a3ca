package workerctl

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/jobformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// WaitAll waits until all ids of the job are assigned: until all its workers
// have joined, even if some have ended since. WaitAll waits for at most
// Options.JoinWait. Then, and when ctx ends by its deadline, the error is a
// [MissingError], unless the client has no connection; an unresponsive server
// may delay the error by a second. With Options.FailFast, WaitAll ends as soon
// as a worker has died or failed: the error is a MissingError that does not
// wrap context.DeadlineExceeded. The error wraps ErrOver if the job was killed
// or abandoned before, or if the record of its outcome is gone. All workers of
// a job that has finished or failed had joined.
//
// Only the last worker that joins wakes the waiting processes.
func (j *Job) WaitAll(ctx context.Context) error {
	j = receiver.OrZero(j)
	const op = "wait for the workers of"
	if err := j.checkCall(ctx); err != nil {
		return wrapError(ctx, op, j.Path(), err)
	}
	waiting := j.beginWait(ctx, observe.Barrier)
	err := j.awaitWorkers(ctx)
	if err != nil {
		err = wrapError(ctx, op, j.Path(), err)
	}
	waiting.End(err)
	return err
}

// awaitWorkers is WaitAll after the check of its arguments.
func (j *Job) awaitWorkers(ctx context.Context) error {
	limited, cancel := limitContext(ctx, j.opts.JoinWait)
	defer cancel()
	err := j.orFault(limited, j.awaitFull)
	if err == nil {
		return nil
	}
	var faulty *MissingError
	switch {
	case errors.As(err, &faulty):
	case errors.Is(err, ErrOver):
		// A client with slow answers may see only the end of the job.
		if out, e := j.readOutcome(limited); e == nil && out.State.isComplete() {
			return nil
		}
	case errors.Is(limited.Err(), context.DeadlineExceeded):
		err = j.missingError(ctx, err, func(ctx context.Context, st status) ([]int, error) {
			return idsFrom(st.Next, st.Workers), nil
		})
	}
	return err
}

// limitContext is ctx for at most d; negative: ctx.
func limitContext(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// awaitNode waits until a child of the run exists.
func (j *Job) awaitNode(ctx context.Context, elems ...string) error {
	return retryConflicts(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx, s)
		r.Sync(j.run.statePath())
		child, size := s.StartExists(j.run.at(elems...), true), s.StartExists(j.run.at(jobformat.NodeSize), true)
		defer optimistic.StopWatch(child)
		defer optimistic.StopWatch(size)
		st, _ := r.readStatus(j)
		at, of := r.Seen(child), r.Seen(size)
		switch {
		case at.Exists:
			return nil
		case r.Err != nil:
			return r.Err
		case st.State.Over():
			return ErrOver
		}
		return firstOf(ctx, at.Watch, of.Watch)
	})
}

// awaitFull waits until all ids are given out. The status decides, not the
// znode that wakes the waiting callers: this znode may have been deleted by
// hand.
func (j *Job) awaitFull(ctx context.Context) error {
	return j.awaitStatus(ctx, status.isFull, jobformat.NodeFull, jobformat.NodeSize)
}

// awaitOver waits until the job is over, and says so.
func (j *Job) awaitOver(ctx context.Context) error {
	return j.awaitStatus(ctx, func(status) bool { return false }, jobformat.NodeSize)
}

// awaitStatus waits until enough is true for the status; ErrOver if the job is
// over. The status is read again whenever one of nodes changes, is created or
// is deleted. Each read is fresh, so the first sufficient status ends the wait.
func (j *Job) awaitStatus(ctx context.Context, enough func(status) bool, nodes ...string) error {
	return optimistic.Change(ctx, j.client, ErrRecord, func(s *session.Session) error {
		var reads []*session.Future[session.Seen]
		stop := func() {
			for _, read := range reads {
				optimistic.StopWatch(read)
			}
		}
		defer func() { stop() }()
		var watches []*session.Watch
		var st status
		err := optimistic.ReadFresh(ctx, s, "/", isNegative, func() error {
			stop() // of the last call
			reads, watches = nil, nil
			for _, name := range nodes {
				reads = append(reads, s.StartExists(j.run.at(name), true))
			}
			r := newReading(ctx, s)
			st, _ = r.readStatus(j)
			for _, read := range reads {
				watches = append(watches, r.Seen(read).Watch)
			}
			return r.Err
		})
		switch {
		case err != nil:
			return err
		case enough(st):
			return nil
		case st.State.Over():
			return ErrOver
		}
		return firstOf(ctx, watches...)
	})
}

// firstOf waits until one of the watches has fired; the caller must then read
// everything again.
func firstOf(ctx context.Context, watches ...*session.Watch) error {
	fired := make(chan struct{}, len(watches))
	for _, w := range watches {
		w.OnFire(func(session.Event) { fired <- struct{}{} })
	}
	select {
	case <-fired:
		return optimistic.ErrNews
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// patience bounds the time after the end of its context that a call may take to
// find the missing workers, if servers seem reachable.
const patience = time.Second

// missingError is the error of a wait that has taken too long. findMissing returns the
// workers that did not arrive. If findMissing does not return in time, or the client has
// no connection, missingError returns reason alone. If the status of the job was deleted
// or overwritten by hand, the error says so.
func (j *Job) missingError(ctx context.Context, reason error, findMissing func(ctx context.Context, st status) ([]int, error)) error {
	if j.client.State().Status != session.Connected {
		return reason
	}
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	st, err := j.currentStatus(over)
	if errors.Is(err, ErrOver) {
		_, err = j.readOutcome(over) // ErrOver again if the status was deleted by hand
	}
	switch {
	case errors.Is(err, ErrOver), errors.Is(err, ErrRecord):
		return fmt.Errorf("%w: %w", err, reason)
	case err != nil || st.Workers == 0:
		return reason
	}
	ids, err := findMissing(over, st)
	if err != nil || len(ids) == 0 {
		return reason
	}
	out := &MissingError{IDs: ids, Workers: st.Workers, Reason: reason}
	_ = j.classifyMissing(over, out) // details not found out in time are left out
	return out
}

// currentStatus reads how the job stands.
func (j *Job) currentStatus(ctx context.Context) (st status, err error) {
	err = readFresh(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx, s)
		st, _ = r.readStatus(j)
		return r.Err
	})
	return st, err
}

// idsFrom are the ids from the first number up to, and excluding, the second.
func idsFrom(from, to int) []int {
	var out []int
	for id := from; id < to; id++ {
		out = append(out, id)
	}
	return out
}
