package rebalanser

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// barrierTable is the table of the resources' barriers, in resource mode. A member that has
// given everything up deletes its client's node, so that all its barriers are free.
//
// Held barriers are not watched: after each lost connection, a hundred thousand watches
// would have to be set again, for barriers that only an administrator deletes. The guard of
// a resource refuses its owner then.
func (l layout) barrierTable(client *session.Client, acl []session.ACL) *locktable.Table {
	return locktable.New(client, l.dirPath(barriersDir), &locktable.Options{
		Owners: l.dirPath(clientsDir), OwnerName: shareformat.IsClient, Unwatched: true, ACL: acl,
	})
}

// acquireBarriers takes barriers until ctx ends, or it cannot go on.
func (m *member) acquireBarriers(ctx context.Context) error {
	err := m.acquirer.Run(ctx)
	if errors.Is(err, session.ErrNodeDeleted) {
		return errNodeGone
	}
	return err
}

// wantBarriers tells the acquirer which barriers to take; dropBarriers, which barriers not to
// take any more. The names come from shards, which may be written by any client.
func (m *member) wantBarriers(names []string) {
	if err := m.acquirer.Want(names...); err != nil {
		m.box.Post(func() []core.Action { return m.quitGroup(err) })
	}
}

func (m *member) dropBarriers(names []string) {
	if m.acquirer.Drop(names...) != nil {
		m.isAbandoned(names) // they were never wanted
	}
}

func (m *member) isAbandoned(names []string) {
	m.box.Post(func() []core.Action { return m.f.Abandoned(names) })
}

// releaseBarriers releases barriers. A barrier that this client had lost counts as released:
// the barrier, or the client's znode, was deleted by another client.
func (m *member) releaseBarriers(ctx context.Context, held []*locktable.Held) error {
	if err := m.owner.Unlock(ctx, held...); !errors.Is(err, session.ErrLost) {
		return err
	}
	return nil
}

// sweepBarriers deletes the barriers of removed resources once they have no owner. A barrier
// outlives its resource: a resource that is removed and added again has no second owner before
// the first has given it up.
func (c *coordination) sweepBarriers(ctx context.Context) error {
	c.leftovers.Stop()
	_, w, err := c.owner.Remove(ctx, func(name string) bool {
		_, is := slices.BinarySearch(c.resources.names, name)
		return is
	}, c.checkEpoch())
	if err != nil {
		return deposedError(err)
	}
	c.unswept = 0
	c.leftovers = w
	w.OnFire(func() { c.changed.Post(leftovers) })
	return nil
}

// moveTracker follows resources that are on their way from one member to another, when
// their number is limited.
type moveTracker struct {
	owner *locktable.Owner
	moves []core.Move
	watch *locktable.Watch
}

func (t *moveTracker) stopWatch() { t.watch.Stop() }

// readMovesLeft reads which moves are not over, and calls fired when that may have changed. A
// move is over when its target owns the resource, or has gone. A move whose barrier cannot be
// read counts as over, since the barrier may stay unreadable until an operator repairs it.
func (t *moveTracker) readMovesLeft(ctx context.Context, alive func(client string) bool, fired func()) ([]core.Move, error) {
	t.stopWatch()
	names := make([]string, len(t.moves))
	for i, mv := range t.moves {
		names[i] = mv.Resource
	}
	entries, w, err := t.owner.Observe(ctx, names...)
	if err != nil {
		return nil, err
	}
	var out []core.Move
	for i, mv := range t.moves {
		if e := entries[i]; alive(mv.Client) && e.Owner != mv.Client && e.Err == nil {
			out = append(out, mv)
		}
	}
	t.moves, t.watch = out, w
	w.OnFire(fired)
	return out, nil
}
