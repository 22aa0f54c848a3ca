package contender

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// awaitAdmission moves the contender to the room, waits there, and enters the queue again.
// It can be called again after the end of ctx.
func (c *Contender) awaitAdmission(ctx context.Context) error {
	if err := c.GoOutside(ctx); err != nil || !c.crowded {
		return err
	}
	c.waiting.Queued(c.place.node.Path, c.found-1)
	// A place that may not be read keeps no contender waiting.
	if err := c.awaitPlaces(ctx); err != nil && !errors.Is(err, session.ErrNoAuth) {
		return err
	}
	c.place.predecessors.abandonAll()
	if err := c.join(ctx); err != nil {
		return err
	}
	c.crowded = false
	return nil
}

// GoOutside moves the contender to the room if the queue was too long when it came, and it
// has not moved yet. Await does so too: GoOutside is for a contender that may wait much
// later, and is to come before those that come until then.
func (c *Contender) GoOutside(ctx context.Context) error {
	if !c.crowded || c.place != nil {
		return nil
	}
	switch err := c.takePlace(ctx); {
	case errors.Is(err, session.ErrNoAuth):
		c.crowded = false // no room for this client: it stays in the queue
		return nil
	case err != nil:
		return err
	}
	c.leaveQueue()
	return nil
}

// inQueue reports whether the contender has a node in the queue.
func (c *Contender) inQueue() bool { return !c.out && (!c.crowded || c.place == nil) }

// awaitPlaces waits until the contender of place before, and all ahead of that one, have
// been granted or have left.
//
// Contenders are granted in the order of their places, and end a place at the grant with a
// write: see [Contender.endPlace]. So the event of the write says that no contender is left
// ahead of the place either. Any other end of a place says only that its contender has left:
// then the contender waits for the next place ahead that is taken. Otherwise it would
// overtake the contenders between the two.
//
// A place that was gone before the contender could watch it says nothing, if the room was
// full when the contender came: its contender may have left as well. If fewer were in the
// room than the contender lets go ahead, it enters the queue at once.
//
// Rejected: to read the place ahead after every end of a place. It costs a request for each
// contender, and misses that several neighbors have left, the first one first, as contenders
// do whose time is up.
func (c *Contender) awaitPlaces(ctx context.Context) error {
	for first := true; ; first = false {
		gone, waited, err := c.place.awaitAny(ctx, []string{znode.PlaceName(c.before)})
		switch {
		case err != nil:
			return err
		case c.place.event == session.EventDataChanged:
			return c.letOthersPass(ctx)
		case len(gone) == 0:
			continue
		case first && !waited && !c.full && c.behind == 0:
			return nil
		}
		if taken, err := c.lookBack(ctx); err != nil || !taken {
			return err
		}
	}
}

// lookBack looks for the next place ahead of before that is taken, and lets the contender
// wait for that. It looks at as many places as a contender lets go ahead.
func (c *Contender) lookBack(ctx context.Context) (taken bool, err error) {
	most := c.spec.Room.ahead()
	for looked, n := int32(0), int32(1); looked < most; looked, n = looked+n, min(4*n, most-looked-n) {
		places := make([]Listed, n)
		for i := range places {
			number := c.before - looked - int32(i) - 1
			places[i].Entry = znode.Entry{Name: znode.PlaceName(number), Seq: number}
		}
		found, err := readAll(ctx, c.s, c.spec.Room.path, places)
		if err != nil {
			return false, err
		}
		if len(found) > 0 {
			c.behind += c.before - found[0].Seq
			c.before = found[0].Seq
			return true, nil
		}
	}
	return false, nil
}

// letOthersPass keeps the order of contenders that have waited for the end of the same place,
// since those between left: the one whose place it was all along enters the queue at once, and
// each other makes as many round trips first as it is behind.
func (c *Contender) letOthersPass(ctx context.Context) error {
	for ; c.behind > 0; c.behind-- {
		if _, _, err := c.s.Exists(ctx, c.place.node.Path); err != nil {
			return err
		}
	}
	return nil
}

// endPlace ends the place of a contender that is granted, in the background. The write, in
// the same transaction, tells the contender that waits for the end of the place that it is a
// grant.
func (c *Contender) endPlace() {
	if c.place == nil {
		return
	}
	s, path := c.s, c.place.node.Path
	ended := s.StartTxn(session.SetOp(path, nil, -1), session.DeleteOp(path, -1))
	if c.place.self != nil {
		c.place.self.Abandon() // the server frees the watch with the znode
	}
	c.place = nil
	// Not waited for; it ends with the session at the latest.
	go func() {
		if _, err := ended.Wait(s.Context()); err != nil && !errors.Is(err, session.ErrNoNode) {
			optimistic.DeleteLater(s, path) // also if the contender may not write its own place
		}
	}()
}
