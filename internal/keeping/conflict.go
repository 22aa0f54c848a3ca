package keeping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// conflictError reports another client's node under our name.
type conflictError struct {
	conflict error // Words.Conflict
	path     string
	owner    int64 // session; 0 if the node goes with none
	// former: the node is our own, of a session that this process has lost, or of a
	// registration that has been given back. The registration that made it deletes it,
	// or the servers do.
	former bool
	watch  *session.Watch // for its deletion; may be nil
	// kept is closed when the registration of this process that has the node has ended,
	// which may leave the node where it is; nil if there is none, or if the node goes with
	// a session.
	kept <-chan struct{}
	// hidden: servers from 3.9.3 on report neither the node nor its deletion to a
	// client that may not read it.
	hidden bool
	// silent: the node may not be read, so that watch may never fire.
	silent bool
}

// hiddenPause is how long a node that cannot be watched is left alone before its name
// is tried again.
const hiddenPause = 5 * time.Second

func (e *conflictError) Error() string {
	if e.hidden {
		return fmt.Sprintf("%v: %s may not be read by this client", e.conflict, e.path)
	}
	if e.former && e.kept != nil {
		return fmt.Sprintf("%v: %s is being given back by this client", e.conflict, e.path)
	}
	if e.owner == 0 {
		return fmt.Sprintf("%v: %s belongs to no session", e.conflict, e.path)
	}
	return fmt.Sprintf("%v: %s belongs to session %#x", e.conflict, e.path, e.owner)
}

func (e *conflictError) Unwrap() error { return e.conflict }

// checkNotLeaving is a conflict while another registration of this process is taking the
// znode of this path away.
func (t *registrar) checkNotLeaving(want *Entry) error {
	leaving := t.k.cfg.Owned.leavingAt(want.Path())
	if leaving == nil {
		return nil
	}
	leaving.wakeUp() // its deletion may have been refused, and be allowed by now
	return &conflictError{conflict: t.k.cfg.Words.Conflict, path: want.Path(), former: true, kept: leaving.over}
}

// onNameTaken looks at the node that has the name already. It returns nil, and no have,
// if that node, or the registration of this process that had the node, has gone meanwhile.
func (t *registrar) onNameTaken(ctx context.Context, want *Entry) error {
	if want.sequential() {
		return fmt.Errorf("%s: %w", want.Dir, session.ErrSequenceExhausted)
	}
	stat, exists, watch, err := t.s.ExistsW(ctx, want.Path())
	if errors.Is(err, session.ErrNoAuth) {
		return &conflictError{conflict: t.k.cfg.Words.Conflict, path: want.Path(), hidden: true}
	}
	if err != nil {
		return err
	}
	if !exists {
		stopWatch(watch)
		return nil
	}
	taken := false
	if want.Adopt != nil && stat.EphemeralOwner == 0 {
		data, now, err := t.s.Get(ctx, want.Path())
		switch {
		case errors.Is(err, session.ErrNoNode):
			stopWatch(watch)
			return nil
		case errors.Is(err, session.ErrNoAuth): // it is not for us to take over
		case err != nil:
			stopWatch(watch)
			return err
		case now.Czxid == stat.Czxid && want.Adopt(data):
			if t.takeOwn(want.withData(data), session.Node{Path: want.Path(), Stat: now}, watch) {
				t.have.adopted = t.leavesExisting(want)
				return nil
			}
			taken = true
		}
	}
	owner := t.k.cfg.Owned.ownerOf(want.Path(), stat.Czxid)
	if taken && owner == nil {
		stopWatch(watch)
		return nil // its registration has just ended
	}
	c := &conflictError{
		conflict: t.k.cfg.Words.Conflict, path: want.Path(), owner: stat.EphemeralOwner, watch: watch,
		former: want.Ephemeral() && stat.EphemeralOwner != t.s.ID() && t.k.cfg.Owned.hadSession(stat.EphemeralOwner),
	}
	if owner != nil && stat.EphemeralOwner == 0 {
		c.kept = owner.over
	}
	if owner != nil && owner.hasLeft() {
		c.former = true
		owner.wakeUp() // its deletion may have been refused, and be allowed by now
	}
	// Servers from 3.8.4 on let any client watch the node, and report its deletion only
	// to clients that may read it.
	_, _, err = t.s.Get(ctx, want.Path())
	c.silent = errors.Is(err, session.ErrNoAuth)
	return c
}

// onConflict handles that another client has the name.
func (t *registrar) onConflict(ctx context.Context, c *conflictError, want *Entry, rev int) {
	defer stopWatch(c.watch)
	if t.have == nil {
		t.k.setUnregistered(c, false)
	}
	first := t.settled == nil
	switch {
	case c.former, first && t.k.cfg.Wait:
		// The other znode goes, sooner or later, and the caller has the time to wait.
	case first:
		t.why = c
		t.k.endRegistration(c)
		return
	case !want.samePlace(t.settled):
		t.rejectRequest(ctx, rev, c)
		return
	default:
		// Our znode was gone for a moment, and another client has taken the name. Our
		// entry is remembered, for when that client's znode goes.
		t.k.answerRequests(nil, rev, c)
	}
	var changed <-chan struct{}
	if c.watch != nil {
		changed = c.watch.Done()
	}
	var again <-chan time.Time
	if pause, needed := t.pauseAtConflict(c); needed {
		timer := time.NewTimer(pause)
		defer timer.Stop()
		again = timer.C
	}
	gone := t.s.Context().Done()
	if t.hold != nil {
		gone = t.hold.Context().Done()
	}
	select {
	case <-changed:
	case <-c.kept:
	case <-again:
	case <-t.k.wake:
	case <-gone:
		t.onHoldEnded()
	}
}

// pauseAtConflict is the pause after which the attempt is repeated, although the other
// node may still have the name.
func (t *registrar) pauseAtConflict(c *conflictError) (pause time.Duration, needed bool) {
	switch {
	case c.former && len(t.formers) > 0:
		return t.racePause(), true
	case c.hidden || c.silent:
		return hiddenPause, true
	}
	return 0, false
}
