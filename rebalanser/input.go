package rebalanser

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
)

// readInput reads an input, and passes it to the coordinator.
func (c *coordination) readInput(ctx context.Context, in input) error {
	if in == clients || in == config {
		c.reports.noteChange()
	}
	switch in {
	case clients:
		return c.readClients(ctx)
	case resources:
		return c.readResources(ctx)
	case config:
		return c.readConfig(ctx)
	case epoch:
		return c.readEpoch(ctx)
	case acks:
		return c.readAcks(ctx)
	case moves:
		left, err := c.moving.readMovesLeft(ctx, c.members.isAlive, func() { c.changed.Post(moves) })
		if err != nil {
			return err
		}
		c.reports.reportMoved(ctx, left)
		return c.performSteps(ctx, c.machine.Moved(time.Now(), left))
	default:
		return c.sweepBarriers(ctx)
	}
}

func (c *coordination) readClients(ctx context.Context) error {
	names, _, w, err := c.s.ChildrenW(ctx, c.at.dirPath(clientsDir))
	if err != nil {
		return err
	}
	c.watchInput(clients, w)
	if err := c.members.updateClients(ctx, names); err != nil {
		return err
	}
	if err := c.performSteps(ctx, c.machine.Members(time.Now(), c.members.coreMembers())); err != nil {
		return err
	}
	// The coordinator does not wait for clients that have gone: check again.
	switch {
	case c.opts.Mode == GlobalBarrier:
		if c.machine.AwaitsAcks() {
			c.changed.Post(acks)
		}
	case len(c.moving.moves) > 0:
		c.changed.Post(moves)
	}
	return nil
}

func (c *coordination) readResources(ctx context.Context) error {
	if c.resources.hasNews() {
		c.reports.noteChange()
	}
	gone, changed, w, err := c.resources.read(ctx)
	if err != nil {
		return err
	}
	if w != nil {
		c.watchInput(resources, w)
	}
	if !changed {
		return nil
	}
	// The sweep lists all barriers: it waits until a hundredth of the resources was removed.
	const part = 100
	if c.unswept += len(gone); len(gone) > 0 && c.unswept*part >= len(c.resources.names) && c.opts.Mode == ResourceBarrier {
		c.changed.Post(leftovers)
	}
	return c.performSteps(ctx, c.machine.Resources(time.Now(), c.resources.names))
}

func (c *coordination) readConfig(ctx context.Context) error {
	seen, err := optimistic.GetWatched(ctx, c.s, c.at.dirPath(configNode))
	if err != nil {
		return err
	}
	c.watchInput(config, seen.Watch)
	// Data that is not a record of this package pauses nothing. A record of a newer
	// version may mean anything: no rebalancing begins until a member that knows the
	// format coordinates.
	record, err := decode[configRecord](c.at.dirPath(configNode), seen.Data)
	if newer := isNewer(err); newer || c.unreadable {
		c.unreadable = newer
		if !newer {
			err = nil
		}
		c.planned(err)
	}
	return c.performSteps(ctx, c.machine.Paused(time.Now(), record.Paused || c.unreadable))
}

func (c *coordination) readEpoch(ctx context.Context) error {
	seen, err := optimistic.GetWatched(ctx, c.s, c.at.dirPath(epochNode))
	if err != nil {
		return err
	}
	c.watchInput(epoch, seen.Watch)
	if seen.Stat.Version != c.version {
		return errDeposed
	}
	return nil
}

// readAcks tells the machine which clients have stopped. The machine knows the live
// clients: the watch on the clients has not fired, and an event of a change before the
// status was set would have arrived before the reply to that write.
func (c *coordination) readAcks(ctx context.Context) error {
	if err := c.throttleInput(ctx); err != nil {
		return err
	}
	names, _, w, err := c.s.ChildrenW(ctx, c.at.dirPath(stoppedDir))
	if err != nil {
		return err
	}
	c.watchInput(acks, w)
	said, all := map[string]int64{}, c.members.clientNames()
	for _, name := range names {
		if client, generation, ok := shareformat.ParseStopped(name); ok {
			said[client] = max(said[client], generation)
		}
	}
	c.missing = 0
	for _, client := range all {
		if has := said[client] == c.status.Generation; has != (c.status.State == core.Stop) {
			c.missing++
		}
	}
	return c.performSteps(ctx, c.machine.Acks(time.Now(), all, said))
}

// throttleInput pauses if many acknowledgments are missing: each of them fires the watch, and to list
// all for each would cost the square of their number.
func (c *coordination) throttleInput(ctx context.Context) error {
	const many, each, most = 32, 50 * time.Microsecond, 50 * time.Millisecond
	if c.missing < many {
		return nil
	}
	t := time.NewTimer(min(time.Duration(c.missing)*each, most))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
