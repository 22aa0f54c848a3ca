package dispatch

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// publication is what the master publishes for Queue.Stats: the counts of the queue, in one
// small record. The record is written under the guard of the leadership, and carries its
// token: the counts of a former master are never taken for those of the present one.
type publication struct {
	// news has an element when the publisher must look: the scheduler has changed, or
	// the loop, which the publisher waits for, rests.
	news chan struct{}

	// The fields below are guarded by mastership.mu. changed: the scheduler may differ
	// from the published counts. resting: the loop waits for news, so the counts are not
	// those in the middle of a round. wanted: the publisher waits for the loop to rest.
	changed, resting, wanted bool
	// node is the record as it was published; it does not exist if that is unknown.
	node stm.Node
	// written: the record may have the token of this leadership. blocked: the record must
	// not be written, until the next audit.
	written, blocked bool
}

// wake has the publisher look.
func (p *publication) wake() {
	select {
	case p.news <- struct{}{}:
	default:
	}
}

// noteChangeLocked notes that the scheduler has changed.
func (p *publication) noteChangeLocked() {
	p.resting = false
	if !p.changed {
		p.changed = true
		p.wake()
	}
}

// noteRest notes that the loop has nothing to do.
func (t *mastership) noteRest() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.loaded < views {
		return
	}
	t.counts.resting = true
	if t.counts.wanted {
		t.counts.wanted = false
		t.counts.wake()
	}
}

// publishCounts publishes the counts until ctx ends: about once a second while they change,
// and at once when the loop rests, unless it did so very recently. It runs beside the loop,
// so that a slow write delays no task.
func (t *mastership) publishCounts(ctx context.Context) error {
	timer := time.NewTimer(0)
	defer timer.Stop()
	rate := pace{next: time.Now()}
	for {
		next, wait := t.nextCounts(&rate)
		if next != nil {
			if err := t.writeCounts(ctx, next); err != nil {
				return err
			}
			continue
		}
		timer.Stop()
		if wait > 0 {
			timer.Reset(wait)
		}
		select {
		case <-t.counts.news:
		case <-timer.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// nextCounts returns the counts to publish now; nil if there are none yet. Then wait is when
// to look again, 0 for the next news.
func (t *mastership) nextCounts(rate *pace) (next []byte, wait time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.counts
	if p.wanted = false; !p.changed || p.blocked {
		return nil, 0
	}
	now := time.Now()
	at := rate.earliest(p.resting)
	switch {
	case t.loaded < views:
		p.wanted = true
		return nil, 0
	case now.Before(at):
		if !p.resting {
			// The loop may rest before the write is due.
			p.wanted = true
		}
		return nil, at.Sub(now)
	}
	p.changed = false
	c := t.scheduler.countTasks()
	c.Token = t.l.Token()
	rate.noteWrite(now) // also for counts that have not changed: to count takes time
	if next = encode(c); p.node.Exists && bytes.Equal(p.node.Data, next) {
		return nil, 0
	}
	return next, 0
}

// writeCounts writes the record. A record that was deleted is created again, garbage is
// replaced, and a record of a newer format is left alone.
func (t *mastership) writeCounts(ctx context.Context, data []byte) error {
	t.mu.Lock()
	known := t.counts.node
	t.mu.Unlock()
	newer := false
	var results []session.Result
	err := t.retryInSession(ctx, func() (err error) {
		results, err = t.store.applyResults(ctx, func(tx *stm.Tx) error {
			err := tx.Guard(t.l.Guard())
			if err == nil && known.Exists {
				err = tx.Assume(known)
			}
			if err == nil {
				newer, err = t.putCounts(tx, data)
			}
			return err
		})
		return err
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	p := &t.counts
	switch {
	case err == nil && newer, errors.Is(err, session.ErrNoAuth) && !p.written:
		// Nothing is lost: readers do not trust the record, and read the tasks.
		p.blocked, p.changed = true, true
	case err == nil:
		p.written = true
		p.node = stm.Node{Path: t.countsPath(), Exists: true, Data: data, Stat: results[0].Stat}
	case isConflict(err) || errors.Is(err, ErrRecord):
		t.forgetCountsLocked() // the path of the queue was deleted
	default:
		return err
	}
	return nil
}

// putCounts sets or creates the record, unless it is of a newer format.
func (t *mastership) putCounts(tx *stm.Tx, data []byte) (newer bool, err error) {
	path := t.countsPath()
	now, err := tx.Get(path)
	if err != nil {
		return false, err
	}
	if !now.Exists {
		return false, tx.Create(path, data, session.Persistent, t.create)
	}
	if _, err := decode[counts](now.Data); isNewer(err) {
		return true, nil
	}
	return false, tx.Set(path, data)
}

// forgetCountsLocked has the record written again, whatever it is now.
func (t *mastership) forgetCountsLocked() {
	t.counts.node, t.counts.blocked, t.counts.changed = stm.Node{}, false, true
	t.counts.wake()
}

// auditCounts has the record written again if it was deleted or overwritten by hand. Of a
// hidden record that was written, nothing is known.
func (t *mastership) auditCounts(record session.Seen, hidden bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	node := t.counts.node
	if t.counts.blocked || !hidden && node.Exists && (!record.Exists || record.Stat.Mzxid != node.Stat.Mzxid) {
		t.forgetCountsLocked()
	}
}
