package keeping

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// formerNode is an ephemeral znode that a lost session has left, or may have left: the
// servers keep a session that its client has given up, and the znodes of the session,
// for up to a session timeout, and longer while no leader works.
type formerNode struct {
	entry *Entry
	owner int64  // the session
	place *place // nil: the creation got no answer
}

// The pauses between attempts to replace a former znode while other clients create
// znodes in the same directory. After an outage, all instances of a service come back at
// once, and one of them wins in each round trip.
const (
	shortestRace = 10 * time.Millisecond
	longestRace  = 2 * time.Second
)

// leaveSession handles the end of the session.
func (t *registrar) leaveSession() {
	lost := t.s.Err()
	if t.open && !errors.Is(lost, session.ErrExpired) {
		// The servers may keep the session that we gave up, and a delayed request of
		// it, for a timeout and a tick. The request depends on a name or a version at
		// most: by then the name could belong to another client, or to an entry that we
		// shall have unregistered.
		t.late = time.Now().Add(t.s.Timeout() * 3 / 2)
	}
	t.open = false
	if t.pendingCreation != nil && t.pendingCreation.Ephemeral() {
		t.addFormer(&formerNode{entry: t.pendingCreation, owner: t.s.ID()})
		t.pendingCreation = nil
	}
	if t.have != nil && t.have.entry.Ephemeral() {
		if errors.Is(lost, session.ErrClosed) {
			// The closing may not have reached a server either.
			t.unconfirmed = fmt.Errorf("the client was closed before a server confirmed the deletion; "+
				"the znode may exist until the servers expire its session: %w", lost)
		}
		t.stopWatching(lost)
		t.addFormer(&formerNode{entry: t.have.entry, owner: t.s.ID(), place: t.have})
		t.have = nil
		t.k.setUnregistered(lost, false)
		return
	}
	t.stopWatching(nil)
	if t.have == nil {
		t.k.setUnregistered(lost, false)
	}
}

// addFormer notes a znode that the present session leaves behind. The znodes of a
// session that the servers have expired are gone.
func (t *registrar) addFormer(f *formerNode) {
	if errors.Is(t.s.Err(), session.ErrExpired) {
		t.k.cfg.Owned.release(f.place)
		return
	}
	t.formers = append(t.formers, f)
}

// dropFormer handles that f is gone, or that only the servers can delete f.
func (t *registrar) dropFormer(f *formerNode) {
	t.k.cfg.Owned.release(f.place)
	t.formers = slices.DeleteFunc(t.formers, func(o *formerNode) bool { return o == f })
}

// takeOver registers want in place of a former znode of ours, so that the instance is
// not missing in between. Without have afterwards, want is still to be created.
func (t *registrar) takeOver(ctx context.Context, want *Entry) error {
	for _, f := range slices.Clone(t.formers) {
		if err := t.replaceFormer(ctx, f, want); err != nil || t.have != nil {
			return err
		}
	}
	return nil
}

// deleteFormers deletes the former znodes that takeOver has not replaced. The remaining
// ones are retried after racePause.
func (t *registrar) deleteFormers(ctx context.Context) error {
	for _, f := range slices.Clone(t.formers) {
		if err := t.replaceFormer(ctx, f, nil); err != nil {
			return err
		}
	}
	return nil
}

// deleteFormersUntilGone is deleteFormers over sessions, after the registration has
// ended.
func (t *registrar) deleteFormersUntilGone(ctx context.Context) {
	for len(t.formers) > 0 {
		s, err := t.k.cfg.Client.Session(ctx)
		if err != nil {
			break // closed: they go with their sessions
		}
		t.beginSession(s)
		for s.Err() == nil && t.deleteFormers(ctx) == nil && len(t.formers) > 0 {
			t.pauseFor(t.racePause())
		}
	}
	for _, f := range t.formers {
		t.k.cfg.Owned.release(f.place)
	}
}

// racePause is how long to wait before the next attempt to replace a former znode.
func (t *registrar) racePause() time.Duration {
	longest := min(shortestRace<<min(t.races, 10), longestRace)
	return longest - rand.N(longest/2)
}

// replaceFormer deletes f and creates want, in one transaction; nil creates nothing. The
// transaction is carried out only if the znode is f: see deletionOf. If f can neither be
// seen nor deleted by this client, f is left to the servers.
func (t *registrar) replaceFormer(ctx context.Context, f *formerNode, want *Entry) error {
	for lost := 0; ; {
		made, found := t.findFormer(ctx, f)
		switch {
		case t.s.Err() != nil:
			return t.s.Err()
		case !found:
			t.dropFormer(f)
			return nil
		}
		ops := t.deletionOf(f, made)
		creation := len(ops)
		if want != nil {
			ops = append(ops, session.CreateOp(want.Path(), want.Data, want.Mode, t.optionsOf(want)))
		}
		results, err := t.s.Txn(ctx, ops...)
		var failed *session.TxnError
		switch {
		case err == nil:
			t.dropFormer(f)
			if t.races = 0; want == nil {
				return nil
			}
			return t.takeMoved(ctx, want, results[creation].Path)
		case errors.Is(err, session.ErrUnknownOutcome):
			t.caughtUp = false
			if want == nil {
				t.backOff(lost)
			} else {
				t.noteUnanswered(want)
				if err := t.resolveOutcome(ctx, want, lost); err != nil || t.have != nil {
					return err
				}
			}
			lost++
		case t.s.Err() != nil:
			return t.s.Err()
		case !errors.As(err, &failed):
			t.dropFormer(f)
			return nil
		case failed.Index == 0 && (errors.Is(err, session.ErrNoNode) || errors.Is(err, session.ErrBadVersion)):
			// It has gone, or another client has written into it.
		case failed.Index == creation && errors.Is(err, session.ErrNoNode):
			if err := t.s.EnsurePath(ctx, want.Dir, t.k.cfg.Parent, t.createOptions()); err != nil {
				return err
			}
		case failed.Index == creation && errors.Is(err, session.ErrNodeExists):
			return nil // another znode has the name; the creation says which
		case failed.Index > 0 && errors.Is(err, session.ErrNoNode):
			t.races++
			return nil
		default:
			t.dropFormer(f)
			return nil
		}
	}
}

// deletionOf is the part of a transaction that deletes f, and fails if the znode is
// another. made is the number of znodes that had been created in the directory before
// the transaction's sender saw f.
//
// Servers compare a version at most, and a new znode has the same version as f: if the
// servers expire the former session after we have seen f, another client may take the
// name before the transaction arrives. Therefore the transaction also proves that no
// znode has been created in the directory since: the number of a sequential znode is
// the count of creations, and the deletion of the znode with the expected number fails
// if the count is another. A name that no other client uses needs no proof.
func (t *registrar) deletionOf(f *formerNode, made uint32) []session.Op {
	ops := []session.Op{session.DeleteOp(f.place.path, f.place.version)}
	if f.entry.unique() {
		return ops
	}
	probe := znode.Join(f.entry.Dir, countPrefix)
	return append(ops,
		session.CreateOp(probe, nil, session.EphemeralSequential, t.createOptions()),
		session.DeleteOp(fmt.Sprintf("%s%010d", probe, int32(made)), -1))
}

// findFormer looks for f, and learns its version. made is the number of znodes that had
// been created in its directory before the look. A refused look finds nothing.
func (t *registrar) findFormer(ctx context.Context, f *formerNode) (made uint32, found bool) {
	if !t.caughtUp {
		// A server that lags behind would say that there is nothing.
		if t.awaitCarriedOut(ctx, f.entry.Dir) != nil {
			return 0, false
		}
		t.caughtUp = true
	}
	dir, exists, err := t.s.Exists(ctx, f.entry.Dir)
	if err != nil || !exists {
		return 0, false
	}
	// Servers keep the number of creations, and report the number of all changes:
	// creations and deletions.
	made = (uint32(dir.Cversion) + uint32(dir.NumChildren)) / 2
	if f.place == nil {
		f.place, err = t.findMade(ctx, f.entry, f.owner)
		return made, err == nil && f.place != nil
	}
	stat, exists, err := t.s.Exists(ctx, f.place.path)
	if err != nil || !exists || stat.Czxid != f.place.czxid || stat.EphemeralOwner != f.owner {
		return 0, false
	}
	f.place.version = stat.Version
	return made, true
}
