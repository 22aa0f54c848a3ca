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

// A unique task and its key are created in one transaction. The znode of the key is written
// on condition of its version, and of the version of the task that had the key before: of
// several submitters, one succeeds. The znode stays when the task ends: the next submission
// replaces its data, or the master deletes it (keysweep.go).
//
// A key that was deleted and created again can have the version that another client has read
// before. So the master also writes the bucket with each deletion, and a transaction that
// replaces a key depends on the version of the bucket too, as it was read before the key.

// SubmitUnique submits a task, unless the key is taken: then nothing is changed, isNew is
// false, and id is that of the task that has the key. The payload may differ.
//
// Without a period (0), a task has its key until the task ends, in any state. With a period,
// the key is taken for the rest of the period in which the task was submitted, even if the
// task has ended, or was collected or removed since; in the next period the key is free, even
// if the task has not ended. Periods are those of [time.Time.Truncate], in UTC: with 24 hours,
// a period is a day, and with an hour, an hour of the day. They go by the servers' clock, so
// the clocks of clients do not matter. A period must be at least a second. Use the same period
// for all submissions under a key.
//
// A key is text of up to 512 bytes, and independent of Task.ID: if a task of this ID exists,
// SubmitUnique returns it like [Queue.Submit], with isNew false.
//
// All that Submit says of lost replies, full queues and errors holds for SubmitUnique. If the
// outcome is unknown, submit again under the same key. Requeue of a task without a period
// takes the key again, and fails with ErrState if an unfinished task has it.
//
// A new task takes the requests of Submit, and the first task of one of the 256 buckets of
// keys a few more, for the folder. A task that replaces a task that has ended takes six or
// seven requests, and a taken key takes four or six. With a period, SubmitUnique sends one
// request more in ten minutes, and in each session, to learn the servers' time.
func (q *Queue) SubmitUnique(ctx context.Context, t Task, key string, period time.Duration) (id string, isNew bool, err error) {
	return receiver.OrZero(q).submitTask(ctx, t, &claim{key: key, period: period})
}

// claim is the key of a submission.
type claim struct {
	key    string
	period time.Duration
	until  time.Time // the end of the present period; zero without a period
	// known is the znode of the key as it was read last, in the session readIn; it does not
	// exist before that. bucket is its folder, as it was read before the key.
	known, bucket stm.Node
	readIn        *session.Session
	// former is the task that had the key, which has ended; nil: none.
	former *stm.Node
	// holder is the id of the task that has the key; "" if the key was free.
	holder string
}

const (
	minPeriod = time.Second
	// clockLasts is for how long a client trusts its knowledge of the servers' time.
	clockLasts = 10 * time.Minute
)

// check checks the arguments; a submission that is not unique has no claim.
func (c *claim) check() error {
	switch {
	case c == nil:
		return nil
	case c.key == "" || len(c.key) > maxID:
		return fmt.Errorf("%w: key has %d bytes; it must have 1 to %d", ErrInvalidArgument, len(c.key), maxID)
	case c.period != 0 && c.period < minPeriod:
		return fmt.Errorf("%w: period is %v; it must be 0, or at least %v", ErrInvalidArgument, c.period, minPeriod)
	}
	return checkText("key", c.key)
}

// setPeriod finds out the present period, and marks the task as unique.
func (b *submission) setPeriod(ctx context.Context, s *session.Session, fence string) error {
	c := b.claim
	if c == nil {
		return nil
	}
	if c.period > 0 {
		now, err := b.q.serversNow(ctx, s, fence)
		if err != nil {
			return err
		}
		c.until = truncateTime(now.Truncate(c.period).Add(c.period))
	}
	b.rec.Unique, b.rec.UniqueUntil = c.key, c.until
	return nil
}

// serversNow is the servers' time, as the reply to a write of the client's own znode tells.
func (q *Queue) serversNow(ctx context.Context, s *session.Session, fence string) (time.Time, error) {
	if !q.clock.isFresh(s, clockLasts) {
		results, err := q.applyResults(ctx, func(tx *stm.Tx) error { return tx.Set(fence, nil) })
		switch {
		case errors.Is(err, session.ErrNoNode):
			q.presence.forgetPath(fence) // of a former session, or deleted by hand
			return time.Time{}, optimistic.ErrChanged
		case err != nil:
			return time.Time{}, err
		case len(results) == 0: // the reply was lost
			return time.Time{}, optimistic.ErrChanged
		}
		q.clock.noteWrite(s, results[0].Stat)
	}
	return q.clock.now(), nil
}

// addKey adds the key to the transaction of a submission.
func (b *submission) addKey(tx *stm.Tx) error {
	c := b.claim
	if c == nil {
		return nil
	}
	path, data := b.q.keyPath(c.key), encode(b.rec.toKey())
	if !c.known.Exists || c.readIn != tx.Session() { // the next session may see another ensemble
		return tx.Create(path, data, session.Persistent, b.q.create)
	}
	err := errors.Join(tx.Assume(c.bucket), tx.Assume(c.known))
	if c.former != nil {
		err = errors.Join(err, tx.Assume(*c.former))
	}
	return errors.Join(err, tx.Set(path, data))
}

// toKey is the record of the key of r, a unique task.
func (r record) toKey() uniqueKey {
	return uniqueKey{Format: format, Key: r.Unique, Task: r.ID, Run: r.Run, Until: r.UniqueUntil}
}

// decodeKey decodes the record of a key on path.
func (l layout) decodeKey(path string, data []byte) (uniqueKey, error) {
	k, err := decode[uniqueKey](data)
	if err == nil && l.keyPath(k.Key) != path {
		err = fmt.Errorf("%w: it is the record of the key %q", ErrRecord, k.Key)
	}
	if err != nil {
		return uniqueKey{}, fmt.Errorf("%s: %w", path, err)
	}
	return k, nil
}

// lookUpKey reads the key, and returns nil if the submission is decided: the key names its
// own task, or another task has the key. Otherwise the next transaction replaces the key as
// it was read, and the error is otherwise.
func (b *submission) lookUpKey(ctx context.Context, s *session.Session, otherwise error) error {
	q, c := b.q, b.claim
	path := q.keyPath(c.key)
	r := newReading(ctx, s)
	r.Sync(path)
	nodes := r.GetAll(znode.Parent(path), path) // in this order
	c.known, c.former = stm.Node{Path: path}, nil
	if r.Err != nil {
		return r.Err
	}
	node := nodes[1]
	if !node.Exists {
		return otherwise
	}
	k, err := q.decodeKey(path, node.Data)
	if err != nil {
		return err
	}
	if k.Run == b.rec.Run { // a transaction without a reply; the task may be gone by now
		b.created = true
		return nil
	}
	former, isHeld, err := b.checkHolder(ctx, s, k)
	switch {
	case err != nil:
		return err
	case isHeld:
		c.holder = k.Task
		return nil
	}
	// Only now: a reading that has failed must not replace the key.
	c.bucket = stm.Node{Path: znode.Parent(path), Exists: nodes[0].Exists, Stat: nodes[0].Stat}
	c.known, c.former, c.readIn = stm.Node{Path: path, Exists: true, Data: node.Data, Stat: node.Stat}, former, s
	return otherwise
}

// checkHolder reports whether the task that k names has the key. former is that task if it
// has ended.
func (b *submission) checkHolder(ctx context.Context, s *session.Session, k uniqueKey) (former *stm.Node, isHeld bool, err error) {
	if b.claim.period > 0 && !k.Until.IsZero() {
		return nil, !k.Until.Before(b.claim.until), nil
	}
	t, err := b.q.readTask(ctx, s, k.Task)
	switch {
	case err != nil || t == nil || t.Run != k.Run: // a run that is gone never comes back
		return nil, false, err
	case t.State.Finished():
		node := t.asNode(b.q.layout)
		return &node, false, nil
	}
	return nil, true, nil
}

// reclaimKey gives a unique task that is requeued its key again. The key is written even if
// it names the task: so a submission that has read the ended task does not replace it.
func (c *taskChange) reclaimKey(tx *stm.Tx, t *seen) error {
	if t.Unique == "" || !t.UniqueUntil.IsZero() {
		return nil
	}
	path, data := c.q.keyPath(t.Unique), encode(t.toKey())
	bucket, node, err := getBehind(tx, znode.Parent(path), path)
	if err != nil {
		return err
	}
	if !node.Exists {
		return tx.Create(path, data, session.Persistent, c.q.create)
	}
	if err := tx.Depend(bucket); err != nil {
		return err
	}
	k, err := c.q.decodeKey(path, node.Data)
	if err != nil {
		return err
	}
	if k.Run != t.Run {
		// A hint is enough: a task takes its key by a write of the key, on which the
		// transaction depends.
		other, err := tx.Peek(c.q.taskPath(k.Task))
		if err != nil {
			return err
		}
		rec, err := c.q.decodeTask(other[0].Path, other[0].Data)
		if other[0].Exists && (err != nil || rec.Run == k.Run && !rec.State.Finished()) {
			return errors.Join(err, fmt.Errorf("%w: the task %q has the key %q, and has not ended", ErrState, k.Task, t.Unique))
		}
	}
	return tx.Set(path, data)
}
