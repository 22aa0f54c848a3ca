package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// keyed submits a unique task.
func keyed(ctx context.Context, q *dispatch.Queue, period time.Duration) (id string, isNew bool, err error) {
	return q.SubmitUnique(ctx, dispatch.Task{Payload: []byte("x")}, "k", period)
}

// A unique task under every fault: it is new, it replaces a task that has ended, or the key
// is taken. A client without a known outcome, and any other client, then gets the one task.
func TestUniqueTaskUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, x := range map[string]struct {
		period time.Duration
		before func(ctx context.Context, q *dispatch.Queue) (string, error)
		isNew  bool
	}{
		"new": {0, func(context.Context, *dispatch.Queue) (string, error) { return "", nil }, true},
		"replaced": {0, func(ctx context.Context, q *dispatch.Queue) (string, error) {
			id, _, err := keyed(ctx, q, 0)
			return "", errors.Join(err, q.Cancel(ctx, id))
		}, true},
		"taken": {0, func(ctx context.Context, q *dispatch.Queue) (string, error) {
			id, _, err := keyed(ctx, q, 0)
			return id, err
		}, false},
		"of a period": {24 * time.Hour, func(context.Context, *dispatch.Queue) (string, error) { return "", nil }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			taken := ""
			report(t, world.Trial{
				Name: "SubmitUnique",
				Setup: func(e *matrix.Env, p *world.Party) (err error) {
					c := startCrew(e, p, "", nil)
					watchKeys(e.Server, func(err error) {
						c.mu.Lock()
						defer c.mu.Unlock()
						c.bad = errors.Join(c.bad, err)
					})
					taken, err = x.before(context.Background(), c.queue)
					return err
				},
				Op: func(ctx context.Context, p *world.Party) error {
					id, isNew, err := keyed(ctx, dispatch.New(p.Tested, path, nil), x.period)
					if err == nil && (isNew != x.isNew || taken != "" && id != taken) {
						err = fmt.Errorf("%s, new: %v", id, isNew)
					}
					return err
				},
				Next: func(ctx context.Context, p *world.Party) error {
					c := p.State.(*crew)
					id, _, err := keyed(ctx, c.queue, x.period)
					if err != nil {
						return err
					}
					again, isNew, err := keyed(ctx, c.queue, x.period)
					if err != nil || isNew || again != id {
						return fmt.Errorf("again: %s, %s, %v: %w", id, again, isNew, err)
					}
					c.start(dispatch.NewMaster(p.Other, path, nil).Run)
					c.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
					return sound(1)(ctx, p)
				},
			})
		})
	}
}

func TestRequeueOfAUniqueTaskUnderEveryFault(t *testing.T) {
	t.Parallel()
	var id string
	report(t, world.Trial{
		Name: "Requeue",
		Setup: func(e *matrix.Env, p *world.Party) (err error) {
			c := startCrew(e, p, "", nil)
			if id, _, err = keyed(context.Background(), c.queue, 0); err != nil {
				return err
			}
			return c.queue.Cancel(context.Background(), id)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			return dispatch.New(p.Tested, path, nil).Requeue(ctx, id)
		},
		Next: func(ctx context.Context, p *world.Party) error {
			c := p.State.(*crew)
			in, err := c.queue.Get(ctx, id)
			if err != nil {
				return err
			}
			next, isNew, err := keyed(ctx, c.queue, 0)
			if waits := in.State == "waiting"; err != nil || waits == isNew || waits != (next == id) {
				return fmt.Errorf("%+v, then %s, new: %v: %w", in, next, isNew, err)
			}
			c.start(dispatch.NewMaster(p.Other, path, nil).Run)
			c.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
			return sound(2)(ctx, p)
		},
	})
}

// uniqueHistory is a random history of clients that submit under few keys, while tasks end,
// are collected and requeued, masters and workers die, and faults happen. At no moment has a
// key two tasks.
func uniqueHistory(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 11))
	s := &stress{w: w, fates: map[string]*fate{}, there: map[string]bool{}}
	watchKeys(w.Server, s.Fail)
	trouble, calm := context.WithTimeout(w.Ctx, 60*time.Second)
	defer calm()
	var roles, all sync.WaitGroup
	clients := 0
	var mu sync.Mutex
	made := 0
	for range 2 {
		c, own := w.Client(), rand.New(rand.NewPCG(r.Uint64(), 12))
		clients++
		// Waited for below; ends with trouble.
		roles.Go(func() {
			s.playBoth(trouble, c, own, takes(2*time.Second))
		})
	}
	for range 3 {
		c, own := w.Client(), rand.New(rand.NewPCG(r.Uint64(), 13))
		clients++
		// Waited for below; ends with trouble.
		roles.Go(func() {
			q := dispatch.New(c, path, nil)
			for trouble.Err() == nil {
				world.SleepContext(trouble, time.Duration(own.Int64N(int64(2*time.Second))))
				short, cancel := context.WithTimeout(trouble, time.Duration(1+own.Int64N(int64(10*time.Second))))
				key, period := fmt.Sprintf("key%d", own.IntN(2)), time.Duration(0)
				if own.IntN(2) == 0 {
					key, period = "of a period", 10*time.Second
				}
				id, isNew, err := q.SubmitUnique(short, dispatch.Task{}, key, period)
				s.excuse(short, "submit", err)
				if isNew {
					mu.Lock()
					made++
					mu.Unlock()
				}
				if err == nil {
					switch own.IntN(4) {
					case 0:
						err = q.Cancel(short, id)
					case 1:
						_, err = q.Collect(short, id)
					case 2:
						err = q.Requeue(short, id)
					}
					s.excuse(short, "use", err, dispatch.ErrState, dispatch.ErrNoTask)
				}
				cancel()
			}
		})
	}
	g := &world.FaultInjector{Server: w.Server, Clients: clients, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 14)), Expire: s.Expire}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 3*time.Second) })
	all.Wait()
	roles.Wait()
	q := w.queue()
	for range 2 { // the keys are not stuck
		id, _, err := q.SubmitUnique(w.Within(time.Minute), dispatch.Task{}, "key0", 0)
		if err == nil {
			err = q.Cancel(w.Within(time.Minute), id)
		}
		if !errors.Is(err, dispatch.ErrState) { // a task of before may just have ended
			s.Fail(err)
		}
	}
	if made == 0 {
		s.Fail(errors.New("no task was made"))
	}
	return s.Failed()
}

func TestUniqueTasksInHistories(t *testing.T) {
	world.RunSeeds(t, world.Seeds(6), 1, func(w *world.World, seed uint64) error {
		return uniqueHistory(&World{World: w}, seed, 1)
	})
}

func TestUniqueTasksInHistoriesOfAnEnsemble(t *testing.T) {
	world.RunSeeds(t, world.Seeds(4), 3, func(w *world.World, seed uint64) error {
		return uniqueHistory(&World{World: w}, seed, 3)
	})
}
