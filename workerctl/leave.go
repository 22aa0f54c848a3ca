package workerctl

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leave says that the worker has finished its part, and gives it back. In one
// transaction the worker stops to run and is counted as one that has left; the
// transaction that makes the count complete finishes the job, exactly one does;
// and whoever made it removes the job. So the last one out takes the job along,
// also when several leave in the same instant. A worker that died has not
// finished: the job waits for it to come back, and to leave, or for a [Janitor].
//
// If the worker was lost before, nothing is changed, and the error wraps
// session.ErrLost: come back by Job.Join, which gets the same id, and leave then.
// If ctx ends first the worker does not run any more in any case: the deletion of
// its live node goes on in the background; whether it has left or failed is not
// known if the error wraps session.ErrUnknownOutcome, and otherwise it has not
// left. If it has left, but the job that is finished by that could not be removed
// within ctx, the error wraps ErrNotRemoved. A second call says what the first
// did.
//
// It takes two requests, more after a collision as for Job.Join, and the last one
// out takes two and three for each of the job's workers, if they left nothing
// else.
func (w *Worker) Leave(ctx context.Context) error {
	const op = "leave"
	if ctx.Err() != nil {
		return failure(ctx, op, w.Path(), context.Cause(ctx))
	}
	if err := w.begin(ctx); err != nil {
		return failure(ctx, op, w.Path(), err)
	}
	defer w.done()
	w.mu.Lock()
	over, err := w.over, w.err
	w.mu.Unlock()
	if over {
		return err
	}
	if err = w.leave(ctx); err != nil {
		err = failure(ctx, op, w.Path(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.err = true, err
	return err
}

func (w *Worker) leave(ctx context.Context) error {
	// Ended first: the deletion by this worker itself must not look like a loss.
	w.hold.End(nil)
	if lost := w.hold.Err(); !errors.Is(lost, session.ErrReleased) {
		return lost
	}
	d := &departure{w: w, m: w.member()}
	err := w.job.inTurn(ctx, d.leave)
	if err != nil {
		// Nobody shall wait for one that does not work any more.
		over, cancel := context.WithCancel(w.hold.Session().Context())
		cancel()
		_ = w.hold.Session().Discard(over, w.Path())
		if d.unanswered && !d.known && !errors.Is(err, session.ErrUnknownOutcome) {
			err = &session.UnknownOutcomeError{Op: "leave", Path: w.Path(), Reason: err}
		}
		return err
	}
	if d.finished {
		return w.job.clear(ctx)
	}
	return nil
}

// departure is a call of Leave.
type departure struct {
	w *Worker
	m member
	// tried: a transaction was sent. unanswered: one of them was not answered;
	// known: what became of it is.
	tried, unanswered, known bool
	// finished: the job is, by this worker or another that left.
	finished bool
}

// leave tries once to leave, or finds out what has become of the last try. s is
// the client's present session.
func (d *departure) leave(ctx context.Context, s *session.Session) error {
	own, run := d.w.hold.Session(), d.w.job.run
	if own.Err() != nil && !d.unanswered {
		return own.Err()
	}
	st, version, left, err := d.look(ctx, s)
	if left || err != nil {
		return err
	}
	next, err := st.leave()
	if err != nil {
		return d.lost(err)
	}
	d.tried = true
	_, err = own.Txn(ctx, d.ops(run, next, version)...)
	if errors.Is(err, session.ErrUnknownOutcome) {
		d.unanswered = true
	}
	if err == nil {
		d.finished = next.State == finished
	}
	return err
}

// ops make the transaction that leaves. That the live node is deleted in it
// proves that this incarnation is the one that runs.
func (d *departure) ops(run run, next status, version int32) []session.Op {
	m := d.m
	m.Left = true
	ops := []session.Op{
		session.SetOp(run.at(stateNode), encode(next), version),
		session.DeleteOp(run.live(m), -1),
		session.SetOp(run.member(m.ID), encode(m), -1),
	}
	if d.w.job.record.ReuseIDs {
		ops = append(ops, session.DeleteOp(run.identity(m.Name), -1),
			session.CreateOp(run.free(m.ID), nil, session.Persistent, d.w.job.opts.create()))
	}
	return ops
}

// look reads the status, and after a first try, what has become of that. The first
// try need not know the newest status: with an older one it fails.
func (d *departure) look(ctx context.Context, s *session.Session) (st status, version int32, left bool, err error) {
	run, r := d.w.job.run, newReading(ctx)
	if !d.tried {
		st, version = r.status(s.StartGet(run.at(stateNode), false))
		return st, version, false, d.lost(r.Err)
	}
	// The live node first: without it nothing can follow, and what the last try
	// has done shows in what is read after it. The status last: if the member
	// has left, it says whether that was the last one.
	synced, alive := d.w.job.sync(s), s.StartExists(run.live(d.m), false)
	own, state := s.StartGet(run.member(d.m.ID), false), s.StartGet(run.at(stateNode), false)
	r.Synced(synced)
	live := r.Seen(alive)
	m, _ := r.member(own, d.m.ID)
	st, version = r.status(state)
	mine := m != nil && m.Claim == d.m.Claim
	switch {
	case r.Err != nil:
		return st, version, false, d.lost(r.Err)
	case mine && m.Left:
		d.finished = st.State == finished
		return st, version, true, nil
	case live.Exists && d.w.hold.Session().Err() != nil:
		return st, version, false, d.awaitEnd(ctx, s)
	case live.Exists:
		return st, version, false, nil
	case mine:
		d.known = true // it is gone, so no request of its session can follow
	}
	return st, version, false, d.w.gone(nil)
}

// awaitEnd waits until the servers have ended the worker's own session, which is
// lost: before, the request that was not answered may still be carried out.
func (d *departure) awaitEnd(ctx context.Context, s *session.Session) error {
	_, there, watch, err := s.ExistsW(ctx, d.w.Path())
	if err != nil {
		return err
	}
	if there {
		_, err = watch.Wait(ctx)
	}
	watch.Stop()
	if err != nil {
		return err
	}
	return optimistic.ErrNews
}

// lost is the error of a worker whose job is over before it could leave.
func (d *departure) lost(err error) error {
	if !errors.Is(err, ErrOver) {
		return err
	}
	return fmt.Errorf("the worker is %w: %w", session.ErrLost, err)
}
