package workerctl

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Leave reports that the worker has finished its part, and gives the worker up.
// In one transaction the worker stops running and is counted as left. Exactly
// one transaction makes the count complete and finishes the job, and its worker
// removes the job, even if several workers leave at the same instant. A worker
// that died has not finished: the job waits for the worker to come back and
// leave, or for a [Janitor].
//
// If the worker was lost before, nothing is changed, and the error wraps
// session.ErrLost: come back with Job.Join, which returns the same id, and leave
// then. If ctx ends first, the worker does not run any more in any case, and the
// deletion of its live znode continues in the background. If the error wraps
// session.ErrUnknownOutcome, it is unknown whether the worker has left or failed;
// otherwise the worker has not left. If the worker has left, but the finished job
// could not be removed within ctx, the error wraps ErrNotRemoved. A second call
// returns the result of the first.
//
// Leave takes two requests, more after a collision as in Job.Join. The last
// worker sends some ten requests, and three for each of the job's workers if they
// left nothing else.
func (w *Worker) Leave(ctx context.Context) error {
	w = receiver.OrZero(w)
	return w.giveUp(ctx, "leave", func(ctx context.Context) error { return w.leaveJob(ctx, "") })
}

// Fail is Leave for a worker whose part has failed. The reason is shown to others
// ([Member.Failure]): it must be valid UTF-8, not empty, with at most 1,024
// bytes. The job continues. If the worker comes back under its identity and
// leaves, it has not failed. A job whose last worker leaves while another worker
// has failed ends as "failed", not as "finished".
func (w *Worker) Fail(ctx context.Context, reason string) error {
	w = receiver.OrZero(w)
	const op = "fail"
	err := checkText("reason", reason)
	if reason == "" || len(reason) > maxReason {
		err = fmt.Errorf("%w: the reason has %d bytes; it must have 1 to %d", ErrInvalidArgument, len(reason), maxReason)
	}
	if e := w.checkCall(ctx); errors.Is(e, ErrInvalidArgument) {
		err = e
	}
	if err != nil {
		return wrapError(ctx, op, w.errorPath(), err)
	}
	return w.giveUp(ctx, op, func(ctx context.Context) error { return w.leaveJob(ctx, reason) })
}

// maxReason is how long a reason is at most, in bytes.
const maxReason = 1024

// giveUp ends the worker once, by end.
func (w *Worker) giveUp(ctx context.Context, op string, end func(context.Context) error) error {
	if ctx == nil || w.hold == nil {
		return wrapError(ctx, op, w.errorPath(), w.checkCall(ctx))
	}
	ctx, stop := session.WithoutRelease(ctx) // ctx may end with the worker
	defer stop()
	if ctx.Err() != nil {
		return wrapError(ctx, op, w.Path(), context.Cause(ctx))
	}
	first, err := w.giveUpInTurn(ctx, op, end)
	if first { // the turn is over: the observer may call the worker
		w.observed.End(w.job.reportUnknown(ctx, op, err))
	}
	return err
}

// giveUpInTurn gives the worker up, or returns the result of the first call that did.
func (w *Worker) giveUpInTurn(ctx context.Context, op string, end func(context.Context) error) (first bool, err error) {
	if err := w.awaitTurn(ctx); err != nil {
		return false, wrapError(ctx, op, w.Path(), err)
	}
	defer w.endTurn()
	w.mu.Lock()
	over, by, err := w.over, w.overBy, w.err
	w.mu.Unlock()
	if over && err == nil && by == releaseOp && op != releaseOp {
		return false, wrapError(ctx, op, w.Path(), errNotLeft)
	}
	if over {
		return false, err
	}
	w.observed.Ending()
	if err = end(ctx); err != nil {
		err = wrapError(ctx, op, w.Path(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over, w.overBy, w.err = true, op, err
	return true, err
}

func (w *Worker) leaveJob(ctx context.Context, reason string) error {
	if lost := w.endHold(); lost != nil {
		return lost
	}
	d := &departure{w: w, m: w.currentMember()}
	d.m.Failure = reason
	err := d.completeLeave(ctx)
	if err != nil {
		// No other worker must wait for a worker that has stopped.
		optimistic.DeleteLater(w.hold.Session(), w.Path())
		if d.unanswered && !d.known && !errors.Is(err, session.ErrUnknownOutcome) {
			err = &session.UnknownOutcomeError{Op: "leave", Path: w.Path(), Reason: err}
		}
		return err
	}
	if d.finished {
		return w.job.completeRemoval(ctx)
	}
	return nil
}

// departure is a call of Leave.
type departure struct {
	w *Worker
	m member
	// read: the worker's own znodes must be read, since an attempt was made. unanswered: an
	// attempt was not answered; known: its outcome is known.
	read, unanswered, known bool
	// finished: the job has finished, by the leave of any worker.
	finished bool
}

// errOpen: the worker's own session is lost, and its request may still be carried out.
var errOpen = errors.New("the former session still has the worker")

// completeLeave leaves, or finds out the outcome of an earlier attempt.
func (d *departure) completeLeave(ctx context.Context) error {
	for {
		d.finished = false
		_, err := d.w.job.applyTxn(ctx, d.planLeave)
		d.unanswered = d.unanswered || errors.Is(err, session.ErrUnknownOutcome)
		culprit, reason := optimistic.Culprit(err)
		switch {
		case err == nil:
			return nil
		case errors.Is(err, errOpen):
			if err := d.awaitEnd(ctx); err != nil {
				return err
			}
		case !d.read && culprit == d.w.Path() && errors.Is(reason, session.ErrNoNode):
			d.read = true // find out why the live node has gone
		default:
			return err
		}
	}
}

// planLeave plans one attempt to leave, or recognizes an earlier attempt. The
// attempt deletes the live node, which proves that this incarnation is the
// running one.
func (d *departure) planLeave(tx *stm.Tx) error {
	own, j, run := d.w.hold.Session(), d.w.job, d.w.job.run
	if tx.Unanswered() {
		d.unanswered, d.read = true, true
	}
	if tx.Session() != own && !d.unanswered {
		return d.w.goneError(own.Err())
	}
	st, left, err := d.readOutcome(tx)
	if left || err != nil {
		return err
	}
	next, err := st.countLeave(d.m.Failure != "")
	if err != nil {
		return d.lostError(err)
	}
	m := d.m
	m.Left = true
	d.finished, d.read = next.State.Complete(), true
	err = errors.Join(j.setStatus(tx, next), tx.Delete(run.livePath(m)), tx.Set(run.memberPath(m.ID), encode(m)))
	if next.State.Over() {
		// Set the size to the same number: callers that wait for the end watch it.
		err = errors.Join(err, j.setSize(tx, next.Workers))
	}
	if j.record.ReuseIDs {
		err = errors.Join(err, tx.Delete(run.identityPath(m.Name)), j.createNode(tx, run.freePath(m.ID), nil))
	}
	return err
}

// readOutcome reads the status, and after a first attempt, the outcome of that attempt. The
// first attempt need not know the newest status: with an older status it fails.
func (d *departure) readOutcome(tx *stm.Tx) (st status, left bool, err error) {
	j := d.w.job
	if !d.read {
		st, _, err := j.readStatus(tx)
		return st, false, d.lostError(err)
	}
	// The live node is read before the member: if the live node is gone, no
	// attempt can follow, and the later read shows the effect of the last
	// attempt. The status is a condition of the transaction: the status is the
	// newest, so a live node read afterwards was created before.
	st, others, err := j.readStatus(tx, j.run.livePath(d.m), j.run.memberPath(d.m.ID))
	if err != nil {
		return st, false, d.lostError(err)
	}
	live, mine := others[0].Exists, false
	if others[1].Exists {
		m, err := memberOf(strconv.Itoa(d.m.ID), others[1].Data)
		if err != nil {
			return st, false, spoiledError(others[1].Path, err)
		}
		mine = m.Claim == d.m.Claim
		left = mine && m.Left
	}
	switch {
	case left:
		d.finished = st.State.Complete()
		return st, true, nil
	case live && tx.Session() != d.w.hold.Session():
		return st, false, errOpen
	case live:
		return st, false, nil
	case mine:
		d.known = true // the live node is gone, so no request of its session can follow
	}
	return st, false, d.w.goneError(nil)
}

// awaitEnd waits until the servers have ended the worker's lost session. Until
// then, the unanswered request may still be carried out.
func (d *departure) awaitEnd(ctx context.Context) error {
	return retryConflicts(ctx, d.w.job.client, func(s *session.Session) error {
		_, there, watch, err := s.ExistsW(ctx, d.w.Path())
		if err != nil {
			return err
		}
		defer watch.Stop()
		if there {
			_, err = watch.Wait(ctx)
		}
		return err
	})
}

// lostError is the error of a worker that could not leave before the end of its job.
func (d *departure) lostError(err error) error {
	if !errors.Is(err, ErrOver) {
		return err
	}
	return fmt.Errorf("the worker is %w: %w", session.ErrLost, err)
}
