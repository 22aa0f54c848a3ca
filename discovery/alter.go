package discovery

import (
	"bytes"
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// set replaces the data of have, and nobody else's: the version that we know is
// a condition. That makes it safe to send it again when the answer was lost; if
// the first one was carried out, the second is not, and the data is ours.
//
// A version is not an identity. When somebody deletes our node and another
// process registers under the name, its node has version 0 as ours had, and a set
// that is sent before we hear of it hits the wrong one. ZooKeeper has no request
// that could tell; the answer's czxid does, and we give the node up at least.
func (t *tenure) set(ctx context.Context, want *entry) error {
	for lost := 0; ; {
		stat, err := t.s.Set(ctx, t.have.path, want.data, t.have.version)
		if errors.Is(err, session.ErrUnknownOutcome) {
			t.unanswered(nil)
		}
		switch {
		case err == nil && stat.Czxid == t.have.czxid:
			t.have.version, t.have.entry = stat.Version, want
			return nil
		case err == nil, errors.Is(err, session.ErrNoNode):
			return errGone
		case t.s.Err() != nil:
			// If it was carried out, a node that goes with no session says
			// it: that is compared in the next one, by its version.
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			t.calm(lost)
			lost++
		case errors.Is(err, session.ErrBadVersion):
			data, stat, err := t.s.Get(ctx, t.have.path)
			switch {
			case errors.Is(err, session.ErrNoNode), err == nil && stat.Czxid != t.have.czxid:
				return errGone
			case err != nil:
				return err
			}
			t.have.version = stat.Version
			if bytes.Equal(data, want.data) {
				t.have.entry = want
				return nil
			}
		default:
			return err
		}
	}
}

// remove deletes have, if it is still ours.
func (t *tenure) remove(ctx context.Context) error {
	look := !t.armed // it may be that we know it from an earlier session
	t.abandon()
	t.k.fall(t.why, false) // before somebody else can have the name
	for {
		if look {
			if ours, err := t.still(ctx); err != nil || !ours {
				return t.dropped(err)
			}
		}
		err := t.s.Delete(ctx, t.have.path, t.have.version)
		if errors.Is(err, session.ErrUnknownOutcome) {
			t.unanswered(nil)
		}
		switch {
		case err == nil, errors.Is(err, session.ErrNoNode):
			return t.dropped(nil)
		case t.s.Err() != nil:
			return err
		case errors.Is(err, session.ErrUnknownOutcome):
			// Had it been carried out, somebody else may have come: look
			// once nothing of ours is under way any more.
			if err := t.settle(ctx, t.have.entry.dir); err != nil {
				return err
			}
		case errors.Is(err, session.ErrBadVersion):
		default:
			return err
		}
		look = true
	}
}

// dropped notes that have is no longer there, or not ours, unless err says that
// this is not known.
func (t *tenure) dropped(err error) error {
	if err == nil {
		t.k.claims.free(t.have)
		t.have = nil
	}
	return err
}

// still reports whether have is the node that we made, and learns its version.
func (t *tenure) still(ctx context.Context) (bool, error) {
	stat, exists, err := t.s.Exists(ctx, t.have.path)
	if err != nil || !exists || stat.Czxid != t.have.czxid {
		return false, err
	}
	t.have.version = stat.Version
	return true, nil
}

// move registers want instead of have, in one transaction.
func (t *tenure) move(ctx context.Context, want *entry) error {
	// The old registration ends by its owner's will. If that were said after
	// the transaction, the watch for the deletion would be faster.
	t.abandon()
	for lost := 0; ; {
		results, err := t.s.Txn(ctx,
			session.DeleteOp(t.have.path, t.have.version),
			session.CreateOp(want.path(), want.data, want.mode, t.options()))
		var failed *session.TxnError
		switch {
		case err == nil:
			return t.arrive(ctx, want, results[1].Path)
		case errors.Is(err, session.ErrUnknownOutcome):
			t.unanswered(want)
			if done, err := t.moved(ctx, want, lost); err != nil || done {
				return err
			}
			lost++
		case !errors.As(err, &failed):
			return err
		case failed.Index == 0 && (errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrBadVersion)):
			if ours, err := t.still(ctx); err != nil {
				return err
			} else if !ours {
				return errGone
			}
		case errors.Is(err, session.ErrNoNode):
			if err := t.s.EnsurePath(ctx, want.dir, t.k.parent, t.options()); err != nil {
				return err
			}
		case errors.Is(err, session.ErrNodeExists):
			if err := t.taken(ctx, want); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// arrive takes the node that a transaction has created. The answer has no stat.
func (t *tenure) arrive(ctx context.Context, want *entry, path string) error {
	t.k.claims.free(t.have)
	t.have, t.doubt = nil, want
	stat, exists, watch, err := t.s.ExistsW(ctx, path)
	if err != nil {
		return err // the next session finds out
	}
	t.doubt = nil
	owner := int64(0)
	if want.ephemeral() {
		owner = t.s.ID()
	}
	if exists && stat.EphemeralOwner == owner {
		if t.take(want, session.Node{Path: path, Stat: stat}, watch) {
			return nil
		}
		if err := t.swapped(ctx, want); err != nil || t.have != nil {
			stop(watch)
			return err
		}
	}
	stop(watch)
	return errGone // deleted meanwhile
}

// moved finds out whether a move whose answer was lost has happened.
func (t *tenure) moved(ctx context.Context, want *entry, lost int) (bool, error) {
	old := t.have
	if err := t.findOut(ctx, want, lost); err != nil || t.have == old {
		return false, err
	}
	t.k.claims.free(old)
	return true, nil
}

// taken looks at who has the name that we want to move to; nil if that one has
// gone meanwhile. What is there is never adopted: the transaction has to create.
func (t *tenure) taken(ctx context.Context, want *entry) error {
	strict := *want
	strict.adopt = nil
	return t.present(ctx, &strict)
}
