package keeping

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// createOwn registers want where no znode of ours exists.
//
// It does not use session.CreateProtected: names are not unique here, so that our znode
// is recognized by its data as well as by its owner, and a znode that was created in
// vain must not be deleted before its owner is checked.
func (t *registrar) createOwn(ctx context.Context, want *Entry) error {
	t.stopWatching(nil)
	if err := t.takeExisting(ctx, want); err != nil || t.have != nil {
		return err
	}
	for lost := 0; ; {
		if err := t.givenUp(want); err != nil {
			return err
		}
		if err := t.checkNotLeaving(want); err != nil {
			return err
		}
		if err := t.takeOver(ctx, want); err != nil || t.have != nil {
			return err
		}
		node, watch, err := t.sendCreate(ctx, want)
		switch {
		case err == nil:
			if t.takeOwn(want, node, watch) {
				return nil
			}
			stopWatch(watch)
			if err := t.onReplaced(ctx, want); err != nil || t.have != nil {
				return err
			}
		case errors.Is(err, session.ErrNoNode):
			if err := t.s.EnsurePath(ctx, want.Dir, t.k.cfg.Parent, t.createOptions()); err != nil {
				return err
			}
		case errors.Is(err, session.ErrNodeExists):
			stopWatch(watch)
			if err := t.onNameTaken(ctx, want); err != nil || t.have != nil {
				return err
			}
		case errors.Is(err, session.ErrUnknownOutcome):
			t.noteUnanswered(want)
			if err := t.resolveOutcome(ctx, want, lost); err != nil || t.have != nil {
				return err
			}
			lost++
		default:
			return err
		}
	}
}

// takeExisting takes over a znode that a first registration that is given up must leave as it
// is. Servers do not say which client has created a znode without a session. If a creation
// gets no answer, a znode of the path could be the one that the creation has made, or one
// that existed before: takeExisting looks for the latter before the creation is sent. A
// znode that another client creates between the look and the creation, with the same data,
// counts as ours.
func (t *registrar) takeExisting(ctx context.Context, want *Entry) error {
	if !t.leavesExisting(want) || want.Adopt == nil {
		return nil
	}
	if err := t.checkNotLeaving(want); err != nil {
		return err
	}
	exists := false
	err := t.s.ReadFresh(ctx, want.Path(), func() (err error) {
		_, exists, err = t.s.Exists(ctx, want.Path())
		return err
	})
	switch {
	case errors.Is(err, session.ErrNoAuth): // it exists: the creation will say so
		return nil
	case err != nil || !exists:
		return err
	}
	return t.onNameTaken(ctx, want)
}

// leavesExisting reports whether a znode that existed before stays if the registration is
// given up at this point, unlike a znode that the registration has created.
func (t *registrar) leavesExisting(want *Entry) bool {
	return want.Folder && !want.Stays && t.settled == nil
}

// sendCreate sends the creation, and right behind it the request that sets the watch.
func (t *registrar) sendCreate(ctx context.Context, want *Entry) (session.Node, *session.Watch, error) {
	if want.sequential() { // its path is not known yet
		node, err := t.s.Create(ctx, want.Path(), want.Data, want.Mode, t.optionsOf(want))
		return node, nil, err
	}
	creation := t.s.StartCreate(want.Path(), want.Data, want.Mode, t.optionsOf(want))
	look := t.s.StartExists(want.Path(), true)
	node, err := creation.Wait(ctx)
	seen, failed := look.Wait(ctx)
	if session.NotSent(err) {
		if failed == nil {
			stopWatch(seen.Watch)
		}
		// Create waits for a connection.
		node, err = t.s.Create(ctx, want.Path(), want.Data, want.Mode, t.optionsOf(want))
		return node, nil, err
	}
	if failed == nil && (err != nil || !seen.Exists || seen.Stat.Czxid != node.Stat.Czxid || seen.Watch.Fired()) {
		// Otherwise the hold would take the deletion of the previous node for the
		// deletion of ours.
		stopWatch(seen.Watch)
		seen.Watch = nil
	}
	return node, seen.Watch, err
}

// takeOwn makes a node ours, unless it belongs to another registration of this process.
func (t *registrar) takeOwn(e *Entry, node session.Node, watch *session.Watch) bool {
	if !t.k.cfg.Owned.own(t.k, node.Path, node.Stat.Czxid) {
		return false
	}
	t.have = &place{entry: e, path: node.Path, czxid: node.Stat.Czxid, version: node.Stat.Version}
	t.watch = watch
	return true
}

// resolveOutcome finds out whether a creation whose answer was lost has happened.
func (t *registrar) resolveOutcome(ctx context.Context, want *Entry, lost int) error {
	t.backOff(lost)
	found, err := t.findOwn(ctx, want)
	if err != nil {
		t.pendingCreation = want
	}
	if err == nil && found != nil {
		t.have = found
	}
	return err
}

// onReplaced handles that another registration of this process, which has the same data
// and had lost its answer, has found our node first: the node belongs to that
// registration. The node that the other registration may have created before, and looks
// for no more, is then ours, or belongs to none.
func (t *registrar) onReplaced(ctx context.Context, want *Entry) error {
	return t.resolveOutcome(ctx, want, 0)
}

// resolvePendingCreation finds out whether the znode exists whose creation the
// former session has left without a known outcome. An ephemeral znode of that
// session is among the formers.
func (t *registrar) resolvePendingCreation(ctx context.Context) error {
	found, err := t.findOwn(ctx, t.pendingCreation)
	if err != nil {
		return err
	}
	if found != nil {
		t.k.cfg.Owned.release(t.have)
		t.stopWatching(nil)
		t.have = found
	}
	t.pendingCreation = nil
	return nil
}

// awaitCarriedOut waits until every request that reached the leader before has been
// carried out; the leader refuses requests that reach it later from a lost connection.
// A sync is answered too early for that (see session.Session.CreateProtected).
func (t *registrar) awaitCarriedOut(ctx context.Context, dir string) error {
	for lost := 0; ; lost++ {
		_, err := t.s.Txn(ctx, session.CheckOp(dir, -1))
		var verdict *session.TxnError
		switch {
		case err == nil, errors.As(err, &verdict):
			t.open = false
			return nil // a refusal is an answer, too
		case !errors.Is(err, session.ErrUnknownOutcome) || t.s.Err() != nil:
			return err
		}
		t.backOff(lost)
	}
}

// findOwn looks for the node of an entry that we may have created, in the state after
// the creation. While the node that a move would have deleted exists, the move has not
// happened: a node that looks like ours belongs to another client.
func (t *registrar) findOwn(ctx context.Context, want *Entry) (*place, error) {
	if err := t.awaitCarriedOut(ctx, want.Dir); err != nil {
		return nil, err
	}
	if t.have != nil {
		if ours, err := t.isStillOurs(ctx); err != nil || ours {
			return nil, err
		}
	}
	owner := int64(0)
	if want.Ephemeral() {
		owner = t.s.ID()
	}
	return t.findMade(ctx, want, owner)
}

// findMade looks for a node of want's that owner has made, of which no answer says the
// path or the czxid: only its data tells it from the nodes of others in this process.
//
// Another registration with the same data may have taken the node that we have created,
// and have left us its own, which our list need not have had yet. Therefore findMade lists
// again until it meets no further node of another registration: the znode that the other
// registration has created is in a list that the session reads after that.
func (t *registrar) findMade(ctx context.Context, want *Entry, owner int64) (*place, error) {
	taken := map[string]bool{} // paths of nodes that look like ours, and are another registration's
	for {
		names, err := t.namesOf(ctx, want)
		if err != nil {
			return nil, err
		}
		known := len(taken)
		for _, name := range names {
			path := znode.Join(want.Dir, name)
			if taken[path] {
				continue
			}
			data, stat, err := t.readOwn(ctx, path, owner)
			switch {
			case errors.Is(err, session.ErrNoNode):
				continue
			case err != nil:
				return nil, err
			case stat.EphemeralOwner != owner || !want.isMadeOf(data):
				continue
			}
			if t.k.cfg.Owned.own(t.k, path, stat.Czxid) {
				// Another client may have written into it.
				return &place{entry: want.withData(data), path: path, czxid: stat.Czxid, version: stat.Version}, nil
			}
			taken[path] = true
		}
		if len(taken) == known || !want.sequential() {
			return nil, nil
		}
	}
}

// namesOf returns the names that a node of want's can have.
func (t *registrar) namesOf(ctx context.Context, want *Entry) ([]string, error) {
	if !want.sequential() {
		return []string{want.Name}, nil
	}
	names, _, err := t.s.Children(ctx, want.Dir)
	if err != nil && !errors.Is(err, session.ErrNoNode) {
		return nil, err
	}
	return slices.DeleteFunc(names, func(name string) bool { return !sequentialOf(name, want.Name) }), nil
}

// readOwn reads a node that may be owner's. The node of another owner need not be
// readable: if the servers let every client see the owner, readOwn returns only the
// stat of such a node. If they do not, a node that cannot be read belongs to another
// owner, too.
func (t *registrar) readOwn(ctx context.Context, path string, owner int64) ([]byte, session.Stat, error) {
	data, stat, err := t.s.Get(ctx, path)
	if !errors.Is(err, session.ErrNoAuth) {
		return data, stat, err
	}
	stat, exists, e := t.s.Exists(ctx, path)
	switch {
	case errors.Is(e, session.ErrNoAuth): // since 3.9.3 servers do not answer clients that may not read
		return nil, stat, session.ErrNoNode
	case e != nil:
		return nil, stat, e
	case !exists:
		return nil, stat, session.ErrNoNode
	case stat.EphemeralOwner == owner:
		return nil, stat, err
	}
	return nil, stat, nil
}
