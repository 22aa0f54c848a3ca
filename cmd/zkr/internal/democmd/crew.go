package democmd

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cli"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/signals"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/supervise"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
)

// sceneLimit bounds every wait of the demonstration, in session timeouts.
const sceneLimit = 4

// crew is the workers of one round.
type crew struct {
	servers string
	timeout time.Duration // of sessions
	stderr  *os.File
	judge   *judge
	show    *timeline
	events  chan Event
	members map[string]*subprocess.Process

	past []Event // events that await has received for later calls
}

func newCrew(servers string, timeout time.Duration, stderr *os.File, judge *judge, show *timeline) *crew {
	return &crew{servers: servers, timeout: timeout, stderr: stderr, judge: judge, show: show, events: make(chan Event), members: map[string]*subprocess.Process{}}
}

// startWorker starts a worker. The calling goroutine must be locked to its thread.
func (c *crew) startWorker(name string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(self, "demo-worker", name, "--servers", c.servers, "--session-timeout", c.timeout.String())
	cmd.Stderr = c.stderr
	// Ctrl-C is for the demonstration, which then ends its workers.
	subprocess.OwnGroup(cmd)
	supervise.DieWithParent(cmd.SysProcAttr)
	worker, err := subprocess.Start(cmd, func(line string) {
		var e Event
		if json.Unmarshal([]byte(line), &e) == nil {
			c.events <- e
		}
	}, nil)
	if err != nil {
		return fmt.Errorf("start a worker: %w", err)
	}
	c.members[name] = worker
	return nil
}

// recordEvent records an event of a worker.
func (c *crew) recordEvent(e Event) {
	c.judge.reported(e)
	c.show.event(e)
}

// await waits for an event of the worker. Events that earlier calls have
// received and not used count.
func (c *crew) await(ctx context.Context, name, what string) (Event, error) {
	for i, e := range c.past {
		if e.Worker == name && e.Event == what {
			c.past = append(c.past[:i:i], c.past[i+1:]...)
			return e, nil
		}
	}
	limit, stop := cli.NewTimer(sceneLimit * c.timeout)
	defer stop()
	for {
		select {
		case e := <-c.events:
			c.recordEvent(e)
			if e.Worker == name && e.Event == what {
				return e, nil
			}
			c.past = append(c.past, e)
			if c.judge.disturbed() {
				return Event{}, errDisturbed // other workers are next, and the event may never come
			}
		case <-limit:
			return Event{}, fmt.Errorf("%s did not report %q within %v", name, what, sceneLimit*c.timeout)
		case <-ctx.Done():
			return Event{}, context.Cause(ctx)
		}
	}
}

// queue waits until n contenders have a place.
func (c *crew) queue(ctx context.Context, n int) error {
	for end := time.Now().Add(sceneLimit * c.timeout); c.judge.queued() < n; {
		if time.Now().After(end) {
			return fmt.Errorf("%d workers did not queue up within %v", n, sceneLimit*c.timeout)
		}
		if err := c.watch(ctx, 5*time.Millisecond); err != nil {
			return err
		}
	}
	return nil
}

// watch lets the workers work for d.
func (c *crew) watch(ctx context.Context, d time.Duration) error {
	over, stop := cli.NewTimer(d)
	defer stop()
	for {
		select {
		case e := <-c.events:
			c.recordEvent(e)
			c.past = append(c.past, e)
		case <-over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// do sends a worker a signal, and records the effect. The recorded time is
// before a signal that wakes the worker, and after a signal that stops the
// worker: the worker surely runs only in between.
func (c *crew) do(name string, sig syscall.Signal, what string) time.Time {
	before := time.Now()
	_ = c.members[name].Signal(sig)
	e := Event{At: time.Now(), Worker: name, Event: what}
	if sig == signals.Cont {
		e.At = before
	}
	c.recordEvent(e)
	return e.At
}

func (c *crew) kill(name string) time.Time   { return c.do(name, syscall.SIGKILL, "killed") }
func (c *crew) freeze(name string) time.Time { return c.do(name, signals.Stop, "frozen") }
func (c *crew) wake(name string) time.Time   { return c.do(name, signals.Cont, "woken") }

// order sends a worker an order.
func (c *crew) order(name, what string) error {
	return c.members[name].Tell(what)
}

// dismiss ends all workers and waits for them.
func (c *crew) dismiss() {
	for _, m := range c.members {
		m.Kill()
	}
	for _, m := range c.members {
		for over := false; !over; {
			select {
			case <-c.events: // too late to matter
			case <-m.Gone():
				over = true
			}
		}
	}
}
