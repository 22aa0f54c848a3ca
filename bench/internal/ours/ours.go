// Package ours is the peer with the recipes of this project, used with their
// defaults, except for the session timeout, which is the same for all peers.
package ours

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// Peer is a [task.Peer].
type Peer struct {
	// Servers is a connect string.
	Servers string
	// Timeout of sessions.
	Timeout time.Duration
}

// Version is the version of the checkout.
func (p Peer) Version() string { return "zkrecipes of this checkout" }

// Measure implements [task.Peer].
func (p Peer) Measure(ctx context.Context, t task.Task, ready func() error) (out task.Measured, err error) {
	clients, err := p.connect(ctx, t.Clients)
	defer func() { err = errors.Join(err, closeAll(ctx, clients)) }()
	if err != nil {
		return out, err
	}
	switch t.Kind {
	case task.Load:
		return load(ctx, t, clients[0])
	case task.Creates:
		return creates(ctx, t, clients[0], ready)
	case task.Change:
		return change(ctx, t, clients[0], ready)
	case task.Election:
		return handOvers(ctx, t, clients)
	}
	workers, err := workers(t, clients)
	if err != nil {
		return out, err
	}
	out, err = task.Rate(ctx, t, workers)
	if err == nil && t.Kind == task.Barrier {
		out.Value, err = roundTime(t, out.Value)
	}
	return out, err
}

// roundTime is the time of a round in ms, of which each worker has an operation.
func roundTime(t task.Task, perSecond float64) (float64, error) {
	if perSecond == 0 {
		return 0, fmt.Errorf("no round has ended in %v: measure for longer", t.Time())
	}
	return 1000 * float64(t.Workers) / perSecond, nil
}

func (p Peer) connect(ctx context.Context, n int) (clients []*session.Client, err error) {
	for range n {
		c, err := session.Connect(ctx, p.Servers, &session.Options{Timeout: p.Timeout})
		if err != nil {
			return clients, err
		}
		clients = append(clients, c)
	}
	return clients, nil
}

func closeAll(ctx context.Context, clients []*session.Client) error {
	var errs []error
	for _, c := range clients {
		errs = append(errs, c.Close(ctx))
	}
	return errors.Join(errs...)
}

// workers of one client share its recipes.
func workers(t task.Task, clients []*session.Client) ([]task.Work, error) {
	var once []task.Work
	for _, c := range clients {
		work := workOf(t, c)
		if work == nil {
			return nil, fmt.Errorf("cannot measure %q", t.Kind)
		}
		once = append(once, work)
	}
	var out []task.Work
	for i := range t.Workers {
		out = append(out, once[i%len(once)])
	}
	return out, nil
}

func workOf(t task.Task, c *session.Client) task.Work {
	switch t.Kind {
	case task.Lock:
		m := lock.New(c, t.Path, nil)
		return func(ctx context.Context, _ int) error {
			h, err := m.Lock(ctx)
			if err != nil {
				return err
			}
			return h.Unlock(ctx)
		}
	case task.Semaphore:
		s := lock.NewSemaphore(c, t.Path, t.Permits, nil)
		return func(ctx context.Context, _ int) error {
			p, err := s.Acquire(ctx, 1)
			if err != nil {
				return err
			}
			return p.Release(ctx)
		}
	case task.RWLock:
		return readWriteWork(rwlock.New(c, t.Path, nil), t.Writes)
	case task.Counter:
		n := counter.New(c, t.Path, nil)
		return func(ctx context.Context, _ int) error {
			_, err := n.Increment(ctx)
			return err
		}
	case task.Barrier:
		d := barrier.NewDouble(c, t.Path, t.Workers, nil)
		return func(ctx context.Context, _ int) error {
			seat, err := d.Enter(ctx)
			if err != nil {
				return err
			}
			return seat.Leave(ctx)
		}
	}
	return nil
}

// readWriteWork locks as a reader or, for writes percent of the rounds, as a
// writer.
func readWriteWork(m *rwlock.RWMutex, writes int) task.Work {
	return func(ctx context.Context, n int) error {
		take := m.RLock
		if n*writes%100 < writes {
			take = m.Lock
		}
		h, err := take(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
}
