package contender

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Enter queues up. After an error nothing is left behind.
//
// The first read of the queue travels behind the creation, so that both take one round
// trip.
func Enter(ctx context.Context, s *session.Session, spec Spec) (*Contender, error) {
	c := &Contender{s: s, spec: spec, predecessors: newPredecessors()}
	enter := c.join
	if spec.Rank != nil {
		enter = c.enterRanked
	}
	if err := enter(ctx); err != nil {
		return nil, err
	}
	return c, nil
}

// join creates a node in the queue, and reads the queue.
func (c *Contender) join(ctx context.Context) error {
	opts := &session.CreateOptions{ACL: c.spec.ACL}
	for missing := 0; ; missing++ {
		if missing > 0 { // another client deletes the path as fast as join creates it
			_ = c.s.BackOff(ctx, missing-1)
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name := cmp.Or(c.name, c.newName())
		c.name = "" // a creation that ctx cuts off is looked for by its name, and deleted
		creation := c.s.StartProtected(znode.Join(c.spec.Dir, name), c.spec.Data, session.EphemeralSequential, opts)
		// Behind the creation, not ahead of it: a lagging server would answer an
		// earlier read from a Dir deleted since.
		reads := c.startReads()
		node, err := creation.Wait(ctx)
		switch {
		case err == nil:
			c.node, c.since, c.last = node, time.Now(), nil
			c.shown.Store(&node)
			c.useReads(ctx, reads, creation.Direct())
			return nil
		case errors.Is(err, session.ErrNoNode):
			// The queue's path is missing, or has just gone: an empty
			// container may, at any time.
			if err := c.s.EnsurePath(ctx, c.spec.Dir, c.spec.dirMode(), opts); err != nil {
				return err
			}
		default:
			return err
		}
	}
}

// firstReads are the reads behind the creation of a node; nil for those that are not sent.
type firstReads struct{ names, data *session.Future[session.Seen] }

// startReads starts to read the names in the queue, or, if the queue may be long, only their
// number, which comes with the data. Not with the answer to exists, which needs no
// permission: a contender that may not list must fail before there is another one.
func (c *Contender) startReads() (r firstReads) {
	room := c.spec.Room
	if room == nil || c.place != nil || room.isShort(c.s.Heartbeat()) {
		r.names = c.s.StartChildren(c.spec.Dir, false)
	}
	if c.spec.ReadDir || r.names == nil {
		r.data = c.s.StartGet(c.spec.Dir, false)
	}
	return r
}

// useReads uses the answers, if they saw the contender's node.
func (c *Contender) useReads(ctx context.Context, r firstReads, sawNode bool) {
	number := -1
	if r.names != nil {
		if seen, err := r.names.Wait(ctx); err == nil && sawNode {
			c.last, number = seen.Children, len(seen.Children)
		}
	}
	if r.data != nil {
		if seen, err := r.data.Wait(ctx); err == nil && sawNode {
			number = int(seen.Stat.NumChildren)
			if c.spec.ReadDir {
				c.dir = &seen
			}
			if number == 1 && seen.Stat.Pzxid == c.node.Stat.Czxid {
				// The last change of the children is the creation of the node: it is the
				// only one.
				c.last = []string{znode.Base(c.node.Path)}
			}
		}
	}
	if room := c.spec.Room; room != nil && c.place == nil && number >= 0 {
		c.found, c.crowded = number, number > room.limit
		room.noteLength(number)
	}
}
