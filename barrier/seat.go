package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/session"
)

// Seat is a place inside a [Double]. It must be given back with Leave, also when
// it was lost.
type Seat struct {
	m       *meeting
	hold    *session.Hold
	id      string
	seq     int32
	token   int64
	round   int64
	members spans // numbers of all who were let in together

	end holding.Release
}

// Context ends when the seat is given back or lost; context.Cause tells which:
// session.ErrReleased, or an error that wraps session.ErrLost and the reason. It
// ends before the server can tell the others that this party has gone, unless
// this process itself was paused; then its Err tells the truth as soon as the
// process runs again.
func (t *Seat) Context() context.Context { return t.hold.Context() }

// Round is the number of the round, the same for all who are inside; from 1.
func (t *Seat) Round() int64 { return t.round }

// Token is a fencing token: the zxid at which the party's znode was created. It
// is greater than all those of earlier rounds.
func (t *Seat) Token() int64 { return t.token }

// Guard is a check for a transaction, which then fails if the party is not
// inside any more.
func (t *Seat) Guard() session.Op { return t.hold.Guard() }

// Session is the session that has the seat.
func (t *Seat) Session() *session.Session { return t.hold.Session() }

// Path is the znode that stands for the seat.
func (t *Seat) Path() string { return t.hold.Path() }

// Leave gives the seat back, and waits until all others of the round have left
// or died. If the seat was lost before, the error says so at once, and wraps
// session.ErrLost; also if the session ends before the server has confirmed that
// the seat was given back, since it may have been lost before. If ctx ends first,
// the error wraps the context's: to the others this party has left, and if the
// server has not confirmed that, the deletion goes on in the background. A second
// call gets the same loss, or ErrNotInside.
func (t *Seat) Leave(ctx context.Context) error {
	explain := func(err error) error { return failure(ctx, "leave", t.m.path, err) }
	return t.end.Once(ctx, ErrNotInside, explain, func() error {
		lost := t.hold.Err()
		t.hold.End(session.ErrReleased)
		if lost == nil {
			return t.leave(ctx)
		}
		t.m.remains(t.id)
		if s := t.hold.Session(); s.Err() == nil {
			_ = s.Discard(ctx, t.hold.Path()) // as a rule it has gone; the loss is what counts
		}
		return lost
	})
}

// leave deletes the znode and waits for the others.
func (t *Seat) leave(ctx context.Context) error {
	s := t.hold.Session()
	removal, list := s.StartDelete(t.hold.Path(), -1), s.StartChildren(t.m.path, false)
	_, err := removal.Wait(ctx)
	switch {
	case errors.Is(err, session.ErrNoNode):
		// Nobody else's delete but this one has been sent: it was lost before.
		return fmt.Errorf("the seat is %w: %w", session.ErrLost, session.ErrNodeDeleted)
	case err != nil:
		if err = s.Discard(ctx, t.hold.Path()); err != nil {
			t.m.remains(t.id)
		}
		if lost := s.Err(); err != nil && lost != nil {
			return lost // before this, for all that is known
		} else if err != nil {
			return err
		}
	}
	seen, err := list.Wait(ctx)
	if err != nil {
		return t.awaitOthers(ctx, nil)
	}
	return t.awaitOthers(ctx, &seen)
}
