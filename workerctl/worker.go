package workerctl

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// Worker is a worker that has joined a job and runs. It must be given back with
// Leave when it has finished its part.
type Worker struct {
	job   *Job
	hold  *session.Hold
	token int64
	// turn has one element while nobody changes what the servers have of the
	// worker.
	turn chan struct{}

	// mu guards what follows: record is what the servers have, over that the
	// worker has left, or has tried to, with err.
	mu     sync.Mutex
	record member
	over   bool
	err    error
}

func newWorker(j *Job, h *session.Hold, m member, token int64) *Worker {
	w := &Worker{job: j, hold: h, record: m, token: token, turn: make(chan struct{}, 1)}
	w.turn <- struct{}{}
	return w
}

// ID is the worker's number in its job, from 0.
func (w *Worker) ID() int { return w.member().ID }

// Incarnation counts how often somebody has joined under this id, from 1.
func (w *Worker) Incarnation() int64 { return w.member().Incarnation }

// Identity is who joined, with what Update has changed.
func (w *Worker) Identity() Identity { return w.member().identity() }

// Job is the job.
func (w *Worker) Job() *Job { return w.job }

// Path is the znode that stands for the worker while it runs.
func (w *Worker) Path() string { return w.hold.Path() }

// Session is the session in which it joined.
func (w *Worker) Session() *session.Session { return w.hold.Session() }

// Context ends when the worker leaves, and when it is lost; context.Cause tells
// which: session.ErrReleased, or an error that wraps session.ErrLost and the
// reason: that of the session, or session.ErrNodeDeleted when its next self has
// taken its place, or the job was killed. It ends before the servers can tell the
// other workers that this one has died, unless this process itself was paused;
// then its Err tells the truth as soon as the process runs again.
func (w *Worker) Context() context.Context { return w.hold.Context() }

// Token is a fencing token, the zxid of the worker's live node: of two
// incarnations of one id the later one has the greater.
func (w *Worker) Token() int64 { return w.token }

// Guard is a check for a transaction, which then fails if the worker does not run
// any more, or its next self has come: session.Txn(ctx, w.Guard(), ...).
func (w *Worker) Guard() session.Op { return w.hold.Guard() }

func (w *Worker) member() member {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.record
}

// Update replaces what the worker shows to others as Identity.KV. It takes one
// request. A lost answer is found out. If the worker was lost the error wraps
// session.ErrLost, and nothing was changed, unless it also wraps
// session.ErrUnknownOutcome.
func (w *Worker) Update(ctx context.Context, kv map[string]string) error {
	const op = "update"
	if ctx.Err() != nil {
		return failure(ctx, op, w.Path(), context.Cause(ctx))
	}
	if err := texts("kv", kv); err != nil {
		return failure(ctx, op, w.Path(), err)
	}
	if err := w.begin(ctx); err != nil {
		return failure(ctx, op, w.Path(), err)
	}
	defer w.done()
	// Also a change whose outcome nobody knows has an edition of its own: whoever
	// has seen it must see the next one.
	w.mu.Lock()
	w.record.Edition++
	next := w.record
	w.mu.Unlock()
	next.KV = maps.Clone(kv)
	if err := w.update(ctx, next); err != nil {
		return failure(ctx, op, w.Path(), err)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.record = next
	return nil
}

// begin waits for the turn to change what the servers have; done ends it.
func (w *Worker) begin(ctx context.Context) error {
	select {
	case <-w.turn:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (w *Worker) done() { w.turn <- struct{}{} }

// update writes the record next. Only this incarnation, of which there is one as
// long as its live node exists, writes the member then; so the write may be
// repeated: it makes no difference.
func (w *Worker) update(ctx context.Context, next member) error {
	data, s, unanswered := encode(next), w.hold.Session(), false
	ops := []session.Op{session.SetOp(w.Path(), data, -1), session.SetOp(w.job.run.member(next.ID), data, -1)}
	err := s.Retry(ctx, func() error {
		if err := w.hold.Err(); err != nil {
			return err
		}
		_, err := s.Txn(ctx, ops...)
		unanswered = unanswered || errors.Is(err, session.ErrUnknownOutcome)
		if errors.Is(err, session.ErrNoNode) || err != nil && s.Err() != nil {
			return w.gone(err)
		}
		return err
	})
	if err != nil && unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: "update", Path: w.Path(), Reason: err}
	}
	return err
}

// gone is the error of a worker whose live node is not there any more.
func (w *Worker) gone(err error) error {
	if lost := w.hold.Err(); errors.Is(lost, session.ErrLost) {
		return lost
	}
	if err != nil && errors.Is(err, session.ErrLost) {
		return err
	}
	return fmt.Errorf("the worker is %w: %w", session.ErrLost, session.ErrNodeDeleted)
}
