package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
)

// arguments are those of a consumer's process.
func (c settings) arguments(name string) []string {
	return []string{
		"-consume", name, "-servers", c.servers, "-root", c.root, "-dir", c.dir, "-session", c.session.String(),
		"-pace", c.pace.String(), "-batch", strconv.Itoa(c.batch),
	}
}

// crew is the consumers.
type crew struct {
	settings
	*osproc.Crew
	thaws sync.WaitGroup

	// mu guards the fields below; lines of out are written one by one.
	mu    sync.Mutex
	out   io.Writer
	owned map[string]bool // the consumers that have owned a partition
	begun time.Time
}

// tally is how often things were done to consumers.
type tally struct{ killed, frozen, ended int }

func (t tally) String() string {
	return fmt.Sprintf("killed %d times, frozen %d times, and ended gracefully %d times", t.killed, t.frozen, t.ended)
}

func newCrew(c settings, out io.Writer) *crew {
	all := &crew{settings: c, out: out, owned: map[string]bool{}, begun: time.Now()}
	all.Crew = osproc.NewCrew(all.writeLine)
	return all
}

// writeLine writes a line of the time line.
func (c *crew) writeLine(name, line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "%6.3f  %s  %s\n", time.Since(c.begun).Seconds(), name, line)
	if strings.Contains(line, " owned from ") {
		c.owned[name] = true
	}
}

// start starts a consumer.
func (c *crew) start(name string) error {
	c.writeLine(name, "STARTED")
	return c.Start(name, c.arguments(name)...)
}

// haveOwned reports whether every consumer has owned a partition.
func (c *crew) haveOwned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.owned) == c.consumers
}

// injectFaults kills, freezes and ends consumers while records arrive. Near the end it
// injects no more faults.
func (c *crew) injectFaults(ctx context.Context, r *rand.Rand) (did tally, err error) {
	for end := time.Now().Add(c.last); (time.Now().Before(end) || did.frozen == 0) && err == nil; {
		sleepContext(ctx, c.last/20+time.Duration(r.Int64N(int64(c.last/20))))
		name := fmt.Sprintf("c%d", 1+r.IntN(c.consumers))
		p := c.Process(name)
		switch what := r.IntN(10); {
		case ctx.Err() != nil:
			return did, context.Cause(ctx)
		case did.killed == 0 || did.frozen > 0 && what < 6:
			did.killed++
			p.Kill()
			err = c.start(name)
		case did.frozen == 0 || did.ended > 0 && what < 8:
			did.frozen++
			c.freeze(ctx, p)
		default:
			did.ended++
			c.writeLine(name, "ENDED")
			p.End()
			<-p.Gone() // the judge decides whether its end was a good one
			err = c.start(name)
		}
		err = errors.Join(err, c.Failure())
	}
	return did, err
}

// freeze stops a consumer for longer than its session lasts, and then lets it go on.
func (c *crew) freeze(ctx context.Context, p *osproc.Process) {
	p.Freeze()
	// Waited for by endAll; ends after a while, or with ctx or the consumer.
	c.thaws.Go(func() {
		select {
		case <-time.After(c.session * 3 / 2):
		case <-ctx.Done():
		case <-p.Gone():
			return
		}
		p.Thaw()
	})
}

// endAll ends all consumers and waits for them. It ignores that a consumer had to be
// killed: the output is right nevertheless.
func (c *crew) endAll() {
	_ = c.Dismiss()
	c.thaws.Wait()
}
