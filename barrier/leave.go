package barrier

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitOthers waits until no party of t's round is inside. seen is a listing
// made after the end of t's own znode, or nil.
//
// The znode is no longer needed: after a loss of the session, the wait
// continues in the next session.
func (t *Seat) awaitOthers(ctx context.Context, seen *session.Seen) error {
	s := t.hold.Session()
	for {
		empty, err := t.readOthers(ctx, s, seen)
		seen = nil
		switch {
		case err == nil && empty:
			return nil
		case err == nil:
		case ctx.Err() != nil:
			return err
		case s.Err() != nil:
			if s, err = t.m.client.Session(ctx); err != nil {
				return err
			}
			// A lagging server may not know of the other parties' arrival yet, and
			// show no party.
			if err := s.Sync(ctx, t.m.path); err != nil && s.Err() == nil {
				return err
			}
		case session.NotSent(err), session.Unanswered(err):
		default:
			return err
		}
	}
}

// readOthers reports whether all other parties have left. Otherwise readOthers
// waits until one has left, and must be called again.
//
// Each party watches a single other party, the next one still inside, so the
// watches are spread; the party lists again when the watched party leaves.
// Using the names of the first listing would save further listings, but would
// cost a read for every party that has left meanwhile: up to 30 of 32 parties
// instead of three.
func (t *Seat) readOthers(ctx context.Context, s *session.Session, seen *session.Seen) (empty bool, err error) {
	if seen == nil {
		seen = &session.Seen{}
		seen.Children, seen.Stat, err = s.Children(ctx, t.m.path)
		if errors.Is(err, session.ErrNoNode) {
			return true, nil
		}
		if err != nil {
			return false, err
		}
	}
	if creationOf(seen.Stat) != t.place {
		return true, nil // another path of the same name: all seats of the former path have gone
	}
	next, ok := t.nextOther(seen.Children)
	if !ok {
		return true, nil
	}
	// A read of data leaves no watch behind on a znode that has gone.
	_, _, watch, err := s.GetW(ctx, znode.Join(t.m.path, next.name))
	if errors.Is(err, session.ErrNoNode) {
		return false, nil
	}
	if err == nil {
		_, err = watch.Wait(ctx)
	}
	return false, err
}

// nextOther is the next party of t's round still inside, after t in a circle.
func (t *Seat) nextOther(children []string) (member, bool) {
	members, _ := parseMembers(children)
	members = slices.DeleteFunc(members, func(m member) bool { return m.seq == t.seq || !t.members.Contains(m.seq) })
	for _, m := range members {
		if m.seq > t.seq {
			return m, true
		}
	}
	if len(members) == 0 {
		return member{}, false
	}
	return members[0], true
}
