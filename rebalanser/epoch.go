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
	"github.com/zkrecipes/zkrecipes/stm"
)

// raiseEpoch writes the next epoch, on condition of the present epoch: from then on no other
// coordinator's writes are carried out. If the reply is lost, the next attempt finds the
// record of this client, which is elected only once. A client whose node has gone cannot
// raise the epoch.
func (c *coordination) raiseEpoch(ctx context.Context) error {
	path := c.at.dirPath(epochNode)
	results, err := c.records.ApplyResults(ctx, func(tx *stm.Tx) error {
		is, err := tx.Get(path)
		switch {
		case err != nil:
			return err
		case !is.Exists:
			return session.ErrNoNode
		}
		// Data that is not a record of this package is replaced; the version still
		// grows. A member that does not know the record's format cannot coordinate:
		// the member leaves, and the next member in the queue may know the format.
		record, err := decode[epochRecord](path, is.Data)
		if isNewer(err) {
			return err
		}
		c.version, c.epoch = is.Stat.Version, record.Epoch
		if record.Client == c.client {
			return nil
		}
		c.epoch++
		next := epochRecord{Format: format, Epoch: c.epoch, Client: c.client, Since: time.Now().UTC(), Kept: record.Kept}
		return errors.Join(tx.Guard(c.guardMember().In(c.s)), tx.Set(path, encode(&next)))
	})
	switch {
	case errors.Is(err, stm.ErrGuard) && errors.Is(err, session.ErrNoNode):
		return errNodeGone // and not a guard that servers refuse, which is a failure
	case err == nil && len(results) > 0:
		c.version = results[0].Stat.Version
	}
	return err
}

// checkEpoch makes a transaction fail once another client coordinates.
func (c *coordination) checkEpoch() session.Op {
	return session.CheckOp(c.at.dirPath(epochNode), c.version)
}

// deposedError reports whether err, of a transaction that begins with the check, says that
// another client coordinates.
func deposedError(err error) error {
	if optimistic.CulpritIndex(err) == 0 && isChanged(err) {
		return errDeposed
	}
	return err
}

// isChanged reports whether a check failed because the znode has changed or is gone.
func isChanged(err error) bool {
	return errors.Is(err, session.ErrBadVersion) || errors.Is(err, session.ErrNoNode)
}

// inheritPlan reads the records of the previous coordinators. No other client changes these
// records any more: all writes that were in flight when the epoch was raised were carried out
// before the reply to that write.
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
	path := c.at.dirPath(statusNode)
	c.status, c.missing = st, 0
	known := stm.Node{Path: path, Exists: true, Stat: session.Stat{Version: c.told}}
	results, err := c.records.ApplyResults(ctx, func(tx *stm.Tx) error {
		if err := errors.Join(tx.Guard(c.checkEpoch().In(c.s)), tx.Assume(known)); err != nil {
			return err
		}
		is, err := tx.Get(path) // a request only if known is out of date
		switch {
		case err != nil:
			return err
		case !is.Exists:
			return session.ErrNoNode
		}
		c.told = is.Stat.Version
		if slices.Equal(is.Data, data) {
			return nil
		}
		if _, _, err := parseStatus(path, is.Data); isNewer(err) {
			return err
		}
		return tx.Set(path, data)
	})
	switch {
	case errors.Is(err, stm.ErrGuard) && isChanged(err):
		return errDeposed
	case err == nil && len(results) > 0:
		c.told = results[0].Stat.Version
	}
	return err
}
