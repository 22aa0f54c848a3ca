package dispatch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// A change of a schedule whose reply is missing may have been carried out, and another client
// may have changed the schedule since: so the change is repeated only if the znodes are as the
// attempt without a reply has read them. Zxids tell, since none ever comes twice.

// scheduleChange is one call that changes the schedule at path.
type scheduleChange struct {
	q    *Queue
	path string
	// was and signal are the schedule, and the znode that tells of changes, as the last
	// attempt has read them.
	was, signal stm.Node
	// unanswered: the reply to an attempt is missing.
	unanswered bool
}

// errScheduleChanged: a change was not answered, and the schedule has changed meanwhile.
var errScheduleChanged = errors.New("another client has changed schedules meanwhile")

// apply changes the schedule, and tells the masters, unless change reports that nothing changes.
func (c *scheduleChange) apply(ctx context.Context, op string, change func(tx *stm.Tx) (bool, error)) error {
	q, isUnknown := c.q, false
	err := retryConflicts(ctx, q.client, func(*session.Session) error {
		err := q.applyTxn(ctx, func(tx *stm.Tx) error {
			c.unanswered = c.unanswered || tx.Unanswered()
			changed, err := change(tx)
			if err != nil || !changed {
				return err
			}
			return tx.Put(q.signalPath(), nil)
		})
		if isUnknown = errors.Is(err, errScheduleChanged); isUnknown {
			return nil // not to be repeated
		}
		if at, reason := optimistic.Culprit(err); !errors.Is(reason, session.ErrNoNode) || at != c.path && at != q.signalPath() {
			return err
		}
		// The queue, or one of the folders, is new, or was deleted by hand.
		if err := q.ensureFolders(ctx); err != nil {
			return err
		}
		if err := q.ensurePath(ctx, q.at(schedulesDir)); err != nil {
			return err
		}
		return optimistic.ErrChanged
	})
	if isUnknown {
		err = errScheduleChanged
	}
	if err != nil && c.unanswered && !errors.Is(err, session.ErrUnknownOutcome) {
		err = &session.UnknownOutcomeError{Op: op, Path: c.path, Reason: err}
	}
	return err
}

// replaceSchedule replaces the schedule now, which was read with the znode that tells of
// changes, and reports whether that changes anything.
func (c *scheduleChange) replaceSchedule(tx *stm.Tx, now, signal stm.Node, def definition, payload []byte) (bool, error) {
	former, formerPayload, err := c.q.decodeSchedule(now.Path, now.Data)
	switch {
	case now.Exists && err == nil && former.Equal(def) && bytes.Equal(formerPayload, payload):
		return false, nil // also by an attempt without a reply
	case c.unanswered && c.hasChanged(now, signal):
		return false, errScheduleChanged
	case now.Exists && isNewer(err):
		return false, err
	}
	c.was, c.signal = now, signal
	if !now.Exists {
		return true, tx.Create(now.Path, taskformat.EncodeSchedule(def, payload), session.Persistent, c.q.create)
	}
	if err == nil && former.SameSlots(def) { // garbage is replaced
		def.Since = former.Begin(time.UnixMilli(now.Stat.Mtime)).UTC()
	}
	return true, tx.Set(now.Path, taskformat.EncodeSchedule(def, payload))
}

// hasChanged reports whether the schedule may have changed since the last attempt. One that did
// not exist may have come and gone, which only the znode that tells of changes would show.
func (c *scheduleChange) hasChanged(now, signal stm.Node) bool {
	return now.Stat.Mzxid != c.was.Stat.Mzxid || !now.Exists && signal.Stat.Mzxid != c.signal.Stat.Mzxid
}

// deleteSchedule deletes the schedule, and reports whether it exists.
func (c *scheduleChange) deleteSchedule(tx *stm.Tx) (bool, error) {
	// By itself: the absence of one znode is proved by a read.
	now, err := tx.Get(c.path)
	switch {
	case err != nil || !now.Exists:
		return false, err
	case c.unanswered && now.Stat.Czxid != c.was.Stat.Czxid:
		return false, nil // deleted during the call, and created by another client
	}
	if _, _, err := c.q.decodeSchedule(c.path, now.Data); isNewer(err) {
		return false, err
	}
	c.was = now
	nodes, err := tx.GetAll(lastPath(c.path), c.q.signalPath())
	if err == nil && nodes[0].Exists {
		err = tx.Delete(nodes[0].Path)
	}
	return true, errors.Join(err, tx.Delete(c.path))
}
