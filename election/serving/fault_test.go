package serving_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Two instances get requests all the time. Under every fault at every request, no request
// of one is in progress while the other admits one, unless its context has ended, or a
// session was expired early, which no client can know; and what is stopped leaves nothing.
func TestNoTwoInstancesServeUnderAnyFault(t *testing.T) {
	world.Trial{
		Name: "Run", Paths: []string{dir},
		Counts:  func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
		Excuses: []error{serving.ErrDrainTimeout},
		Op: func(ctx context.Context, p *world.Party) error {
			rest, over := context.WithTimeout(context.Background(), 40*time.Second)
			defer over()
			tested := serving.New(election.New(p.Tested, dir, nil), &serving.Options{DrainTimeout: 2 * time.Second})
			other := serving.New(election.New(p.Other, dir, nil), nil)
			b := &book{expires: p.Expires}
			var all sync.WaitGroup
			for _, l := range []*serving.Leader{tested, other} {
				// Waited for below; ends with rest.
				all.Go(func() { b.request(rest, l) })
			}
			stopping, stop := context.WithTimeout(ctx, 5*time.Second)
			defer stop()
			ends := make(chan error, 1)
			// Waited for below; ends with rest.
			go func() {
				world.Pause(time.Second)
				ends <- other.Run(rest)
			}()
			err := tested.Run(stopping)
			if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
				err = nil
			}
			if e := <-ends; e != nil {
				return e
			}
			all.Wait()
			return errors.Join(err, b.check())
		},
	}.Run(t)
}

// book notes the requests in progress.
type book struct {
	expires bool

	// mu guards the fields below. Invariant: open has the contexts of the requests in
	// progress, with the leader that has admitted each.
	mu      sync.Mutex
	open    map[context.Context]*serving.Leader
	err     error
	serving map[*serving.Leader]int
}

// request makes requests one after another, of one second each, until ctx ends.
func (b *book) request(ctx context.Context, l *serving.Leader) {
	for ctx.Err() == nil {
		admitted, done, err := l.Admit(ctx)
		if err == nil {
			b.beginTerm(admitted, l)
			world.SleepContext(admitted, time.Second)
			b.end(admitted)
			done()
		}
		world.SleepContext(ctx, 250*time.Millisecond)
	}
}

func (b *book) beginTerm(ctx context.Context, l *serving.Leader) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.open == nil {
		b.open, b.serving = map[context.Context]*serving.Leader{}, map[*serving.Leader]int{}
	}
	for other, of := range b.open {
		if of != l && other.Err() == nil && !b.expires {
			b.err = world.ErrBroken
		}
	}
	b.open[ctx] = l
	b.serving[l]++
}

func (b *book) end(ctx context.Context) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.open, ctx)
}

// check also requires that one of the instances has served.
func (b *book) check() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.serving) == 0 {
		return errors.New("no request was admitted")
	}
	return b.err
}
