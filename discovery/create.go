package discovery

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// create registers want where nothing of ours is.
//
// It is not session.CreateProtected: names are not unique here, so that to find
// out takes the data as well as the owner, and what was created in vain must not
// be deleted without a look at whose it is.
func (t *tenure) create(ctx context.Context, want *entry) error {
	t.disarm(nil)
	for lost := 0; ; {
		node, watch, err := t.send(ctx, want)
		switch {
		case err == nil:
			if t.take(want, node, watch) {
				return nil
			}
			stop(watch)
			if err := t.swapped(ctx, want); err != nil || t.have != nil {
				return err
			}
		case errors.Is(err, session.ErrNoNode):
			if err := t.s.EnsurePath(ctx, want.dir, t.k.parent, t.options()); err != nil {
				return err
			}
		case errors.Is(err, session.ErrNodeExists):
			stop(watch)
			if err := t.present(ctx, want); err != nil || t.have != nil {
				return err
			}
		case errors.Is(err, session.ErrUnknownOutcome):
			t.unanswered(want)
			if err := t.findOut(ctx, want, lost); err != nil || t.have != nil {
				return err
			}
			lost++
		default:
			return err
		}
	}
}

// send sends the creation, and right behind it the question that sets the watch.
func (t *tenure) send(ctx context.Context, want *entry) (session.Node, *session.Watch, error) {
	if want.sequential() { // its path is not known yet
		node, err := t.s.Create(ctx, want.path(), want.data, want.mode, t.options())
		return node, nil, err
	}
	creation := t.s.StartCreate(want.path(), want.data, want.mode, t.options())
	look := t.s.StartExists(want.path(), true)
	node, err := creation.Wait(ctx)
	seen, failed := look.Wait(ctx)
	if session.NotSent(err) {
		if failed == nil {
			stop(seen.Watch)
		}
		// Create waits for a connection.
		node, err = t.s.Create(ctx, want.path(), want.data, want.mode, t.options())
		return node, nil, err
	}
	if failed == nil && (err != nil || !seen.Exists || seen.Stat.Czxid != node.Stat.Czxid || seen.Watch.Fired()) {
		// Or the hold would take the deletion of the node before ours for that of ours.
		stop(seen.Watch)
		seen.Watch = nil
	}
	return node, seen.Watch, err
}

func (t *tenure) options() *session.CreateOptions { return &session.CreateOptions{ACL: t.k.opts.ACL} }

// take makes a node ours, unless it is another registration's of this process.
func (t *tenure) take(e *entry, node session.Node, watch *session.Watch) bool {
	if !t.k.claims.take(t.k, node.Path, node.Stat.Czxid) {
		return false
	}
	t.have = &place{entry: e, path: node.Path, czxid: node.Stat.Czxid, version: node.Stat.Version}
	t.watch = watch
	return true
}

// present looks at the node that has the name already. It returns nil, and no
// have, if that has gone meanwhile.
func (t *tenure) present(ctx context.Context, want *entry) error {
	if want.sequential() {
		return fmt.Errorf("%s: %w", want.dir, session.ErrSequenceExhausted)
	}
	stat, exists, watch, err := t.s.ExistsW(ctx, want.path())
	if errors.Is(err, session.ErrNoAuth) {
		return &conflictError{path: want.path(), hidden: true}
	}
	if err != nil {
		return err
	}
	if !exists {
		stop(watch)
		return nil
	}
	if want.adopt != nil && stat.EphemeralOwner == 0 {
		data, now, err := t.s.Get(ctx, want.path())
		switch {
		case errors.Is(err, session.ErrNoNode):
			stop(watch)
			return nil
		case errors.Is(err, session.ErrNoAuth): // it is not for us to take over
		case err != nil:
			stop(watch)
			return err
		case now.Czxid == stat.Czxid && want.adopt(data):
			was := *want
			was.data = data
			if t.take(&was, session.Node{Path: want.path(), Stat: now}, watch) {
				return nil
			}
		}
	}
	return &conflictError{
		path: want.path(), owner: stat.EphemeralOwner, watch: watch,
		former: want.ephemeral() && stat.EphemeralOwner != t.s.ID() && t.k.claims.used(stat.EphemeralOwner),
	}
}

// findOut looks whether a creation whose answer was lost has happened.
func (t *tenure) findOut(ctx context.Context, want *entry, lost int) error {
	t.calm(lost)
	found, err := t.find(ctx, want)
	if err != nil {
		t.doubt = want
	}
	if err == nil && found != nil {
		t.have = found
	}
	return err
}

// swapped is what follows when another registration of this process, which says the
// same and had lost its answer, has found our node first: it is that one's. Then what
// that one may have made before, which it looks for no more, is ours, or nobody's.
func (t *tenure) swapped(ctx context.Context, want *entry) error {
	return t.findOut(ctx, want, 0)
}

// resolve finds out about what the session before left in doubt. What goes with
// a session needs none of this: it is not found, or it is waited for.
func (t *tenure) resolve(ctx context.Context) error {
	found, err := t.find(ctx, t.doubt)
	if err != nil {
		return err
	}
	if found != nil {
		t.k.claims.free(t.have)
		t.disarm(nil)
		t.have = found
	}
	t.doubt = nil
	return nil
}

// settle waits until everything that reached the leader before has been carried
// out; what reaches it later from a connection that was lost it refuses. A sync
// is answered too early for that (see session.Session.CreateProtected).
func (t *tenure) settle(ctx context.Context, dir string) error {
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
		t.calm(lost)
	}
}

// find looks for the node of an entry that we may have created, in the state of
// after that. While what a move would have deleted is there, it has not happened:
// a node that looks like ours is somebody else's.
func (t *tenure) find(ctx context.Context, want *entry) (*place, error) {
	if err := t.settle(ctx, want.dir); err != nil {
		return nil, err
	}
	if t.have != nil {
		if ours, err := t.still(ctx); err != nil || ours {
			return nil, err
		}
	}
	names := []string{want.name}
	if want.sequential() {
		all, _, err := t.s.Children(ctx, want.dir)
		if err != nil && !errors.Is(err, session.ErrNoNode) {
			return nil, err
		}
		names = names[:0]
		for _, name := range all {
			if sequentialOf(name, want.name) {
				names = append(names, name)
			}
		}
	}
	owner := int64(0)
	if want.ephemeral() {
		owner = t.s.ID()
	}
	for _, name := range names {
		path := znode.Join(want.dir, name)
		data, stat, err := t.readOwn(ctx, path, owner)
		switch {
		case errors.Is(err, session.ErrNoNode):
			continue
		case err != nil:
			return nil, err
		}
		if stat.EphemeralOwner == owner && bytes.Equal(data, want.data) && t.k.claims.take(t.k, path, stat.Czxid) {
			return &place{entry: want, path: path, czxid: stat.Czxid, version: stat.Version}, nil
		}
	}
	return nil, nil
}

// readOwn reads what may be owner's. Another's need not be readable: whose it is can be
// seen by all, where servers let them, and its stat is all that is returned then. Where
// they do not, what cannot be read is another's, too.
func (t *tenure) readOwn(ctx context.Context, path string, owner int64) ([]byte, session.Stat, error) {
	data, stat, err := t.s.Get(ctx, path)
	if !errors.Is(err, session.ErrNoAuth) {
		return data, stat, err
	}
	stat, exists, e := t.s.Exists(ctx, path)
	switch {
	case errors.Is(e, session.ErrNoAuth): // servers since 3.9.3 say nothing to those who may not read
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
