package barrier

import (
	"context"
	"errors"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitOthers waits until nobody who came in together with t is inside. seen is
// a listing that was made after t's own znode had gone, or nil.
//
// The znode is no longer needed: if the session is lost, the next one goes on.
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
			// A server that lags behind may not yet know that the others
			// have come, and show nobody.
			if err := s.Sync(ctx, t.m.path); err != nil && s.Err() == nil {
				return err
			}
		case session.NotSent(err), session.Unanswered(err):
		default:
			return err
		}
	}
}

// readOthers reports whether all others have left; if not, it waits until one has,
// and must be called again.
//
// Each watches one other, the next one after itself that is still inside, so
// that not all watch the same; and lists again when that one goes. Going on along
// the names of the first listing would save the listings, but cost a read for
// everybody who has left meanwhile: of 32, as many as 30 instead of three.
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
		return true, nil // another path of that name: all that was inside has gone
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

// nextOther is the one of t's round after t, in a circle, that is still inside.
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
