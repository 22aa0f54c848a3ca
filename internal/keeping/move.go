package keeping

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/session"
)

// moveTo registers want instead of have, in one transaction.
func (t *registrar) moveTo(ctx context.Context, want *Entry) error {
	// The old registration ends by its owner's will. If that were said after
	// the transaction, the watch for the deletion would be faster.
	t.endWatching()
	if err := t.recognizeOwn(ctx); err != nil {
		return err
	}
	for lost := 0; ; {
		results, err := t.s.Txn(ctx,
			session.DeleteOp(t.have.path, t.have.version),
			session.CreateOp(want.Path(), want.Data, want.Mode, t.optionsOf(want)))
		var failed *session.TxnError
		switch {
		case err == nil:
			return t.takeMoved(ctx, want, results[1].Path)
		case errors.Is(err, session.ErrUnknownOutcome):
			t.noteUnanswered(want)
			if done, err := t.resolveMove(ctx, want, lost); err != nil || done {
				return err
			}
			t.unseen = true
			if err := t.recognizeOwn(ctx); err != nil {
				return err
			}
			lost++
		case !errors.As(err, &failed):
			return err
		case failed.Index == 0 && (errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrBadVersion)):
			if ours, err := t.isStillOurs(ctx); err != nil {
				return err
			} else if !ours {
				return errGone
			}
		case errors.Is(err, session.ErrNoNode):
			if err := t.s.EnsurePath(ctx, want.Dir, t.k.cfg.Parent, t.createOptions()); err != nil {
				return err
			}
		case errors.Is(err, session.ErrNodeExists):
			if err := t.awaitFreeName(ctx, want); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// takeMoved takes the node that a transaction has created. The answer has no stat.
func (t *registrar) takeMoved(ctx context.Context, want *Entry, path string) error {
	t.k.cfg.Owned.release(t.have)
	t.have, t.pendingCreation = nil, want
	stat, exists, watch, err := t.s.ExistsW(ctx, path)
	if err != nil {
		return err // the next call of advanceTo, perhaps in the next session, finds out
	}
	t.pendingCreation = nil
	owner := int64(0)
	if want.Ephemeral() {
		owner = t.s.ID()
	}
	if exists && stat.EphemeralOwner == owner {
		if t.takeOwn(want, session.Node{Path: path, Stat: stat}, watch) {
			return nil
		}
		err = t.onReplaced(ctx, want)
	}
	stopWatch(watch)
	if err == nil && t.have == nil {
		return errGone // deleted meanwhile
	}
	return err
}

// resolveMove finds out whether a move whose answer was lost has happened.
func (t *registrar) resolveMove(ctx context.Context, want *Entry, lost int) (bool, error) {
	old := t.have
	if err := t.resolveOutcome(ctx, want, lost); err != nil || t.have == old {
		return false, err
	}
	t.k.cfg.Owned.release(old)
	return true, nil
}

// awaitFreeName looks at the znode that has the name that we want to move to; nil if
// that znode has gone meanwhile. An existing znode is never adopted: the transaction
// has to create.
func (t *registrar) awaitFreeName(ctx context.Context, want *Entry) error {
	strict := *want
	strict.Adopt = nil
	return t.onNameTaken(ctx, &strict)
}
