package dispatch

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// Submit puts a task into the queue in one transaction, and returns its id:
// Task.ID, or a UUID.
//
// If a task of this id exists, in any state, it is the same task, and nothing is
// changed; if its payload differs, the error wraps ErrConflict. If the queue
// accepts no tasks at the moment, the error wraps ErrFull, or Submit waits
// (Options.WaitForRoom); an existing task is found nevertheless.
//
// If the reply is lost, Submit finds out, even over a lost session, and never
// submits a task twice while the task exists. A task that ends and is removed
// before Submit can look, because its retention is shorter than the outage or
// another client collects it, is submitted again. If ctx ends before Submit has
// found out, or the client is closed, the error wraps session.ErrUnknownOutcome:
// a task with its own ID can be submitted again. Submit takes one request, two
// more for each sixteenth task in one of the 256 buckets, and one more for the
// first task of a session, for a znode that goes with the session. Calls at the same time
// share requests; each call has its own outcome.
func (q *Queue) Submit(ctx context.Context, t Task) (id string, err error) {
	q = receiver.OrZero(q)
	id, _, err = q.submitTask(ctx, t, nil)
	return id, err
}

// submitTask submits a task, a unique one with a claim.
func (q *Queue) submitTask(ctx context.Context, t Task, unique *claim) (id string, isNew bool, err error) {
	const op = "submit to"
	if err := q.checkCall(ctx); err != nil {
		return "", false, wrapError(ctx, op, q.Path(), err)
	}
	rec, err := t.newRecord(time.Now())
	if err == nil {
		err = unique.check()
	}
	if err != nil {
		return "", false, wrapError(ctx, op, q.Path(), err)
	}
	sub := &submission{q: q, rec: rec, payload: t.Payload, attached: t.Attached, claim: unique}
	waited := false
	err = retryConflicts(ctx, q.client, func(s *session.Session) error {
		err := sub.submitOnce(ctx, s)
		if errors.Is(err, ErrFull) && q.opts.WaitForRoom {
			waited = true
			err = q.waitForRoom(ctx, s)
		}
		return err
	})
	if err != nil {
		if sub.pendingIn != nil && !errors.Is(err, session.ErrUnknownOutcome) {
			err = &session.UnknownOutcomeError{Op: "submit", Path: q.taskPath(rec.ID), Reason: err}
		} else if waited && ctx.Err() != nil {
			err = fmt.Errorf("%w: %w", ErrFull, err)
		}
		return "", false, q.reportUnknown(ctx, op, wrapError(ctx, op, q.Path(), err))
	}
	if unique != nil && unique.holder != "" {
		return unique.holder, false, nil
	}
	if sub.created && q.client.Observer() != nil {
		q.reportChange(ctx, &seen{record: record{ID: rec.ID}}, rec, time.Time{})
	}
	return rec.ID, sub.created, nil
}

// roomPause is how long Submit waits when a bucket has too many tasks, which no watch
// tells the end of, and at most when the queue is closed.
const roomPause = 10 * time.Second

// waitForRoom waits until the queue takes tasks again, or may do so.
func (q *Queue) waitForRoom(ctx context.Context, s *session.Session) error {
	limited, cancel := context.WithTimeout(ctx, roomPause)
	defer cancel()
	seen, err := s.StartExists(q.openPath(), true).Wait(ctx)
	if err != nil {
		return err
	}
	defer seen.Watch.Stop()
	if seen.Exists { // a bucket is full, or the queue was opened meanwhile
		<-limited.Done()
	} else if _, err := seen.Watch.Wait(limited); err != nil && limited.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return optimistic.ErrNews
}

// submission is a call of Submit.
type submission struct {
	q        *Queue
	rec      record
	payload  []byte
	attached bool
	claim    *claim // of a unique task; nil otherwise
	// pendingIn is the session in which a transaction was not answered, and
	// fence the znode that the transaction checked.
	pendingIn *session.Session
	fence     string
	created   bool // the task that exists is this call's
}

// submitOnce tries once to submit, or finds out the outcome of the last attempt.
func (b *submission) submitOnce(ctx context.Context, s *session.Session) error {
	if b.pendingIn != nil {
		if known, err := b.resolvePending(ctx, s); known || err != nil {
			return err
		}
	}
	fence, err := b.q.ensurePresence(ctx, s)
	if err != nil {
		return err
	}
	if full, err := b.q.isBucketFull(ctx, s, b.rec.ID); err != nil {
		return err
	} else if full {
		return b.findExisting(ctx, s, ErrFull)
	}
	if b.attached {
		b.rec.Owner = znode.Base(fence)
	}
	if err := b.setPeriod(ctx, s, fence); err != nil {
		return err
	}
	edits := transaction{
		requireNode(fence), requireNode(b.q.openPath()),
		createNode(b.q.dataPath(b.rec.ID, b.rec.Run), b.payload), createNode(b.q.taskPath(b.rec.ID), encode(b.rec)),
	}
	first := true
	err = b.q.applyOnce(ctx, func(tx *stm.Tx) error {
		if !first {
			return optimistic.ErrChanged // the key, as it was read
		}
		first = false
		return errors.Join(edits.addTo(tx, b.q.create), b.addKey(tx))
	})
	switch {
	case err == nil:
		b.q.occupancy.noteSubmission(b.rec.ID)
		b.created = true
		return nil
	case errors.Is(err, session.ErrUnknownOutcome):
		b.pendingIn, b.fence = s, fence
		return err
	}
	return b.explainRefusal(ctx, s, fence, err)
}

// explainRefusal finds out why a transaction has failed with err.
func (b *submission) explainRefusal(ctx context.Context, s *session.Session, fence string, err error) error {
	path, reason := optimistic.Culprit(err)
	aboutKey := b.claim != nil && (errors.Is(err, optimistic.ErrChanged) || path == b.q.keyPath(b.claim.key))
	switch {
	case aboutKey && errors.Is(reason, session.ErrNoNode):
		if err := b.q.ensurePath(ctx, znode.Parent(path)); err != nil {
			return err
		}
		return optimistic.ErrChanged
	case aboutKey && !errors.Is(err, session.ErrNoAuth):
		return b.lookUpKey(ctx, s, optimistic.ErrChanged)
	case reason == nil:
		return err
	case errors.Is(reason, session.ErrNodeExists):
		return b.findExisting(ctx, s, optimistic.ErrChanged)
	case !errors.Is(reason, session.ErrNoNode):
		return err
	case path == fence:
		b.q.presence.forgetPath(fence) // the fence was deleted by hand
		return optimistic.ErrChanged
	case path == b.q.openPath():
		r := newReading(ctx, s)
		if !r.Exists(b.q.at(admissionDir)) && r.Err == nil {
			if r.Err = b.q.ensureCreated(ctx, s); r.Err == nil {
				r.Err = optimistic.ErrChanged
			}
		}
		if r.Err != nil {
			return r.Err
		}
		return b.findExisting(ctx, s, ErrFull)
	}
	if err := b.q.makeBucket(ctx, b.rec.ID); err != nil {
		return err
	}
	return optimistic.ErrChanged
}

// findExisting finds the task that exists, or returns otherwise.
func (b *submission) findExisting(ctx context.Context, s *session.Session, otherwise error) error {
	t, err := b.q.readTask(ctx, s, b.rec.ID)
	switch {
	case err != nil:
		return err
	case t == nil && b.claim != nil:
		return b.lookUpKey(ctx, s, otherwise)
	case t == nil:
		return otherwise
	case t.Hash != b.rec.Hash:
		return fmt.Errorf("%w: %q", ErrConflict, b.rec.ID)
	}
	return nil
}

// resolvePending finds out the outcome of an unanswered transaction. A transaction of the
// same session has been applied by now, or never will be. A transaction of an earlier, lost
// session may still be in flight: so the fence that it checks is deleted, which makes a
// late transaction fail.
func (b *submission) resolvePending(ctx context.Context, s *session.Session) (known bool, err error) {
	if s != b.pendingIn {
		err := b.q.applyTxn(ctx, func(tx *stm.Tx) error { return tx.Delete(b.fence) })
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return false, err
		}
	}
	t, err := b.q.readTask(ctx, s, b.rec.ID)
	if err != nil {
		return false, err
	}
	b.pendingIn = nil
	switch {
	case t == nil:
		return false, nil // a unique task may have ended: the next try finds its key
	case t.Hash != b.rec.Hash:
		return true, fmt.Errorf("%w: %q", ErrConflict, b.rec.ID)
	}
	b.created = t.Run == b.rec.Run
	return true, nil
}
