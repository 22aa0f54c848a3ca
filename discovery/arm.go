package discovery

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// arm watches over have, and tells that it is registered.
func (t *tenure) arm(ctx context.Context) error {
	if t.armed {
		return nil
	}
	if t.have.entry.ephemeral() {
		hold, err := t.s.Hold(t.k.idle, t.have.path, t.watch)
		if err != nil {
			if errors.Is(err, session.ErrNoNode) {
				err = errGone
			}
			return err
		}
		t.hold, t.watch, t.ctx = hold, nil, hold.Context()
	} else {
		if err := t.look(); err != nil {
			return err
		}
		if t.ctx == nil {
			t.ctx, t.end = context.WithCancelCause(ctx)
		}
	}
	t.armed = true
	t.k.enter(t.ctx, t.have)
	return nil
}

// look makes sure that a node that goes with no session is still ours, and
// watches it. It ends early when nothing is wanted any more: who unregisters is
// told so at once, also while there is no connection.
func (t *tenure) look() error {
	if t.watch != nil {
		return nil
	}
	stat, exists, watch, err := t.s.ExistsW(t.k.idle, t.have.path)
	if err != nil {
		return err
	}
	t.watch = watch
	if !exists || stat.Czxid != t.have.czxid {
		return errGone
	}
	return nil
}

// rest waits until there is something to do: another wish, or have may have gone.
func (t *tenure) rest() {
	gone := t.s.Context().Done()
	if t.hold != nil {
		gone = t.hold.Context().Done()
	}
	var changed <-chan struct{}
	if t.watch != nil {
		changed = t.watch.Done()
	}
	select {
	case <-t.k.wake:
	case <-gone:
		t.lost()
	case <-changed:
		t.disarm(nil)
	}
}

// lost looks why the hold has ended.
func (t *tenure) lost() {
	if t.hold != nil && errors.Is(t.hold.Err(), session.ErrNodeDeleted) {
		t.forget(errGone)
		return
	}
	// With a reserve, holds end before their session does; nothing can be
	// held in it any more.
	<-t.s.Context().Done()
}

// disarm ends the watching. With a cause it ends the registration's context.
func (t *tenure) disarm(cause error) {
	t.armed = false
	stop(t.watch)
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

// abandon ends the watching by its owner's will, over a node that is going to be
// deleted.
func (t *tenure) abandon() {
	if t.watch != nil {
		t.watch.Forget()
		t.watch = nil
	}
	t.disarm(session.ErrReleased)
}

// stop stops w, if there is one.
func stop(w *session.Watch) {
	if w != nil {
		w.Stop()
	}
}
