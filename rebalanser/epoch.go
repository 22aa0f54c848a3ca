package rebalanser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// raise writes the next epoch, on condition of the one before: from then on nobody
// else's writes are carried out. One whose answer was lost is found here when it is
// repeated: its record names this client, which is elected once. A client whose node
// has gone deposes nobody.
func (c *coordination) raise(ctx context.Context) error {
	for {
		data, stat, err := c.s.Get(ctx, c.at.in(epochNode))
		if err != nil {
			return err
		}
		// What nobody here has written is replaced; the version still grows.
		record, _ := decode[epochRecord](data)
		if record.Client == c.client {
			c.version, c.epoch = stat.Version, record.Epoch
			return nil
		}
		next := epochRecord{Epoch: record.Epoch + 1, Client: c.client, Since: time.Now().UTC()}
		results, err := c.s.Txn(ctx, c.guard(), session.SetOp(c.at.in(epochNode), encode(next), stat.Version))
		switch {
		case err == nil:
			c.version, c.epoch = results[1].Stat.Version, next.Epoch
			return nil
		case culprit(err) == 0 && errors.Is(err, session.ErrNoNode):
			return errNodeGone
		case culprit(err) != 1 || !errors.Is(err, session.ErrBadVersion):
			return err
		}
	}
}

// check makes a transaction fail once somebody else coordinates.
func (c *coordination) check() session.Op { return session.CheckOp(c.at.in(epochNode), c.version) }

// deposed tells from an error of a transaction whose first operation is the check that
// somebody else coordinates.
func deposed(err error) error {
	if culprit(err) == 0 && (errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode)) {
		return errDeposed
	}
	return err
}

// inherit reads what the coordinators before have written. Nobody else changes it any
// more, but for what was under way when the epoch was raised; the answer to that came
// behind all of it.
func (c *coordination) inherit(ctx context.Context) error {
	if c.opts.Mode == GlobalBarrier {
		data, stat, err := c.s.Get(ctx, c.at.in(statusNode))
		if err != nil {
			return err
		}
		c.told = stat.Version
		// A status that makes no sense is none: the next generation is above
		// those of all shards in any case.
		c.status, _ = parseStatus(data)
	}
	keys, _, err := c.s.Children(ctx, c.at.in(assignmentsDir))
	if err != nil {
		return err
	}
	return c.shards.load(ctx, keys)
}

// parseStatus reads the status of global mode.
func parseStatus(data []byte) (core.Status, error) {
	record, err := decode[statusRecord](data)
	if err != nil || len(data) == 0 {
		return core.Status{}, err
	}
	state := slices.Index(states(), record.State)
	if state < 0 || record.Generation < 0 {
		return core.Status{}, ErrRecord
	}
	return core.Status{Generation: record.Generation, State: core.State(state)}, nil
}

// setStatus sets the status. Like all that the coordinator writes, it is on condition
// of the epoch, and of the version that it knows; an unanswered one is read.
func (c *coordination) setStatus(ctx context.Context, st core.Status) error {
	data := encode(statusRecord{Generation: st.Generation, State: states()[st.State], Epoch: c.epoch})
	path, unclear := c.at.in(statusNode), false
	c.status, c.missing = st, 0
	return c.s.Retry(ctx, func() error {
		for {
			if unclear {
				is, stat, err := c.s.Get(ctx, path)
				if err != nil {
					return err
				}
				c.told = stat.Version
				if slices.Equal(is, data) {
					return nil
				}
			}
			unclear = true
			results, err := c.s.Txn(ctx, c.check(), session.SetOp(path, data, c.told))
			if err == nil {
				c.told = results[1].Stat.Version
				return nil
			}
			if culprit(err) != 1 || !errors.Is(err, session.ErrBadVersion) {
				return deposed(err)
			}
		}
	})
}
