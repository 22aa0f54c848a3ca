package workerctl

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// WaitAll waits until all ids of the job are given out: until all its workers
// have joined, whatever has become of them since. It waits for at most
// Options.JoinWait; then, and when ctx ends by its deadline, the error is a
// [MissingError]. It wraps ErrOver when the job ends before.
//
// Nobody is woken by a worker that joins but by the last one.
func (j *Job) WaitAll(ctx context.Context) error {
	const op = "wait for the workers of"
	if ctx.Err() != nil {
		return failure(ctx, op, j.Path(), context.Cause(ctx))
	}
	limited, cancel := limit(ctx, j.opts.JoinWait)
	defer cancel()
	err := j.awaitNode(limited, fullNode)
	if err == nil {
		return nil
	}
	if errors.Is(limited.Err(), context.DeadlineExceeded) {
		err = j.missing(ctx, err, func(ctx context.Context, st status) ([]int, error) {
			return idsFrom(st.Next, st.Workers), nil
		})
	}
	return failure(ctx, op, j.Path(), err)
}

// limit is ctx for at most d; negative: ctx.
func limit(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d < 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// awaitNode waits until a child of the run exists.
func (j *Job) awaitNode(ctx context.Context, elems ...string) error {
	return persist(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx)
		synced, child, size := j.sync(s), s.StartExists(j.run.at(elems...), true), s.StartExists(j.run.at(sizeNode), true)
		state := s.StartGet(j.run.at(stateNode), false)
		r.Synced(synced)
		at, of := r.Seen(child), r.Seen(size)
		st, _ := r.status(state)
		defer optimistic.StopWatch(child)
		defer optimistic.StopWatch(size)
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

// awaitOver waits until the job is over, and says so.
func (j *Job) awaitOver(ctx context.Context) error {
	return persist(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx)
		synced, size, state := j.sync(s), s.StartExists(j.run.at(sizeNode), true), s.StartGet(j.run.at(stateNode), false)
		r.Synced(synced)
		of := r.Seen(size)
		st, _ := r.status(state)
		defer optimistic.StopWatch(size)
		switch {
		case r.Err != nil:
			return r.Err
		case st.State.Over():
			return ErrOver
		}
		return firstOf(ctx, of.Watch)
	})
}

// firstOf waits until one of the watches has fired, and then wants everything to
// be read again.
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

// patience is how much longer than its context a call may take that says who is
// missing.
const patience = time.Second

// missing is the error of a wait that has taken too long: who says who did not
// come. What cannot be found out in time is left out.
func (j *Job) missing(ctx context.Context, reason error, who func(ctx context.Context, st status) ([]int, error)) error {
	over, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	st, err := j.status(over)
	if err != nil {
		return reason
	}
	ids, err := who(over, st)
	if err != nil || len(ids) == 0 {
		return reason
	}
	return &MissingError{IDs: ids, Workers: st.Workers, Reason: reason}
}

// status reads how the job stands.
func (j *Job) status(ctx context.Context) (st status, err error) {
	err = persist(ctx, j.client, func(s *session.Session) error {
		r := newReading(ctx)
		synced, state := j.sync(s), s.StartGet(j.run.at(stateNode), false)
		r.Synced(synced)
		st, _ = r.status(state)
		return r.Err
	})
	return st, err
}

// idsFrom are the ids from one number up to below another.
func idsFrom(from, to int) []int {
	var out []int
	for id := from; id < to; id++ {
		out = append(out, id)
	}
	return out
}
