package barrier

import (
	"context"
	"errors"
	"fmt"

	"github.com/zkrecipes/zkrecipes/internal/holding"
	"github.com/zkrecipes/zkrecipes/internal/receiver"
	"github.com/zkrecipes/zkrecipes/session"
)

// Seat is a place inside a [Double]. Give it back with Leave, even after a loss.
type Seat struct {
	m       *core
	hold    *session.Hold
	id      string
	seq     int32
	token   int64
	place   creation // the path
	round   int64
	members ranges // numbers of all parties let in together

	end holding.Release
}

var _ session.Held = (*Seat)(nil)

// mustHold is the znode's hold; a zero Seat has none.
func (t *Seat) mustHold() *session.Hold {
	holding.MustBeMade(t != nil && t.hold != nil, "barrier.Seat", "barrier.Double.Enter")
	return t.hold
}

// Context ends when the seat is given back or lost. context.Cause tells the
// cause: session.ErrReleased, or an error that wraps session.ErrLost and the
// reason. The context ends before the server can tell other parties that this
// party has gone, unless this process was paused; after a pause, its Err is
// correct as soon as the process runs again.
func (t *Seat) Context() context.Context { return t.mustHold().Context() }

// Round returns the number of the round, from 1, the same for all parties inside.
func (t *Seat) Round() int64 {
	_ = t.mustHold()
	return t.round
}

// Token is a fencing token: the zxid at which the party's znode was created. The
// token is greater than all tokens of earlier rounds.
func (t *Seat) Token() int64 {
	_ = t.mustHold()
	return t.token
}

// Guard is a check for a transaction; the transaction fails if the party is not
// inside any more.
func (t *Seat) Guard() session.Op { return t.mustHold().Guard() }

// Session returns the session of the seat.
func (t *Seat) Session() *session.Session { return t.mustHold().Session() }

// Path returns the path of the party's znode.
func (t *Seat) Path() string { return t.mustHold().Path() }

// Leave gives the seat back, and waits until all other parties of the round have
// left or died. Leave waits for the other parties until ctx ends.
//
// If the seat was lost before, Leave returns at once with an error that wraps
// session.ErrLost. The error also wraps session.ErrLost if the session ends, or
// no server answers for a session timeout, before the server has confirmed that
// the seat was given back, because the seat may have been lost before.
//
// If ctx ends first, the error wraps the context's error. For the other parties
// this party has left; an unconfirmed deletion continues in the background. A
// second call returns the same loss, or ErrNotInside.
func (t *Seat) Leave(ctx context.Context) error {
	return receiver.OrZero(t).giveBack(ctx, "leave", t.leave)
}

// Release is Leave without waiting for the other parties, under the method name
// common to everything held; see [session.Held]. To the other parties this
// party has left.
func (t *Seat) Release(ctx context.Context) error {
	return receiver.OrZero(t).giveBack(ctx, "release", t.deleteZnode)
}

// giveBack ends the hold once, and calls give if the seat was not lost before.
func (t *Seat) giveBack(ctx context.Context, op string, give func(context.Context) error) error {
	path := t.m.orZero("").path
	if err := holding.BeginHeld(ctx, t.hold != nil, "barrier.Seat", "barrier.Double.Enter", ErrInvalidArgument); err != nil {
		return failure(ctx, op, path, err)
	}
	explain := func(ctx context.Context, err error) error { return failure(ctx, op, path, err) }
	return t.end.Once(ctx, ErrNotInside, explain, func(ctx context.Context) error {
		lost := t.hold.Err()
		t.hold.End(session.ErrReleased)
		if lost == nil {
			return give(ctx)
		}
		t.m.remains(t.id)
		// A node deleted by another client is not deleted again: a foreign node
		// of the same name may exist by now.
		if s := t.hold.Session(); s.Err() == nil && !errors.Is(lost, session.ErrNodeDeleted) {
			within, cancel := s.GiveBackContext(ctx)
			defer cancel()
			_ = s.EnsureDeleted(within, t.hold.Path()) // only the loss counts
		} else {
			s.EnsureRemainsDeleted(t.hold.Path())
		}
		return lost
	})
}

// deleteZnode deletes the znode.
func (t *Seat) deleteZnode(ctx context.Context) error {
	return t.awaitRemoval(ctx, t.hold.Session().StartDelete(t.hold.Path(), -1))
}

// leave deletes the znode and waits for the others.
func (t *Seat) leave(ctx context.Context) error {
	s := t.hold.Session()
	removal, list := s.StartDelete(t.hold.Path(), -1), s.StartChildren(t.m.path, false)
	if err := t.awaitRemoval(ctx, removal); err != nil {
		return err
	}
	seen, err := list.Wait(ctx)
	if err != nil {
		return t.awaitOthers(ctx, nil)
	}
	return t.awaitOthers(ctx, &seen)
}

// awaitRemoval waits until the znode is gone, and repeats its removal if necessary.
func (t *Seat) awaitRemoval(ctx context.Context, removal *session.Future[struct{}]) error {
	s := t.hold.Session()
	within, cancel := s.GiveBackContext(ctx)
	defer cancel()
	_, err := removal.Wait(within)
	switch {
	case errors.Is(err, session.ErrNoNode):
		// No other delete was sent by this process: the seat was lost before.
		return fmt.Errorf("the seat is %w: %w", session.ErrLost, session.ErrNodeDeleted)
	case err != nil:
		if err = s.EnsureDeleted(within, t.hold.Path()); err != nil {
			t.m.remains(t.id)
		}
		if lost := s.Err(); err != nil && lost != nil {
			return lost // possibly lost before this call
		}
		return err
	}
	return nil
}
