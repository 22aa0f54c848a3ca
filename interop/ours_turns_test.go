//go:build unix

package interop_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
)

// hold has the methods that all holds of this module have.
type hold interface {
	Context() context.Context
	Token() int64
	Guard() session.Op
}

// withPriorities is in the paths of elections in which ours have priorities.
const withPriorities = "priorities"

// turn is something that is had for a while; one goroutine at a time uses it.
type turn interface {
	// enter waits for it and returns the fencing token.
	enter(ctx context.Context) (int64, error)
	leave(ctx context.Context) error
	// hold returns the hold that enter has won last.
	hold() hold
}

// turnOf makes a turn of the two functions that a recipe has.
type turnOf[H hold] struct {
	take func(context.Context) (H, error)
	give func(H, context.Context) error
	held H
}

func (t *turnOf[H]) enter(ctx context.Context) (int64, error) {
	held, err := t.take(ctx)
	if err != nil {
		return 0, err
	}
	t.held = held
	return held.Token(), nil
}

func (t *turnOf[H]) leave(ctx context.Context) error { return t.give(t.held, ctx) }

func (t *turnOf[H]) hold() hold { return t.held }

// newTurn returns a turn of a recipe.
func (p *player) newTurn(recipe string, r request) (turn, error) {
	c, err := p.client(r.Client)
	if err != nil {
		return nil, err
	}
	switch recipe {
	case "mutex":
		m := p.mutex(c, r)
		return &turnOf[*lock.Held]{take: m.Lock, give: (*lock.Held).Unlock}, nil
	case "lease":
		s := lock.NewSemaphore(c, r.Path, r.Permits, &lock.Options{CuratorV2: true, ID: r.Who})
		take := func(ctx context.Context) (*lock.Permits, error) { return s.Acquire(ctx, 1) }
		return &turnOf[*lock.Permits]{take: take, give: (*lock.Permits).Release}, nil
	case "read", "write":
		layout := map[string]rwlock.Layout{"": rwlock.Curator, "curator": rwlock.Curator, "kazoo": rwlock.Kazoo}[r.Layout]
		m := rwlock.New(c, r.Path, &rwlock.Options{Layout: layout, ID: r.Who})
		take := map[string]func(context.Context) (*rwlock.Held, error){"read": m.RLock, "write": m.Lock}[recipe]
		return &turnOf[*rwlock.Held]{take: take, give: (*rwlock.Held).Unlock}, nil
	case "latch", "selector", "leader":
		layout := map[string]election.Layout{"latch": election.LeaderLatch, "selector": election.LeaderSelector, "leader": election.Kazoo}[recipe]
		// A leader proclaims a value, which must not disturb the peers behind it.
		campaign := func(ctx context.Context) (*election.Leadership, error) {
			o := &election.Options{Layout: layout, ID: r.Who}
			if strings.Contains(r.Path, withPriorities) {
				o.Priority = 1 + rand.IntN(3) // another one each time: none is left out
			}
			l, err := election.New(c, r.Path, o).Campaign(ctx)
			if err == nil {
				_ = l.Proclaim(ctx, []byte(r.Who)) // may be killed, cut off or deposed
			}
			return l, err
		}
		return &turnOf[*election.Leadership]{take: campaign, give: (*election.Leadership).Resign}, nil
	}
	return nil, fmt.Errorf("no such recipe: %s", recipe)
}

// mutex is one for all workers that share a client and a path: they hand the
// lock on among themselves.
func (p *player) mutex(c *session.Client, r request) *lock.Mutex {
	layout := map[string]lock.Layout{"": lock.Curator, "curator": lock.Curator, "kazoo": lock.Kazoo}[r.Layout]
	p.mu.Lock()
	defer p.mu.Unlock()
	key := r.Client + " " + r.Path
	if p.mutexes[key] == nil {
		p.mutexes[key] = lock.New(c, r.Path, &lock.Options{Layout: layout, ID: r.Who})
	}
	return p.mutexes[key]
}

// worker does rounds until it is told to stop.
type worker struct {
	stop   atomic.Bool
	enough chan struct{} // closed after as many rounds as were asked for
	over   chan struct{} // closed when it has ended; done and err are set
	done   int
	err    error
}

// hammer starts a worker and answers after the given number of rounds.
func (p *player) hammer(r request) (any, error) {
	w := &worker{enough: make(chan struct{}), over: make(chan struct{})}
	p.mu.Lock()
	p.workers[r.Who] = w
	p.mu.Unlock()
	round, err := p.round(r)
	if err != nil {
		return nil, err
	}
	// Waited for by playOurs and stop; ends when it is told to, or with p.ctx.
	p.all.Go(func() {
		defer close(w.over)
		for w.err == nil && !w.stop.Load() {
			if w.err = round(w.done); w.err != nil {
				return
			}
			if w.done++; w.done == r.Rounds {
				close(w.enough)
			}
		}
	})
	select {
	case <-w.enough:
		return r.Rounds, nil
	case <-w.over:
		return nil, fmt.Errorf("%s ended after %d rounds: %w", r.Who, w.done, w.err)
	}
}

// stop ends all workers and says how many rounds each has done.
func (p *player) stop() (any, error) {
	p.mu.Lock()
	workers := p.workers
	p.workers = map[string]*worker{}
	p.mu.Unlock()
	for _, w := range workers {
		w.stop.Store(true)
	}
	done, errs := map[string]int{}, []error{}
	for name, w := range workers {
		<-w.over
		done[name], errs = w.done, append(errs, w.err)
	}
	return done, errors.Join(errs...)
}

// round is one round of a worker; its number starts at 0.
func (p *player) round(r request) (func(number int) error, error) {
	seen := witness{r.Witness}
	if r.Recipe == "rw" {
		write, err := p.newTurn("write", r)
		if err != nil {
			return nil, err
		}
		read, err := p.newTurn("read", r)
		if err != nil {
			return nil, err
		}
		return func(number int) error {
			if number%r.Writes == 0 {
				return p.enterAndLeave(write, "x", r, seen)
			}
			return p.enterAndLeave(read, "s", r, seen)
		}, nil
	}
	if add, err := p.adder(r); add != nil || err != nil {
		return func(int) error { return p.add(add, r, seen) }, err
	}
	turn, err := p.newTurn(r.Recipe, r)
	if err != nil {
		return nil, err
	}
	kind := "x"
	if r.Recipe == "lease" {
		kind = "s"
	}
	return func(int) error { return p.enterAndLeave(turn, kind, r, seen) }, nil
}

// enterAndLeave enters, stays for a while, and leaves.
func (p *player) enterAndLeave(turn turn, kind string, r request, seen witness) error {
	token, err := turn.enter(p.ctx)
	if err != nil {
		return err
	}
	if err := seen.appendLine(fmt.Sprintf("in %s %s %d", r.Who, kind, token)); err != nil {
		return err
	}
	pause := time.NewTimer(time.Duration(max(1, r.Pause)) * time.Millisecond)
	select {
	case <-pause.C:
	case <-turn.hold().Context().Done():
		pause.Stop()
		return fmt.Errorf("lost: %w", context.Cause(turn.hold().Context()))
	}
	if err := seen.appendLine("out " + r.Who); err != nil {
		return err
	}
	return turn.leave(p.ctx)
}

// adder adds one to a counter, in whichever way the request says, and returns
// the sum; nil if it speaks of no counter.
func (p *player) adder(r request) (func(context.Context) (int64, error), error) {
	c, err := p.client(r.Client)
	if err != nil {
		return nil, err
	}
	switch format := map[string]counter.Format{"int": counter.CuratorInt, "text": counter.KazooText}[r.Recipe]; r.Recipe {
	case "long", "int", "text":
		return counter.New(c, r.Path, &counter.Options{Format: format}).Increment, nil
	case "sequence":
		return counter.NewSequence(c, r.Path, nil).Next, nil
	case "value":
		v := value.New(c, r.Path, &value.Options{Seed: []byte("0")})
		return func(ctx context.Context) (sum int64, err error) {
			_, err = v.Update(ctx, func(data []byte) ([]byte, error) {
				n, err := strconv.ParseInt(string(data), 10, 64)
				sum = n + 1
				return strconv.AppendInt(nil, sum, 10), err
			})
			return sum, err
		}, nil
	case "shared":
		s := counter.NewShared(c, r.Path, 0, nil)
		return func(ctx context.Context) (int64, error) {
			for {
				seen, err := s.Get(ctx)
				if err != nil {
					return 0, err
				}
				if ok, err := s.TrySet(ctx, seen, seen.Value+1); ok || err != nil {
					return int64(seen.Value) + 1, err
				}
			}
		}, nil
	}
	return nil, nil
}

// add adds one, and rests for as long as the request says.
func (p *player) add(add func(context.Context) (int64, error), r request, seen witness) error {
	if err := seen.appendLine("begin " + r.Who); err != nil {
		return err
	}
	sum, err := add(p.ctx)
	if err != nil {
		return err
	}
	if err := seen.appendLine(fmt.Sprintf("done %s %d", r.Who, sum)); err != nil {
		return err
	}
	pause := time.NewTimer(time.Duration(r.Pause) * time.Millisecond)
	<-pause.C
	return nil
}
