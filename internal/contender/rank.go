package contender

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Rank has the contenders of a queue wait in the order of their ranks. A contender with a Rank
// first takes a place in a folder beside the queue, and enters the queue only when no better
// place is taken. When the contender is then first in the queue, it looks at the places again:
// if a better contender has come meanwhile, it leaves the queue, and keeps its place.
//
// The queue decides who is granted, as ever, so that a Rank cannot make two contenders hold:
// the places decide only when a contender enters or leaves the queue. A missing or repeated
// place, and a folder that is deleted, cost order and no more.
//
// Each waiting contender watches one place, that of the next better contender. Two that watch
// the same place have different priorities: of two equal ones, the later watches the earlier. So
// the end of a place wakes at most as many contenders as there are priorities.
//
// Rejected: all contenders in the queue, where the first makes way for a better one by queuing
// up again behind it. With n contenders in front of the better one each of them must do so, one
// after the other, and contenders of one priority lose their order when others come meanwhile.
// Rejected: an order of the queue by priorities. A better contender that comes would be ahead of
// the one that holds.
type Rank struct {
	// Place describes the places: their Order tells which is better. Rule is Ranked.
	Place Spec
	// Name is a new name in the queue, without the number, for the owner of a place.
	Name func(place string) string
	// GivesWay reports whether the contender at self, the first in the queue, must leave the
	// queue for a better one, which is in the queue or about to enter it.
	GivesWay func(q znode.Queue, self int) bool
	// List lists the paths of all contenders in their order: first those in the queue, then
	// the places of the others.
	List func(ctx context.Context, s *session.Session) (paths []string, err error)
}

// Ranked is the rule of places, whose order is that of [Spec.Order]: the first is granted. The
// rule is not monotone: a better contender that comes takes the grant back. So a grant only
// permits to enter the queue, and a contender lists the places again before it has its turn.
func Ranked(q znode.Queue, self int) Decision {
	if self == 0 {
		return Decision{Granted: true}
	}
	return Decision{Watch: []string{q.Entries[self-1].Name}}
}

// enterRanked takes a place. After an error nothing is left behind.
func (c *Contender) enterRanked(ctx context.Context) error {
	place, err := Enter(ctx, c.s, c.spec.Rank.Place)
	if err != nil {
		return err
	}
	c.rank, c.out = place, true
	c.shown.Store(&place.node)
	return nil
}

// newName is a new name for the queue. The names of a contender, one after the other, tell
// that they are those of one: see [List].
func (c *Contender) newName() string {
	switch {
	case c.rank != nil:
		return c.spec.Rank.Name(znode.Base(c.rank.node.Path))
	case c.node.Path != "":
		return znode.Renamed(znode.Base(c.node.Path), c.spec.Name())
	}
	return c.spec.Name()
}

// awaitRanked is Await of a contender with a rank.
func (c *Contender) awaitRanked(ctx context.Context) error {
	c.rank.waiting = c.waiting
	for {
		if c.out {
			if err := c.rank.Await(ctx); err != nil {
				return err
			}
			if err := c.join(ctx); err != nil {
				return err
			}
			c.out, c.waited = false, false
		}
		if err := c.awaitTurn(ctx); err != nil {
			return err
		}
		// A turn that came at once needs no second look: the first was just before.
		best := !c.waited
		if !best {
			var err error
			if best, err = c.isBest(ctx); err != nil {
				return err
			}
		}
		if best {
			// The next best may enter the queue now.
			c.rank.LeaveBehind()
			c.rank = nil
			return nil
		}
		c.leaveQueue()
		c.out = true
		c.shown.Store(&c.rank.node)
	}
}

// isBest reports whether the first in the queue may have its turn.
func (c *Contender) isBest(ctx context.Context) (bool, error) {
	best, err := c.rank.Granted(ctx)
	if best || err != nil {
		return best, err
	}
	q, self, err := c.position(ctx, nil)
	if err != nil {
		return false, err
	}
	return !c.spec.Rank.GivesWay(q, self), nil
}
