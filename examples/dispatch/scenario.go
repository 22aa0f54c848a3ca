package main

import (
	"context"
	"time"
)

// scenario is a play.
type scenario struct {
	name, about string
	clients     []string // they collect the results of their tasks
	tasks       int      // that are submitted in all, at least
	original    string   // the numbers of the course, to compare with; may be ""
	play        func(ctx context.Context, c *crew) error
}

func scenarios() []scenario {
	return []scenario{
		{"c1w1m1", "the client dies, then the only worker", []string{"c2"}, 10, "", c1w1m1},
		{"c1w2m1", "one of two workers dies", []string{"c1"}, 20, "24 assignments of 20 tasks, 4 of them again", c1w2m1},
		{"c2w2m1", "no process dies", []string{"c1", "c2"}, 40, "40 assignments of 40 tasks, none again", c2w2m1},
		{"c2w2m2", "the master dies", []string{"c1", "c2"}, 40, "40 assignments of 40 tasks, none again", c2w2m2},
		{"c2w2m2-lags", "the master is frozen, and thawed when another one leads", []string{"c1", "c2"}, 40, "", c2w2m2Lags},
	}
}

// startRoles starts the roles, and waits until all have started: the masters first, so that the
// first one leads, then the workers. Processes whose names end with ! are going to be killed.
func (c *crew) startRoles(ctx context.Context, masters, workers, clients []string) error {
	start := func(role, name string) error {
		if bare := before(name, "!"); bare != name {
			return c.start(role, bare, mortal)
		}
		return c.start(role, name, nil)
	}
	for i, name := range masters {
		if err := start("master", name); err != nil {
			return err
		}
		if i > 0 {
			continue
		}
		if err := c.leads(ctx, before(name, "!")); err != nil {
			return err
		}
	}
	for _, name := range workers {
		if err := start("worker", name); err != nil {
			return err
		}
	}
	for _, name := range workers {
		if err := c.awaitAlive(ctx, before(name, "!")); err != nil {
			return err
		}
	}
	for _, name := range clients {
		if err := start("client", name); err != nil {
			return err
		}
	}
	return nil
}

func (c *crew) leads(ctx context.Context, name string) error {
	return c.until(ctx, name+" to lead", func(b *bystander) bool { return b.leader == name })
}

func (c *crew) awaitAlive(ctx context.Context, name string) error {
	return c.until(ctx, name+" to live", func(b *bystander) bool { return b.alive[name] })
}

// awaitSubmitted waits until n tasks exist.
func (c *crew) awaitSubmitted(ctx context.Context, n int) error {
	return c.until(ctx, "tasks", func(b *bystander) bool { return len(b.seen.submitted) >= n })
}

// c1w1m1: a client that dies submits no more tasks, and its submitted tasks are done
// nevertheless; when the only worker dies, tasks wait for another worker.
func c1w1m1(ctx context.Context, c *crew) error {
	if err := c.startRoles(ctx, []string{"m1"}, []string{"a!"}, nil); err != nil {
		return err
	}
	if err := c.start("client", "c1", func(own *settings) { mortal(own); own.retention = 20 * own.second }); err != nil {
		return err
	}
	if err := c.awaitSubmitted(ctx, 4); err != nil {
		return err
	}
	c.Process("c1").Kill()
	if err := c.start("client", "c2", func(own *settings) { own.tasks = 6 }); err != nil {
		return err
	}
	if err := c.awaitSubmitted(ctx, 8); err != nil {
		return err
	}
	c.Process("a").Kill()
	if err := c.until(ctx, "the worker's death to be noticed", func(b *bystander) bool { return !b.alive["a"] && len(b.has["a"]) == 0 }); err != nil {
		return err
	}
	c.mu.Lock()
	c.logLocked("-", "no worker is active, and these tasks wait: %v", c.waitingLocked())
	c.mu.Unlock()
	return c.start("worker", "b", nil)
}

// c1w2m1: one of two workers dies when it has four tasks; the other one gets them.
func c1w2m1(ctx context.Context, c *crew) error {
	if err := c.startRoles(ctx, []string{"m1"}, []string{"a", "b!"}, []string{"c1"}); err != nil {
		return err
	}
	if err := c.until(ctx, "b to have four tasks", func(b *bystander) bool {
		return len(b.has["b"]) >= 4 && len(b.has["a"]) >= 4 || len(b.seen.submitted) == 20
	}); err != nil {
		return err
	}
	c.Process("b").Kill()
	return nil
}

// c2w2m1: two clients, two workers, and nothing happens to them.
func c2w2m1(ctx context.Context, c *crew) error {
	return c.startRoles(ctx, []string{"m1"}, []string{"a", "b"}, []string{"c1", "c2"})
}

// c2w2m2: the master dies after some assignments; the other one takes over.
func c2w2m2(ctx context.Context, c *crew) error {
	if err := c.twoMasters(ctx); err != nil {
		return err
	}
	c.Process("m1").Kill()
	return c.leads(ctx, "m2")
}

// c2w2m2Lags: the master does not die, but is frozen for as long as it takes the other
// one to take over; then it goes on where it stood.
func c2w2m2Lags(ctx context.Context, c *crew) error {
	if err := c.twoMasters(ctx); err != nil {
		return err
	}
	former := c.Process("m1")
	former.Freeze()
	defer former.Thaw()
	if err := c.leads(ctx, "m2"); err != nil {
		return err
	}
	given := c.assigned()
	return c.until(ctx, "m2 to give out tasks", func(b *bystander) bool {
		return b.seen.assigned() > given || given >= 40 // m1 was frozen too late: nothing is left for m2
	})
}

// twoMasters begins a play with two masters, and waits until some tasks are given out.
func (c *crew) twoMasters(ctx context.Context) error {
	if err := c.startRoles(ctx, []string{"m1!", "m2"}, []string{"a", "b"}, []string{"c1", "c2"}); err != nil {
		return err
	}
	return c.until(ctx, "some assignments", func(b *bystander) bool { return b.seen.assigned() >= 8 })
}

func (c *crew) assigned() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.seen.assigned()
}

// limit is how long a play may last: far longer than any does, for machines that are
// busy with something else.
const limit = 3 * time.Minute
