package main

import (
	"fmt"
	"strconv"

	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
)

// crew is the processes of a scenario.
type crew struct {
	settings
	*bystander
	*osproc.Crew
}

func newCrew(c settings, b *bystander) *crew {
	return &crew{c, b, osproc.NewCrew(func(name, line string) { b.logf(name, "%s", line) })}
}

// start starts a role; change may change what is usual.
func (c *crew) start(role, name string, change func(*settings)) error {
	own := c.settings
	if change != nil {
		change(&own)
	}
	c.logf(name, "STARTED, a %s", role)
	return c.Start(name, "-role", role, "-name", name, "-servers", own.servers, "-path", own.path, "-second", own.second.String(),
		"-session", own.session.String(), "-tasks", strconv.Itoa(own.tasks), "-retention", own.retention.String())
}

// mortal is the short session of a process that is going to be killed, which others
// have to wait for.
func mortal(own *settings) { own.session = own.mortal }

// awaitEnds waits for the ends of processes, which must be good ones.
func (c *crew) awaitEnds(names ...string) error {
	for _, name := range names {
		if err := c.Process(name).Wait(); err != nil {
			return fmt.Errorf("%s has ended: %w", name, err)
		}
		c.logf(name, "has ended")
	}
	return nil
}

// end ends processes in order.
func (c *crew) end(names ...string) error {
	for _, name := range names {
		c.Process(name).End()
	}
	return c.awaitEnds(names...)
}

// dead returns the processes that were killed.
func (c *crew) dead() map[string]bool {
	out := map[string]bool{}
	killed, _ := c.Names()
	for _, name := range killed {
		out[name] = true
	}
	return out
}
