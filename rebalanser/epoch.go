package rebalanser

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/versioned"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
	"github.com/zkrecipes/zkrecipes/session"
)

// raiseEpoch writes the next epoch, on condition of the present epoch: from then on no other
// coordinator's writes are carried out. If the reply is lost, the repeated call finds the
// record of this client, which is elected only once. A client whose node has gone cannot
// raise the epoch.
func (c *coordination) raiseEpoch(ctx context.Context) error {
	for {
		data, stat, err := c.s.Get(ctx, c.at.dirPath(epochNode))
		if err != nil {
			return err
		}
		// Data that is not a record of this package is replaced; the version still
		// grows. A member that does not know the record's format cannot coordinate:
		// the member leaves, and the next member in the queue may know the format.
		record, err := decode[epochRecord](c.at.dirPath(epochNode), data)
		if isNewer(err) {
			return err
		}
		if record.Client == c.client {
			c.version, c.epoch = stat.Version, record.Epoch
			return nil
		}
		next := epochRecord{Format: format, Epoch: record.Epoch + 1, Client: c.client, Since: time.Now().UTC(), Kept: record.Kept}
		results, err := c.s.Txn(ctx, c.guardMember(), session.SetOp(c.at.dirPath(epochNode), encode(&next), stat.Version))
		switch {
		case err == nil:
			c.version, c.epoch = results[1].Stat.Version, next.Epoch
			return nil
		case optimistic.CulpritIndex(err) == 0 && errors.Is(err, session.ErrNoNode):
			return errNodeGone
		case optimistic.CulpritIndex(err) != 1 || !errors.Is(err, session.ErrBadVersion):
			return err
		}
	}
}

// checkEpoch makes a transaction fail once somebody else coordinates.
func (c *coordination) checkEpoch() session.Op {
	return session.CheckOp(c.at.dirPath(epochNode), c.version)
}

// deposedError reports whether err, of a transaction that begins with the check, says that
// another client coordinates.
func deposedError(err error) error {
	if optimistic.CulpritIndex(err) == 0 && (errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode)) {
		return errDeposed
	}
	return err
}

// inheritPlan reads the records of the previous coordinators. Nobody else changes these records
// any more: all writes that were in flight when the epoch was raised were carried out
// before the reply to that.
func (c *coordination) inheritPlan(ctx context.Context) error {
	if c.opts.Mode == GlobalBarrier {
		data, stat, err := c.s.Get(ctx, c.at.dirPath(statusNode))
		if err != nil {
			return err
		}
		c.told = stat.Version
		// An invalid status is ignored: the next generation is above those of all
		// shards in any case.
		if c.status, c.statusKept, err = parseStatus(c.at.dirPath(statusNode), data); isNewer(err) {
			return err
		}
	}
	keys, _, err := c.s.Children(ctx, c.at.dirPath(assignmentsDir))
	if err != nil {
		return err
	}
	if err := c.shards.loadShards(ctx, keys); err != nil {
		return err
	}
	for _, key := range sortedKeys(c.shards.bad) {
		if err := c.shards.bad[key]; isNewer(err) {
			return err
		}
	}
	return nil
}

// parseStatus reads the status of global mode, which is on path.
func parseStatus(path string, data []byte) (core.Status, versioned.Kept, error) {
	record, err := decode[statusRecord](path, data)
	if err != nil || len(data) == 0 {
		return core.Status{}, versioned.Kept{}, err
	}
	state := slices.Index(shareformat.States(), record.State)
	return core.Status{Generation: record.Generation, State: core.State(state)}, record.Kept, nil
}

// setStatus sets the status. Like every write of the coordinator, it depends on the epoch
// and on the version that the coordinator knows. After an unanswered write, setStatus reads
// the status.
func (c *coordination) setStatus(ctx context.Context, st core.Status) error {
	data := encode(&statusRecord{Format: format, Generation: st.Generation, State: shareformat.States()[st.State], Epoch: c.epoch, Kept: c.statusKept})
	path, unclear := c.at.dirPath(statusNode), false
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
				if _, _, err := parseStatus(path, is); isNewer(err) {
					return err
				}
			}
			unclear = true
			results, err := c.s.Txn(ctx, c.checkEpoch(), session.SetOp(path, data, c.told))
			if err == nil {
				c.told = results[1].Stat.Version
				return nil
			}
			if optimistic.CulpritIndex(err) != 1 || !errors.Is(err, session.ErrBadVersion) {
				return deposedError(err)
			}
		}
	})
}
