package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/zkrecipes/zkrecipes/zktest"
)

// strike is a fault of a request, counted from 1; the zero value means no
// fault.
type strike struct {
	fault Fault
	at    int
}

// run performs the case once in a bubble of its own and returns the number of
// counted requests, and the failure.
func (c *Case) run(t *testing.T, first, then strike) (seen int, failure error) {
	t.Helper()
	c.abandoned = nil
	synctest.Test(t, func(t *testing.T) {
		opt := zktest.Options{}
		if c.Options != nil {
			opt = *c.Options
		}
		opt.InMemory = true
		s, err := zktest.Start(&opt)
		if err != nil {
			t.Fatalf("matrix %s: %v", c.Name, err)
		}
		e := &Env{T: t, Server: s, Fault: first.fault, Request: first.at, Then: then.fault, Second: then.at}
		if err := s.WaitLeader(t.Context()); err != nil {
			t.Fatalf("matrix %s: %v", c.Name, err)
		}
		seen, failure = c.phases(e)
		if err := c.bounded("clean-up", e.runCleanups); failure == nil {
			failure = err
		}
		if err := s.Close(); err != nil && failure == nil {
			failure = err
		}
		c.awaitAbandoned(t, failure)
	})
	return seen, failure
}

// awaitAbandoned waits for hanging calls, because a bubble must not leave goroutines
// behind. Most calls return within a day after the server has gone. A call that
// never returns kills the test, so its name is printed first.
func (c *Case) awaitAbandoned(t *testing.T, failure error) {
	day := time.NewTimer(24 * time.Hour)
	defer day.Stop()
	for _, done := range c.abandoned {
		select {
		case late := <-done:
			t.Logf("matrix %s: ended too late: %v", c.Name, late)
		case <-day.C:
			_, _ = fmt.Fprintf(os.Stderr, "matrix %s: %s: %v, and does not return even now\n", t.Name(), c.Name, failure)
			t.Fatalf("matrix %s: %v, and does not return even now", c.Name, failure)
		}
	}
}

func (e *Env) runCleanups() error {
	for i := len(e.cleanups) - 1; i >= 0; i-- {
		e.cleanups[i]()
	}
	return nil
}

func (c *Case) phases(e *Env) (int, error) {
	if c.Setup != nil {
		if err := c.bounded("setup", func() error { return c.Setup(e) }); err != nil {
			return 0, fmt.Errorf("setup: %w", err)
		}
		// A request started by setup and still in flight does not belong to the
		// operation. Such a request would be counted in some runs only.
		synctest.Wait()
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	in := &injector{counts: c.Counts, strikes: []strike{{e.Fault, e.Request}, {e.Then, e.Second}}, server: e.Server, cancel: cancel}
	remove := e.Server.OnRequest(in.judgeRequest)
	err := c.bounded("operation", func() error {
		e.Err = c.Op(ctx, e)
		return nil
	})
	if errors.Is(err, ErrHang) {
		cancel()
	}
	seen := in.stop()
	remove()
	if err != nil {
		return seen, err
	}
	if e.Fault == "" && e.Err != nil {
		return seen, fmt.Errorf("the operation fails: %w", e.Err)
	}
	if c.Check == nil {
		return seen, nil
	}
	return seen, c.bounded("check", func() error { return c.Check(e) })
}

// bounded calls f and stops waiting after the limit. Without a limit, a client
// that retries would keep the bubble's clock running indefinitely.
func (c *Case) bounded(what string, f func() error) error {
	done := make(chan error, 1)
	// bounded or farewell waits for this goroutine; the return of f ends the
	// goroutine.
	go func() { done <- f() }()
	limit := time.NewTimer(c.Limit)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		c.abandoned = append(c.abandoned, done)
		return fmt.Errorf("%s %w for %v", what, ErrHang, c.Limit)
	}
}

// injector breaks a request, or two.
type injector struct {
	counts  func(zktest.Request) bool
	strikes []strike
	server  *zktest.Server
	cancel  context.CancelFunc

	// mu guards the fields below: seen counts requests until stopped is set; the
	// timers thaw the servers, and stop the operation in an outage.
	mu      sync.Mutex
	seen    int
	stopped bool
	thaw    *time.Timer
	outage  *time.Timer
}

func (in *injector) judgeRequest(r zktest.Request) zktest.Action {
	if r.Client != "tested" || !in.counts(r) {
		return zktest.Action{}
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.stopped {
		return zktest.Action{}
	}
	in.seen++
	for _, s := range in.strikes {
		if s.at != in.seen {
			continue
		}
		if s.fault.cancels() {
			in.cancel()
		}
		switch s.fault {
		case Freeze:
			in.freezeLocked()
		case Outage:
			in.beginOutageLocked()
		}
		return s.fault.action()
	}
	return zktest.Action{}
}

// testedLink is the client under test; see Env.Dial.
func testedLink() zktest.Link { return zktest.Link{Client: "tested"} }

// beginOutageLocked cuts the client under test off from all servers until stop.
func (in *injector) beginOutageLocked() {
	in.server.BlackHole(testedLink(), zktest.Both)
	in.outage = time.AfterFunc(untilStop, in.cancel)
}

// freezeLocked lets all servers stand still for a while.
func (in *injector) freezeLocked() {
	for i := range in.servers() {
		_ = in.server.Freeze(i + 1)
	}
	in.thaw = time.AfterFunc(freezeTime, in.thawAll)
}

func (in *injector) thawAll() {
	for i := range in.servers() {
		_ = in.server.Thaw(i + 1)
	}
}

func (in *injector) servers() int { return strings.Count(in.server.Addr(), ",") + 1 }

func (in *injector) stop() int {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.stopped = true
	if in.thaw != nil && in.thaw.Stop() {
		in.thawAll()
	}
	if in.outage != nil {
		in.outage.Stop()
		in.server.HealLink(testedLink())
	}
	return in.seen
}
