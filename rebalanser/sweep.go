package rebalanser

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/session"
)

// sweeper deletes the barriers of resources that were removed, when nobody owns them
// any more. A barrier outlives its resource: one that was removed and added again has
// no second owner before the first has given it up.
type sweeper struct {
	p *seat
	// owned and owners are the watches on barriers that were owned when they were
	// read, and on their owners.
	owned  []*session.Watch
	owners map[string]*session.Watch
}

func (sw *sweeper) stop() {
	for _, w := range sw.owned {
		w.Stop()
	}
	for _, w := range sw.owners {
		w.Stop()
	}
	sw.owned, sw.owners = nil, map[string]*session.Watch{}
}

// run deletes what can be deleted, and calls fired when there may be more.
func (sw *sweeper) run(ctx context.Context, c *coordination, fired func()) error {
	sw.stop()
	names, _, err := sw.p.s.Children(ctx, sw.p.at.in(barriersDir))
	if err != nil {
		return err
	}
	is := make(map[string]bool, len(c.watched))
	for _, name := range c.watched {
		is[name] = true
	}
	names = slices.DeleteFunc(names, func(n string) bool { return is[n] })
	for part := range batches(names, window, maxTxn, func(n string) int { return len(n) }) {
		free, err := sw.free(ctx, part)
		if err == nil {
			err = sw.remove(ctx, c, free)
		}
		if err != nil {
			return err
		}
	}
	for _, w := range slices.AppendSeq(sw.owned, maps.Values(sw.owners)) {
		w.OnFire(func(session.Event) { fired() })
	}
	return nil
}

// free says which barriers nobody has. As in taking them, their owners are read after
// them.
func (sw *sweeper) free(ctx context.Context, names []string) ([]barrier, error) {
	futures := make([]*session.Future[session.Seen], len(names))
	for i, name := range names {
		futures[i] = sw.p.s.StartGet(sw.p.at.barrier(name), true)
	}
	var seen []barrier
	err := answers(ctx, futures, func(i int, s session.Seen, there bool) {
		if there {
			seen = append(seen, readBarrier(names[i], s, there))
		}
	})
	var gone map[string]bool
	if err == nil {
		gone, err = sw.p.gone(ctx, seen, sw.owners)
	}
	var free []barrier
	for _, b := range seen {
		if err == nil && (b.owner == "" || gone[b.owner]) {
			b.forget()
			free = append(free, b)
		} else {
			sw.owned = append(sw.owned, b.watch)
		}
	}
	return free, err
}

// remove deletes barriers, each on condition of the version at which nobody had it,
// and changes their folder, for those who are about to take one of them.
func (sw *sweeper) remove(ctx context.Context, c *coordination, free []barrier) error {
	for part := range batches(free, maxOps, maxTxn, func(b barrier) int { return len(b.name) + perOp }) {
		for len(part) > 0 {
			ops := []session.Op{c.check(), session.SetOp(sw.p.at.in(barriersDir), nil, -1)}
			for _, b := range part {
				ops = append(ops, session.DeleteOp(sw.p.at.barrier(b.name), b.version))
			}
			_, err := sw.p.s.Txn(ctx, ops...)
			if err == nil {
				break
			}
			at := culprit(err)
			if at < len(ops)-len(part) || !errors.Is(err, session.ErrBadVersion) && !errors.Is(err, session.ErrNoNode) {
				return deposed(err)
			}
			at -= len(ops) - len(part)
			part = slices.Delete(slices.Clone(part), at, at+1) // somebody has it again
		}
	}
	return nil
}
