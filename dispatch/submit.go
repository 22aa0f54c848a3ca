package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
)

// lookEvery is after how many submissions of its own to a bucket a client looks
// again how many tasks there are.
const lookEvery = 16

// Submit puts a task into the queue and returns its id: Task.ID, or a UUID. It is
// one transaction.
//
// A task of this id that exists already, in whatever state, is the same task, and
// nothing is changed; if it has another payload, the error wraps ErrConflict. If
// the queue takes no tasks at the moment, the error wraps ErrFull; a task that
// exists is found all the same.
//
// A lost answer is found out, also over a lost session, and never doubles the
// task while that is there: one that ends and is removed before it is looked for, as
// its retention is shorter than the outage or somebody collects it, is taken for one
// that never was, and submitted anew. If ctx ends before that, or the client is closed, the error wraps
// session.ErrUnknownOutcome: with an ID of one's own, submit it again. It takes one
// request, two more for each sixteenth to one of the 256 buckets, and one more in a
// session's first, for a node that goes with the session.
func (q *Queue) Submit(ctx context.Context, t Task) (id string, err error) {
	const op = "submit to"
	if err := q.begin(ctx); err != nil {
		return "", failure(ctx, op, q.Path(), err)
	}
	rec, err := t.record(time.Now())
	if err != nil {
		return "", failure(ctx, op, q.Path(), err)
	}
	sub := &submission{q: q, rec: rec, payload: t.Payload, attached: t.Attached}
	err = persist(ctx, q.client, func(s *session.Session) error { return sub.try(ctx, s) })
	if err != nil {
		if sub.doubt != nil && !errors.Is(err, session.ErrUnknownOutcome) {
			err = &session.UnknownOutcomeError{Op: "submit", Path: q.task(rec.ID), Reason: err}
		}
		return "", failure(ctx, op, q.Path(), err)
	}
	return rec.ID, nil
}

// submission is a call of Submit.
type submission struct {
	q        *Queue
	rec      record
	payload  []byte
	attached bool
	// doubt is the session in which a transaction was not answered, and fence
	// the node that it checked.
	doubt *session.Session
	fence string
}

// try tries once to submit, or finds out what has become of the last try.
func (b *submission) try(ctx context.Context, s *session.Session) error {
	if b.doubt != nil {
		if known, err := b.settle(ctx, s); known || err != nil {
			return err
		}
	}
	fence, err := b.q.take(ctx, s)
	if err != nil {
		return err
	}
	if full, err := b.q.full(ctx, s, b.rec.ID); err != nil {
		return err
	} else if full {
		return b.existing(ctx, s, ErrFull)
	}
	if b.attached {
		b.rec.Owner = lastPart(fence)
	}
	_, err = s.Txn(ctx,
		session.CheckOp(fence, -1), session.CheckOp(b.q.open(), -1),
		session.CreateOp(b.q.data(b.rec.ID, b.rec.Run), b.payload, session.Persistent, b.q.create),
		session.CreateOp(b.q.task(b.rec.ID), encode(b.rec), session.Persistent, b.q.create))
	if errors.Is(err, session.ErrUnknownOutcome) {
		b.doubt, b.fence = s, fence
	}
	if err == nil {
		b.q.fill.submitted(b.rec.ID)
		return nil
	}
	return b.refused(ctx, s, fence, err)
}

// refused finds out why a transaction has failed with err.
func (b *submission) refused(ctx context.Context, s *session.Session, fence string, err error) error {
	path, reason := culprit(err)
	switch {
	case reason == nil:
		return err
	case errors.Is(reason, session.ErrNodeExists):
		return b.existing(ctx, s, optimistic.ErrChanged)
	case !errors.Is(reason, session.ErrNoNode):
		return err
	case path == fence:
		b.q.desk.forget(fence) // somebody has deleted it
		return optimistic.ErrChanged
	case path == b.q.open():
		_, there, err := s.Exists(ctx, b.q.at(admissionDir))
		if err == nil && !there {
			if err = b.q.make(ctx, s); err == nil {
				err = optimistic.ErrChanged
			}
		}
		if err != nil {
			return err
		}
		return b.existing(ctx, s, ErrFull)
	}
	if err := b.q.makeBucket(ctx, s, b.rec.ID); err != nil {
		return err
	}
	return optimistic.ErrChanged
}

// existing finds the task that exists, or returns otherwise.
func (b *submission) existing(ctx context.Context, s *session.Session, otherwise error) error {
	t, err := b.q.look(ctx, s, b.rec.ID, true)
	switch {
	case err != nil:
		return err
	case t == nil:
		return otherwise
	case t.Hash != b.rec.Hash:
		return fmt.Errorf("%w: %q", ErrConflict, b.rec.ID)
	}
	return nil
}

// settle finds out what has become of a transaction that was not answered. In the
// same session whatever was sent before has been carried out by now or never will
// be. What was sent in another one, which is lost, may still be under way: so the
// node is deleted that it checks.
func (b *submission) settle(ctx context.Context, s *session.Session) (known bool, err error) {
	if s != b.doubt {
		if err := s.Delete(ctx, b.fence, -1); err != nil && !errors.Is(err, session.ErrNoNode) {
			return false, err
		}
	}
	t, err := b.q.look(ctx, s, b.rec.ID, true)
	if err != nil {
		return false, err
	}
	b.doubt = nil
	switch {
	case t == nil:
		return false, nil
	case t.Hash != b.rec.Hash:
		return true, fmt.Errorf("%w: %q", ErrConflict, b.rec.ID)
	}
	return true, nil
}

// full reports whether the task's bucket has so many tasks that nobody can have let
// them in: the master, which closes a queue that is full, is away. The client looks
// from time to time only.
func (q *Queue) full(ctx context.Context, s *session.Session, id string) (bool, error) {
	n := bucketNumber(id)
	if !q.fill.doubtful(n) {
		return false, nil
	}
	r := newReading(ctx)
	limit, dir := s.StartGet(q.at(admissionDir), false), s.StartExists(q.at(tasksDir, bucket(id)), false)
	max, there := r.IfThere(limit)
	seen := r.Seen(dir)
	if r.Err != nil || !there {
		return false, r.Err
	}
	l, err := decode[limits](max.Data)
	if err != nil {
		return false, err
	}
	return q.fill.looked(n, seen.Stat.NumChildren, l.MaxTasks), nil
}

// hardBound is how many tasks a bucket has at most: twice its share, and some for
// chance. Even of 100 tasks, no bucket has as many by chance in the life of a
// cluster.
func hardBound(maxTasks int) int32 {
	share := min((maxTasks-1)/buckets+1, math.MaxInt32/4) // a node has no more children
	return int32(2*share + 64)
}

// submitted counts a task of one's own.
func (o *occupancy) submitted(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.own[bucketNumber(id)]++
}

// doubtful reports whether it is time to look how many tasks the bucket has.
func (o *occupancy) doubtful(n int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return !o.asked || o.own[n] >= lookEvery || o.known[n]+o.own[n] >= o.bound
}

// looked notes how many tasks the bucket has, and reports whether it is full.
func (o *occupancy) looked(n int, has int32, maxTasks int) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked, o.known[n], o.own[n], o.bound = true, has, 0, hardBound(maxTasks)
	return has >= o.bound
}
