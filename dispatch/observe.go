package dispatch

import (
	"cmp"
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// reportChange reports that this client has changed a task from its state to the state of
// next, which is empty for a removed task. at is the time of the change; zero if unknown.
func (st *store) reportChange(ctx context.Context, task *seen, next record, at time.Time) {
	to := st.client.Observer()
	if to == nil {
		return
	}
	e := observe.TaskChanged{Path: string(st.layout), Task: task.ID, From: string(task.State), To: string(next.State)}
	switch {
	case task.State == assigned:
		e.Attempt = task.Attempt
	case next.State == assigned:
		e.Attempt = next.Attempt
	}
	if since := task.since(); !at.IsZero() && !since.IsZero() {
		e.Took = max(0, at.Sub(since))
	}
	to.Observe(ctx, e)
}

// reportUnknown reports a call that ends with err, if that leaves an outcome unknown, and
// returns err.
func (q *Queue) reportUnknown(ctx context.Context, op string, err error) error {
	return observing.Unknown(ctx, q.client, "tasks", q.Path(), op, err)
}

// since is the time from which on the task was in its state; zero if unknown. Each change
// of the state writes the record.
func (t *seen) since() time.Time {
	switch {
	case !t.mtime.IsZero():
		return t.mtime
	case t.State == assigned:
		return t.AssignedAt
	case t.State.Finished():
		return t.FinishedAt
	}
	return time.Time{}
}

// reportCollected reports that the task that has ended with out was removed.
func (q *Queue) reportCollected(ctx context.Context, out Result) {
	if q.client.Observer() != nil {
		task := seen{record: record{ID: out.ID, State: taskformat.State(out.State), FinishedAt: out.Finished}}
		q.reportChange(ctx, &task, record{}, time.Now())
	}
}

// stateChange is a change of a task that a transaction makes.
type stateChange struct {
	task seen
	next record
}

// noteAttempt notes the change that the attempt makes, for an observer.
func (c *taskChange) noteAttempt(t *seen, next record) {
	if c.q.client.Observer() != nil {
		c.change = &stateChange{*t, next}
	}
}

// reportMoves reports moves that were carried out, the last at the time at.
func (t *mastership) reportMoves(ctx context.Context, moves []move, at time.Time) {
	if t.client.Observer() == nil {
		return
	}
	for _, m := range moves {
		t.reportChange(ctx, &m.task, m.next, at)
	}
}

// wasCarriedOut reports whether a move whose reply was lost was carried out, as far as the
// scheduler, which has read the task since, can tell.
func (sc *scheduler) wasCarriedOut(m move) bool {
	e := sc.tasks[m.task.ID]
	switch {
	case m.kind == removeTask || e == nil:
		return m.kind == removeTask && e == nil
	case m.kind != giveTask:
		return e.version == m.task.version+1 && e.State == m.next.State
	case e.State == waiting: // only the worker has made it wait again
		return e.version > m.task.version+1 && e.Requeued == m.task.Requeued
	}
	// The record of a task that has ended still has its worker.
	return e.Worker == m.next.Worker && e.AssignedAt.Equal(m.next.AssignedAt)
}

// observedAttempt is the hold of an attempt, as reported to an observer. A nil
// observedAttempt does nothing.
type observedAttempt struct {
	hold *observing.Hold // nil until the handler is called
	// ctx ends by lose when the assignment or the worker is lost, and by nothing else: the
	// context of the handler also ends at the task's deadline.
	ctx  context.Context
	lose context.CancelCauseFunc
}

// observe has the attempt reported; for the loop, before the attempt begins.
func (h *heldTask) observe() {
	if h.ws.client.Observer() != nil {
		h.observed = &observedAttempt{}
		h.observed.ctx, h.observed.lose = context.WithCancelCause(h.ws.hold.Context())
	}
}

// lossContext is an attempt that is held until it is lost.
type lossContext struct {
	*Attempt
	ctx context.Context
}

// Context ends with the loss.
func (l lossContext) Context() context.Context { return l.ctx }

// beginAttempt reports that the handler gets a.
func (o *observedAttempt) beginAttempt(a *Attempt) {
	if o != nil {
		ws := a.held.ws
		o.hold = observing.BeginHold(ws.stop, ws.client, observe.Attempt, string(ws.layout), lossContext{a, o.ctx})
	}
}

// ending begins the giving back.
func (o *observedAttempt) ending() {
	if o != nil {
		o.hold.Ending()
	}
}

// end reports the end of the giving back of h.
func (o *observedAttempt) end(h *heldTask) {
	if o != nil {
		o.hold.End(cmp.Or(h.lost, h.kept))
	}
}

// lost ends the attempt by a loss.
func (o *observedAttempt) lost(why error) {
	if o != nil {
		o.lose(why)
	}
}

// free frees the context, after the end of the attempt.
func (o *observedAttempt) free() { o.lost(session.ErrReleased) }
