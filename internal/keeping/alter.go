package keeping

import (
	"bytes"
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// setData replaces the data of have, and of no other client's node: the known version
// is a condition. If an answer was lost, setData looks before it repeats the set: whether
// the first one was carried out, and whether the node is ours.
//
// A version is not an identity. When another client deletes our node and another
// process registers under the name, the new node has version 0 as ours had, and a set
// that is sent before the deletion is reported hits the wrong node. ZooKeeper has no
// request that could tell the nodes apart; the answer's czxid does, and then we give
// the node up at least.
func (t *registrar) setData(ctx context.Context, want *Entry) error {
	if err := t.recognizeOwn(ctx); err != nil {
		return err
	}
	guessed := false
	for lost := 0; ; {
		stat, err := t.s.Set(ctx, t.have.path, want.Data, t.have.version)
		if errors.Is(err, session.ErrUnknownOutcome) {
			t.noteUnanswered(nil)
			t.have.unanswered, guessed = err, false
		}
		switch {
		case err == nil && stat.Czxid == t.have.czxid:
			t.have.version, t.have.entry, t.have.unanswered = stat.Version, want, nil
			return nil
		case err == nil, errors.Is(err, session.ErrNoNode):
			return errGone
		case t.s.Err() != nil:
			// If it was carried out, a node that goes with no session says
			// it: that is compared in the next one, by its version.
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			t.backOff(lost)
			lost++
			if err := t.awaitCarriedOut(ctx, t.have.entry.Dir); err != nil {
				return err
			}
			err = t.learnData(ctx, want)
			if errors.Is(err, session.ErrNoAuth) {
				err = nil // what may be written need not be readable
			}
			if err == nil {
				err = t.givenUp(want)
			}
			if err != nil || t.have.entry == want {
				return err
			}
		case errors.Is(err, session.ErrBadVersion):
			err := t.learnData(ctx, want)
			hidden := errors.Is(err, session.ErrNoAuth) && t.have.unanswered != nil
			switch {
			case hidden && !guessed:
				// If the set without an answer was carried out, and no other client has
				// written since, the version is the next one.
				t.have.version++
				guessed = true
			case hidden:
				err, t.have.unanswered = t.have.unanswered, nil
				return err
			case err != nil || t.have.entry == want:
				return err
			}
		default:
			return err
		}
	}
}

// confirmData makes sure that have has the data of want, which it had when that data was
// written or read last: another client may have written since, without a word to us. The
// read comes behind a transaction that only checks, so that a server that lags behind
// does not hide the other client's write. Without a change, no write is sent, and no
// client that watches the znode is woken.
func (t *registrar) confirmData(ctx context.Context, want *Entry) error {
	err := t.s.ReadFresh(ctx, t.have.path, func() error { return t.learnData(ctx, want) })
	switch {
	case err == nil && t.have.entry == want:
		return nil
	case err == nil, errors.Is(err, session.ErrNoAuth): // what may be written need not be readable
		if err := t.givenUp(want); err != nil {
			return err
		}
		return t.setData(ctx, want)
	}
	return err
}

// learnData learns the version of have, and whether have has the wanted data. If have may
// not be read, learnData learns the version alone; servers from 3.9.3 on hide the version,
// too.
func (t *registrar) learnData(ctx context.Context, want *Entry) error {
	data, stat, err := t.s.Get(ctx, t.have.path)
	switch {
	case errors.Is(err, session.ErrNoAuth):
		ours, err := t.isStillOurs(ctx)
		if err == nil && !ours {
			err = errGone
		}
		return err
	case errors.Is(err, session.ErrNoNode), err == nil && stat.Czxid != t.have.czxid:
		return errGone
	case err != nil:
		return err
	}
	t.have.version, t.have.unanswered = stat.Version, nil
	if bytes.Equal(data, want.Data) {
		t.have.entry = want
	}
	return nil
}

// deleteOwn deletes have, if it is still ours.
func (t *registrar) deleteOwn(ctx context.Context) error {
	look := !t.watching // it may be that we know it from an earlier session
	if t.have.entry.Folder {
		// The znode may stay. If it does not, the watch has fired by the time of the
		// reply, and stopping it costs no request.
		defer stopWatch(t.watch)
		t.watch = nil
	}
	t.endWatching()
	t.k.setUnregistered(t.why, false) // before another client can register the name
	if t.have.stays() {
		return t.freeIfGone(nil)
	}
	// Servers from 3.9.3 on hide a node that may not be read. Its version must do then,
	// unless a deletion got no answer: the node may be another client's by now.
	var hidden error
	for {
		if look {
			ours, err := t.isStillOurs(ctx)
			switch {
			case errors.Is(err, session.ErrNoAuth) && (!t.have.deleted || t.have.entry.unique()):
				hidden = err
			case err != nil || !ours:
				return t.freeIfGone(err)
			}
		}
		err := t.s.Delete(ctx, t.have.path, t.have.version)
		if errors.Is(err, session.ErrUnknownOutcome) {
			t.noteUnanswered(nil)
		}
		switch {
		case err == nil, errors.Is(err, session.ErrNoNode):
			return t.freeIfGone(nil)
		case errors.Is(err, session.ErrUnknownOutcome):
			// If the deletion was carried out, another client may have taken the name:
			// look once no request of ours is in flight any more.
			t.have.deleted = true
			if err := t.awaitCarriedOut(ctx, t.have.entry.Dir); err != nil {
				return err
			}
		case errors.Is(err, session.ErrBadVersion):
			if hidden != nil {
				return hidden
			}
		case errors.Is(err, session.ErrNotEmpty) && t.have.entry.Folder:
			if t.have.entry.Mode != session.Container { // which goes with its last child
				t.why = err
			}
			return t.freeIfGone(nil)
		default:
			return err
		}
		look = true
	}
}

// freeIfGone notes that have does not exist any more, or is not ours any more, unless err says
// that this is not known.
func (t *registrar) freeIfGone(err error) error {
	if err == nil {
		t.k.cfg.Owned.release(t.have)
		t.have = nil
		t.reportEnd(nil)
	}
	return err
}

// isStillOurs reports whether have is the node that we made, and learns its version.
func (t *registrar) isStillOurs(ctx context.Context) (bool, error) {
	stat, exists, err := t.s.Exists(ctx, t.have.path)
	if err != nil || !exists || stat.Czxid != t.have.czxid {
		return false, err
	}
	t.have.version, t.have.unanswered, t.have.deleted = stat.Version, nil, false
	return true, nil
}

// recognizeOwn makes sure that have, if it is known from an earlier session or connection, is
// still ours. Without a connection, no watch has reported that another client deleted the znode, and that
// another process created one of the same name and version. The known version stays: it tells
// whether an earlier write was carried out.
func (t *registrar) recognizeOwn(ctx context.Context) error {
	if !t.unseen {
		return nil
	}
	stat, exists, err := t.s.Exists(ctx, t.have.path)
	switch {
	case errors.Is(err, session.ErrNoAuth): // what may be written need not be readable
	case err != nil:
		return err
	case !exists || stat.Czxid != t.have.czxid:
		return errGone
	}
	t.unseen = false
	return nil
}
