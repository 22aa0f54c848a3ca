package rebalanser

import (
	"context"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/internal/core"
)

// look reads an input, and does what follows from it.
func (c *coordination) look(ctx context.Context, in input) error {
	switch in {
	case clients:
		return c.lookClients(ctx)
	case resources:
		return c.lookResources(ctx)
	case config:
		return c.lookConfig(ctx)
	case epoch:
		return c.lookEpoch(ctx)
	case acks:
		return c.lookAcks(ctx)
	case moves:
		left, err := c.moving.left(ctx, c.roll.alive, func() { c.changed.post(moves) })
		if err != nil {
			return err
		}
		return c.do(ctx, c.machine.Moved(time.Now(), left))
	default:
		return c.sweep.run(ctx, c, func() { c.changed.post(leftovers) })
	}
}

func (c *coordination) lookClients(ctx context.Context) error {
	names, _, w, err := c.s.ChildrenW(ctx, c.at.in(clientsDir))
	if err != nil {
		return err
	}
	c.watch(clients, w)
	if err := c.roll.call(ctx, names); err != nil {
		return err
	}
	if err := c.do(ctx, c.machine.Members(time.Now(), c.roll.members())); err != nil {
		return err
	}
	// Whoever has gone keeps nobody waiting.
	switch {
	case c.opts.Mode == GlobalBarrier:
		c.changed.post(acks)
	case c.moving.under():
		c.changed.post(moves)
	}
	return nil
}

func (c *coordination) lookResources(ctx context.Context) error {
	names, _, w, err := c.s.ChildrenW(ctx, c.at.in(resourcesDir))
	if err != nil {
		return err
	}
	c.watch(resources, w)
	if fewer(c.watched, names) && c.opts.Mode == ResourceBarrier {
		c.changed.post(leftovers)
	}
	c.watched = names
	return c.do(ctx, c.machine.Resources(time.Now(), names))
}

func (c *coordination) lookConfig(ctx context.Context) error {
	data, _, w, err := c.seat.look(ctx, c.at.in(configNode))
	if err != nil {
		return err
	}
	c.watch(config, w)
	// What nobody here has written pauses nothing.
	record, _ := decode[configRecord](data)
	return c.do(ctx, c.machine.Paused(time.Now(), record.Paused))
}

func (c *coordination) lookEpoch(ctx context.Context) error {
	_, stat, w, err := c.seat.look(ctx, c.at.in(epochNode))
	if err != nil {
		return err
	}
	c.watch(epoch, w)
	if stat.Version != c.version {
		return errDeposed
	}
	return nil
}

// lookAcks tells the machine who has stopped. Who is alive it knows: the watch on the
// clients has not fired, and if they had changed before the status was set, that would
// have been told before the answer to the setting was.
func (c *coordination) lookAcks(ctx context.Context) error {
	if err := c.breathe(ctx); err != nil {
		return err
	}
	names, _, w, err := c.s.ChildrenW(ctx, c.at.in(stoppedDir))
	if err != nil {
		return err
	}
	c.watch(acks, w)
	said, all := map[string]int64{}, c.roll.clients()
	for _, name := range names {
		if client, generation, ok := parseStopped(name); ok {
			said[client] = max(said[client], generation)
		}
	}
	c.missing = 0
	for _, client := range all {
		if has := said[client] == c.status.Generation; has != (c.status.State == core.Stop) {
			c.missing++
		}
	}
	return c.do(ctx, c.machine.Acks(time.Now(), all, said))
}

// breathe waits a moment if many are missing: each of them fires the watch, and to list
// all for each would cost the square of their number.
func (c *coordination) breathe(ctx context.Context) error {
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

// fewer reports whether something of before is not in now.
func fewer(before, now []string) bool {
	is := make(map[string]bool, len(now))
	for _, name := range now {
		is[name] = true
	}
	for _, name := range before {
		if !is[name] {
			return true
		}
	}
	return false
}
