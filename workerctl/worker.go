package workerctl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Worker is a worker that has joined a job and runs. Call Leave when the worker
// has finished its part.
type Worker struct {
	job   *Job
	hold  *session.Hold
	token int64
	// observed is set before the owner gets the worker.
	observed *observing.Hold
	// turn has one element while no call changes the worker's record at the
	// servers.
	turn chan struct{}

	// mu guards the fields below: record is the record at the servers. over is
	// set when the worker has left, or has tried to, by the call overBy with the
	// error err.
	mu     sync.Mutex
	record member
	over   bool
	overBy string // "" until then
	err    error
}

func newWorker(j *Job, h *session.Hold, m member, token int64) *Worker {
	w := &Worker{job: j, hold: h, record: m, token: token, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

// ID returns the worker's number in its job, from 0.
func (w *Worker) ID() int { return w.currentMember().ID }

// Incarnation counts the joins under this id, from 1.
func (w *Worker) Incarnation() int64 { return w.currentMember().Incarnation }

// Identity returns the identity of the join, with the changes of Update.
func (w *Worker) Identity() Identity { return identityOf(w.currentMember()) }

// Job returns the worker's job.
func (w *Worker) Job() *Job {
	_ = w.mustHold()
	return w.job
}

// Path returns the path of the worker's live znode.
func (w *Worker) Path() string { return w.mustHold().Path() }

// Session returns the session of the join.
func (w *Worker) Session() *session.Session { return w.mustHold().Session() }

// Context ends when the worker leaves or is lost. context.Cause tells the
// cause: session.ErrReleased, or an error that wraps session.ErrLost and the
// reason. The reason is that of the lost session, or session.ErrNodeDeleted if
// the worker's next process has taken its place, or the job was killed. The
// context ends before the servers can report this worker as dead to the other
// workers, unless this process was paused; after a pause, its Err is correct as
// soon as the process runs again.
func (w *Worker) Context() context.Context { return w.mustHold().Context() }

// Token is a fencing token, the zxid of the worker's live znode: of two
// incarnations of one id, the later one has the greater token.
func (w *Worker) Token() int64 {
	_ = w.mustHold()
	return w.token
}

// Guard is a check for a transaction: the transaction fails if the worker does
// not run any more, or its next process has joined: s.Txn(ctx, w.Guard(),
// ...).
func (w *Worker) Guard() session.Op { return w.mustHold().Guard() }

func (w *Worker) currentMember() member {
	_ = w.mustHold()
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record
}

// Update replaces the Identity.KV shown to other workers, with one request. If
// the reply is lost, Update finds out. If the worker was lost, the error wraps
// session.ErrLost, and nothing was changed, unless the error also wraps
// session.ErrUnknownOutcome.
func (w *Worker) Update(ctx context.Context, kv map[string]string) error {
	w = receiver.OrZero(w)
	const op = "update"
	if err := w.checkCall(ctx); err != nil {
		return wrapError(ctx, op, w.errorPath(), err)
	}
	if err := checkTexts("kv", kv); err != nil {
		return wrapError(ctx, op, w.Path(), err)
	}
	if err := w.updateInTurn(ctx, kv); err != nil {
		return w.job.reportUnknown(ctx, op, wrapError(ctx, op, w.Path(), err))
	}
	return nil
}

func (w *Worker) updateInTurn(ctx context.Context, kv map[string]string) error {
	if err := w.awaitTurn(ctx); err != nil {
		return err
	}
	defer w.endTurn()
	// A change of unknown outcome has an edition of its own, too: a reader that has seen
	// the change must see the next change.
	w.mu.Lock()
	w.record.Edition++
	next := w.record
	w.mu.Unlock()
	next.KV = maps.Clone(kv)
	if err := w.writeMember(ctx, next); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record = next
	return nil
}

// checkCall checks ctx, and that the worker is not a zero value.
func (w *Worker) checkCall(ctx context.Context) error {
	if err := checkContext(ctx); err != nil {
		return err
	}
	if w.hold == nil {
		return fmt.Errorf("%w: %s", ErrInvalidArgument, zeroWorker)
	}
	return nil
}

// zeroWorker describes the misuse of a zero Worker: a token of 0, or a guard
// without a check, would let unprotected writes through.
const zeroWorker = "a nil or zero Worker has not joined: get one from Job.Join"

// mustHold is the hold of the worker's znode; a zero Worker has none.
func (w *Worker) mustHold() *session.Hold {
	if w == nil || w.hold == nil {
		panic("workerctl: " + zeroWorker)
	}
	return w.hold
}

// errorPath is the worker's, for errors.
func (w *Worker) errorPath() string {
	if w.hold == nil {
		return ""
	}
	return w.hold.Path()
}

// awaitTurn waits for the turn to change the worker's record; endTurn ends the turn.
func (w *Worker) awaitTurn(ctx context.Context) error {
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Worker) endTurn() { w.turn <- struct{}{} }

// writeMember writes the record next. While the live node exists, only this
// incarnation writes the member, so the write can safely be repeated.
func (w *Worker) writeMember(ctx context.Context, next member) error {
	data, own, unanswered := encode(next), w.hold.Session(), false
	_, err := w.job.applyTxn(ctx, func(tx *stm.Tx) error {
		unanswered = unanswered || tx.Unanswered()
		if err := w.hold.Err(); err != nil {
			return err
		}
		if tx.Session() != own {
			return w.goneError(own.Err())
		}
		return errors.Join(tx.Set(w.Path(), data), tx.Set(w.job.run.memberPath(next.ID), data))
	})
	unanswered = unanswered || errors.Is(err, session.ErrUnknownOutcome)
	if path, reason := optimistic.Culprit(err); path == w.Path() && errors.Is(reason, session.ErrNoNode) {
		err = w.goneError(err)
	}
	if err != nil && unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: "update", Path: w.Path(), Reason: err}
	}
	return err
}

// goneError is the error of a worker whose live node is not there any more.
func (w *Worker) goneError(err error) error {
	if lost := w.hold.Err(); errors.Is(lost, session.ErrLost) {
		return lost
	}
	if err != nil && errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("the worker is %w: %w", session.ErrLost, session.ErrNodeDeleted)
}
