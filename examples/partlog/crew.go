package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/examples/internal/osproc"
)

// consumer is the arguments of one.
func (c settings) consumer(name string) string {
	return strings.Join([]string{
		"-consume", name, "-servers", c.servers, "-root", c.root, "-dir", c.dir, "-session", c.session.String(),
		"-pace", c.pace.String(), "-batch", strconv.Itoa(c.batch),
	}, " ")
}

// crew is the consumers.
type crew struct {
	settings
	readers sync.WaitGroup // and what thaws consumers

	// mu guards the fields below; lines of out are written one by one.
	mu      sync.Mutex
	out     io.Writer
	members map[string]*process
	owned   map[string]bool // the consumers that have owned a partition
	broken  error           // a consumer has ended by itself
	begun   time.Time
}

// process is a consumer that runs.
type process struct {
	cmd    *exec.Cmd
	orders io.Closer
	over   chan struct{} // closed when it is gone
	ending bool          // its end is wanted
}

// tally is how often things were done to consumers.
type tally struct{ killed, frozen, ended int }

func (t tally) String() string {
	return fmt.Sprintf("killed %d times, frozen %d times, and ended gracefully %d times", t.killed, t.frozen, t.ended)
}

func newCrew(c settings, out io.Writer) *crew {
	return &crew{settings: c, out: out, members: map[string]*process{}, owned: map[string]bool{}, begun: time.Now()}
}

func (c *crew) say(name, format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(c.out, "%6.3f  %s  %s\n", time.Since(c.begun).Seconds(), name, fmt.Sprintf(format, args...))
}

// start starts a consumer.
func (c *crew) start(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, strings.Fields(c.consumer(name))...)
	cmd.Stderr = os.Stderr
	// Ctrl-C is for the director, which then ends the consumers.
	osproc.OwnGroup(cmd)
	orders, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	said, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	p := &process{cmd: cmd, orders: orders, over: make(chan struct{})}
	c.mu.Lock()
	c.members[name] = p
	c.mu.Unlock()
	c.say(name, "STARTED")
	// Waited for by dismiss; ends with the consumer.
	c.readers.Go(func() {
		defer close(p.over)
		for lines := bufio.NewScanner(said); lines.Scan(); {
			c.say(name, "%s", lines.Text())
			if strings.Contains(lines.Text(), " owned from ") {
				c.mu.Lock()
				c.owned[name] = true
				c.mu.Unlock()
			}
		}
		err := cmd.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		if !p.ending && c.broken == nil {
			c.broken = fmt.Errorf("the consumer %s has ended by itself: %w", name, errors.Join(err, errEnded))
		}
	})
	return nil
}

// haveOwned reports whether every consumer has owned a partition.
func (c *crew) haveOwned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.owned) == c.consumers
}

var errEnded = errors.New("ended") // read only

// failure is that a consumer has ended by itself.
func (c *crew) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.broken
}

// expect says that a consumer's end is wanted now.
func (c *crew) expect(name string) *process {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := c.members[name]
	p.ending = true
	return p
}

// disturb does things to consumers while records come. Towards the end it lets them be.
func (c *crew) disturb(ctx context.Context, r *rand.Rand) (did tally, err error) {
	for end := time.Now().Add(c.last); (time.Now().Before(end) || did.frozen == 0) && err == nil; {
		rest(ctx, c.last/20+time.Duration(r.Int64N(int64(c.last/20))))
		name := fmt.Sprintf("c%d", 1+r.IntN(c.consumers))
		switch what := r.IntN(10); {
		case ctx.Err() != nil:
			return did, context.Cause(ctx)
		case did.killed == 0 || did.frozen > 0 && what < 6:
			did.killed++
			c.say(name, "KILLED")
			p := c.expect(name)
			_ = p.cmd.Process.Kill() // it may have ended
			<-p.over
			err = c.start(name)
		case did.frozen == 0 || did.ended > 0 && what < 8:
			did.frozen++
			c.freeze(ctx, name)
		default:
			did.ended++
			c.say(name, "ENDED")
			p := c.expect(name)
			_ = p.orders.Close() // it may have ended
			<-p.over
			err = c.start(name)
		}
		err = errors.Join(err, c.failure())
	}
	return did, err
}

// freeze stops a consumer for longer than its session lasts, and then lets it go on.
func (c *crew) freeze(ctx context.Context, name string) {
	c.mu.Lock()
	p := c.members[name]
	c.mu.Unlock()
	c.say(name, "FROZEN")
	_ = p.cmd.Process.Signal(osproc.Stop) // it may have ended
	// Waited for by dismiss; ends after a while, or with ctx or the consumer.
	c.readers.Go(func() {
		select {
		case <-time.After(c.session * 3 / 2):
		case <-ctx.Done():
		case <-p.over:
			return
		}
		c.say(name, "THAWED")
		_ = p.cmd.Process.Signal(osproc.Continue) // it may have ended
	})
}

// dismiss ends all consumers and waits for them.
func (c *crew) dismiss() {
	c.mu.Lock()
	all := make([]*process, 0, len(c.members))
	for _, p := range c.members {
		p.ending = true
		all = append(all, p)
	}
	c.mu.Unlock()
	for _, p := range all {
		_ = p.orders.Close() // it may have ended
	}
	late := time.After(30 * time.Second)
	for _, p := range all {
		select {
		case <-p.over:
		case <-late:
			_ = p.cmd.Process.Kill() // it may have ended
			late = time.After(0)
		}
	}
	c.readers.Wait()
}
