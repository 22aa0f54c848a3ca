// Package crowd measures what many clients cost that do the same thing at once, each with
// a session of its own: requests, bytes and time.
package crowd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/bench/internal/clients"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"golang.org/x/sync/errgroup"
)

// Setting is a measurement.
type Setting struct {
	Servers string // a connect string
	Root    string // the parent of all paths; it exists
	Clients int
	What    string // one of Tasks
	Timeout time.Duration
	// Shared: the sessions share their heartbeats. Tick is the servers' tickTime.
	Shared bool
	Tick   time.Duration
	// Warm: each client has a turn before, while few others have theirs, and then waits for a
	// heartbeat period. Not for workers, which join once.
	Warm bool
}

// Figures are the results for one step of what the clients do.
type Figures struct {
	What    string `json:"what"`
	Clients int    `json:"clients"`
	// Seconds is the time until all have done it.
	Seconds  float64 `json:"seconds"`
	Requests int64   `json:"requests"`
	// Read and Written are the bytes on all connections.
	Read    int64 `json:"bytes_read"`
	Written int64 `json:"bytes_written"`
}

// step is what each client does, at once with the others.
type step struct {
	name string
	do   func(ctx context.Context, i int, c *session.Client) error
	warm bool // each client may do it more than once
}

// permits is how many permits the semaphore has.
const permits = 16

// steps are what the clients do; the first one prepares it.
func (s Setting) steps(ctx context.Context, all []*session.Client) ([]step, error) {
	switch s.What {
	case "lock":
		return eachInTurn(s.What, all, func(c *session.Client) acquire {
			m := lock.New(c, s.Root+"/lock", nil)
			return func(ctx context.Context) (released, error) { return m.Lock(ctx) }
		}), nil
	case "semaphore":
		return eachInTurn(s.What, all, func(c *session.Client) acquire {
			m := lock.NewSemaphore(c, s.Root+"/semaphore", permits, nil)
			return func(ctx context.Context) (released, error) { return m.Acquire(ctx, 1) }
		}), nil
	case "election":
		return eachInTurn(s.What, all, func(c *session.Client) acquire {
			e := election.New(c, s.Root+"/election", nil)
			return func(ctx context.Context) (released, error) { return e.Campaign(ctx) }
		}), nil
	case "workers":
		return s.workers(ctx, all[0])
	}
	return nil, fmt.Errorf("nothing is called %q", s.What)
}

// released is what a client holds, and gives back.
type released interface {
	Release(ctx context.Context) error
}

// acquire waits for a turn.
type acquire func(ctx context.Context) (released, error)

// eachInTurn is one step: each client has its turn, with a lock of its own that remembers
// what the client has seen.
func eachInTurn(name string, all []*session.Client, make func(c *session.Client) acquire) []step {
	turns := []acquire{}
	for _, c := range all {
		turns = append(turns, make(c))
	}
	return []step{{name: name, warm: true, do: func(ctx context.Context, i int, _ *session.Client) error {
		held, err := turns[i](ctx)
		if err != nil {
			return err
		}
		return held.Release(ctx)
	}}}
}

// warmUp has each client do the step once, few at a time, and waits for a heartbeat period.
func (s step) warmUp(ctx context.Context, all []*session.Client) error {
	doing, doCtx := errgroup.WithContext(ctx)
	doing.SetLimit(clients.AtOnce)
	for i, c := range all {
		// Waited for below; ends with doCtx.
		doing.Go(func() error { return s.do(doCtx, i, c) })
	}
	if err := doing.Wait(); err != nil {
		return err
	}
	last, err := all[0].Session(ctx)
	if err != nil {
		return err
	}
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(last.Heartbeat()):
		return nil
	}
}

// workers join a job, and leave it.
func (s Setting) workers(ctx context.Context, first *session.Client) ([]step, error) {
	o := &workerctl.Options{Root: s.Root + "/jobs"}
	if _, err := workerctl.Submit(ctx, first, workerctl.Spec{Name: "job", Workers: s.Clients}, o); err != nil {
		return nil, err
	}
	workers := make([]*workerctl.Worker, s.Clients)
	return []step{
		{name: "workers join", do: func(ctx context.Context, i int, c *session.Client) error {
			job, err := workerctl.Attach(ctx, c, "job", o)
			if err == nil {
				workers[i], err = job.Join(ctx, workerctl.Identity{Name: fmt.Sprint("worker-", i)})
			}
			return err
		}},
		{name: "workers leave", do: func(ctx context.Context, i int, _ *session.Client) error { return workers[i].Leave(ctx) }},
	}, nil
}

// Tasks are the names of what can be measured.
func Tasks() []string { return []string{"lock", "semaphore", "election", "workers"} }

// counter counts what goes over connections, and requests.
type counter struct{ read, written, requests atomic.Int64 }

func (c *counter) Observe(context.Context, observe.Event) {}

func (c *counter) ObserveRequest(context.Context, observe.Request) { c.requests.Add(1) }

// counted is a connection whose bytes are counted.
type counted struct {
	net.Conn
	by *counter
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	c.by.read.Add(int64(n))
	return n, err
}

func (c counted) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.by.written.Add(int64(n))
	return n, err
}

func (c *counter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return counted{conn, c}, nil
}

// Measure runs a measurement; it has figures for each step. Its clients are closed when it
// returns.
func Measure(ctx context.Context, s Setting) (out []Figures, err error) {
	if !slices.Contains(Tasks(), s.What) {
		return nil, fmt.Errorf("nothing is called %q", s.What)
	}
	var count counter
	opts := &session.Options{Timeout: s.Timeout, TickTime: s.Tick, Dialer: count.dial, Observer: &count}
	if s.Shared {
		opts.SharedHeartbeats = s.Root + "/heartbeats"
	}
	all, err := clients.Connect(ctx, s.Clients, s.Servers, opts, nil)
	defer func() { err = errors.Join(err, clients.Close(ctx, all)) }()
	if err != nil {
		return nil, fmt.Errorf("%d clients: %w", s.Clients, err)
	}
	steps, err := s.steps(ctx, all)
	if err != nil {
		return nil, err
	}
	for _, step := range steps {
		if s.Warm && step.warm {
			if err := step.warmUp(ctx, all); err != nil {
				return out, fmt.Errorf("%d clients, %s, before: %w", s.Clients, step.name, err)
			}
		}
		requests, read, written, began := count.requests.Load(), count.read.Load(), count.written.Load(), time.Now()
		doing, doCtx := errgroup.WithContext(ctx)
		for i, c := range all {
			// Waited for below; ends with doCtx.
			doing.Go(func() error { return step.do(doCtx, i, c) })
		}
		if err := doing.Wait(); err != nil {
			return out, fmt.Errorf("%d clients, %s: %w", s.Clients, step.name, err)
		}
		out = append(out, Figures{
			What: step.name, Clients: s.Clients, Seconds: time.Since(began).Seconds(),
			Requests: count.requests.Load() - requests, Read: count.read.Load() - read, Written: count.written.Load() - written,
		})
	}
	return out, nil
}
