package keeping

import (
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// watchOwn watches over have, and tells that it is registered.
func (t *registrar) watchOwn(ctx context.Context) error {
	if t.watching {
		return nil
	}
	if t.have.entry.Ephemeral() {
		hold, err := t.s.Hold(t.k.idle, t.have.path, t.watch)
		if err != nil {
			if errors.Is(err, session.ErrNoNode) {
				err = errGone
			}
			return err
		}
		t.hold, t.watch, t.ctx = hold, nil, hold.Context()
	} else {
		if err := t.watchPersistent(); err != nil {
			return err
		}
		if t.ctx == nil {
			t.ctx, t.end = session.WithHolds(ctx) // with no hold: it has no session
		}
	}
	t.watching, t.unseen = true, false
	t.k.setRegistered(t.ctx, t.have, t.guard())
	return nil
}

// guard is a check of have. An ephemeral znode is checked in its own session alone: in
// any other session, the request could meet the znode of another client that has the
// name by then.
func (t *registrar) guard() session.Op {
	check := t.s.CheckOp(t.have.path, -1)
	if t.have.entry.Ephemeral() {
		return check.In(t.s)
	}
	return check
}

// watchPersistent makes sure that a node that goes with no session is still ours, and
// watches it. It ends early when no entry is wanted any more: a caller that unregisters
// gets its answer at once, also while there is no connection. Servers from 3.9.3 on say of a
// node that may not be read only that it exists, and accept no watch: awaitChange
// repeats the question.
func (t *registrar) watchPersistent() error {
	if t.watch != nil {
		return nil
	}
	stat, exists, watch, err := t.s.ExistsW(t.k.idle, t.have.path)
	if errors.Is(err, session.ErrNoAuth) {
		return nil
	}
	if err != nil {
		return err
	}
	t.watch = watch
	if !exists || stat.Czxid != t.have.czxid {
		return errGone
	}
	return nil
}

// awaitChange waits until there is something to do: another request, have may have gone, a
// former znode is still to be deleted, or have, which cannot be watched, is to be looked at.
func (t *registrar) awaitChange() {
	gone := t.s.Context().Done()
	if t.hold != nil {
		gone = t.hold.Context().Done()
	}
	var changed <-chan struct{}
	if t.watch != nil {
		changed = t.watch.Done()
	}
	var again <-chan time.Time
	unwatched := t.hold == nil && t.watch == nil
	if len(t.formers) > 0 || unwatched {
		pause := hiddenPause
		if len(t.formers) > 0 {
			pause = t.racePause()
		}
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	select {
	case <-t.k.wake:
	case <-again:
		if unwatched {
			t.stopWatching(nil)
		}
	case <-gone:
		t.onHoldEnded()
	case <-changed:
		t.stopWatching(nil)
	}
}

// onHoldEnded looks why the hold has ended.
func (t *registrar) onHoldEnded() {
	if t.hold != nil && errors.Is(t.hold.Err(), session.ErrNodeDeleted) {
		t.forgetOwn(errGone)
		return
	}
	// With a reserve, holds end before their session does; the session takes no new
	// hold any more.
	<-t.s.Context().Done()
}

// stopWatching ends the watching. With a cause it ends the registration's context.
func (t *registrar) stopWatching(cause error) {
	t.watching = false
	stopWatch(t.watch)
	t.watch = nil
	if cause == nil {
		return
	}
	if t.hold != nil {
		t.hold.End(cause)
		t.hold = nil
	}
	if t.end != nil {
		t.end(cause)
		t.end = nil
	}
	t.ctx = nil
}

// endWatching ends the watching by its owner's will, over a node that is going to be
// deleted.
func (t *registrar) endWatching() {
	t.observed.Ending()
	if t.watch != nil {
		t.watch.Abandon()
		t.watch = nil
	}
	t.stopWatching(session.ErrReleased)
}

// stopWatch stops w, if there is one.
func stopWatch(w *session.Watch) {
	if w != nil {
		w.Stop()
	}
}
