package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// latchCalls are the fates of the changes of a latch.
type latchCalls struct {
	set, downs []fate
}

// check compares the count with the fates: n was set, once, before the count downs.
func (l *latchCalls) check(count, n int) error {
	sure, perhaps := 0, 0
	for _, f := range l.downs {
		switch f {
		case once:
			sure++
		case maybe:
			perhaps++
		}
	}
	if count > n-sure || count < n-sure-perhaps {
		return fmt.Errorf("%w: %d of %d, after %d, and perhaps %d", errWrong, count, n, sure, perhaps)
	}
	return nil
}

func TestCountDownUnderEveryFault(t *testing.T) {
	const n = 5
	run(t, world.Trial{
		Name: "three CountDowns, beside one of another client",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			p.State = &latchCalls{}
			_, err := counter.NewLatch(p.Other, path, nil).TrySetCount(context.Background(), n)
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			l, st := counter.NewLatch(p.Tested, path, nil), p.State.(*latchCalls)
			for i := range 3 {
				left, err := l.CountDown(ctx)
				st.downs = append(st.downs, history.FateOf(err))
				if err != nil {
					return err
				}
				if i > 0 {
					continue
				}
				if left != n-1 {
					return fmt.Errorf("%w: %d left", errWrong, left)
				}
				if _, err := counter.NewLatch(p.Other, path, nil).CountDown(context.WithoutCancel(ctx)); err != nil {
					return fmt.Errorf("the other client: %w", err)
				}
				st.downs = append(st.downs, once)
			}
			return nil
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			l := counter.NewLatch(p.Other, path, nil)
			count, err := l.Count(ctx)
			if err != nil {
				return err
			}
			return p.State.(*latchCalls).check(count, n)
		},
	}, 1)
}

func TestTrySetCountUnderEveryFault(t *testing.T) {
	const n = 3
	run(t, world.Trial{
		Name:  "TrySetCount twice",
		Setup: func(_ *matrix.Env, p *world.Party) error { p.State = &latchCalls{}; return nil },
		Op: func(ctx context.Context, p *world.Party) error {
			l, st := counter.NewLatch(p.Tested, path, nil), p.State.(*latchCalls)
			ok, err := l.TrySetCount(ctx, n)
			st.set = append(st.set, history.FateOf(err))
			switch {
			case err != nil:
				return err
			case !ok:
				return fmt.Errorf("%w: not set, though no other client has set it", errWrong)
			}
			if ok, err = l.TrySetCount(ctx, n+1); ok {
				return fmt.Errorf("%w: set twice", errWrong)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			count, err := counter.NewLatch(p.Other, path, nil).Count(ctx)
			switch st := p.State.(*latchCalls); {
			case err != nil:
				return err
			case count != 0 && count != n, st.set[0] == once && count != n, st.set[0] == never && count != 0:
				return fmt.Errorf("%w: %d; %+v", errWrong, count, st)
			}
			return nil
		},
	}, 1)
}

func TestAwaitUnderEveryFault(t *testing.T) {
	run(t, world.Trial{
		Name: "Await, while another client counts down",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			_, err := counter.NewLatch(p.Other, path, nil).TrySetCount(context.Background(), 2)
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			other := counter.NewLatch(p.Other, path, nil)
			var all sync.WaitGroup
			var failed error
			open := make(chan struct{})
			// Waited for below; ends after two changes.
			all.Go(func() {
				for i := range 2 {
					world.Pause(2 * time.Second)
					if i == 1 {
						close(open) // the change may be made from now on
					}
					_, err := other.CountDown(context.Background())
					failed = errors.Join(failed, err)
				}
			})
			err := counter.NewLatch(p.Tested, path, nil).Await(ctx)
			if err == nil {
				select {
				case <-open:
				default:
					err = fmt.Errorf("%w: it has passed with a count above 0", errWrong)
				}
			}
			all.Wait()
			if failed != nil {
				return fmt.Errorf("the other client: %w", failed)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			return counter.NewLatch(p.Other, path, nil).Await(ctx)
		},
	}, 1)
}

// latchStep is the effect of a call on a latch.
func latchStep(count int64, c call) (bool, int64) {
	switch {
	case c.op == "get":
		return c.value == count, count
	case c.op == "set" && count == 0:
		return c.fate == maybe || c.ok, c.to
	case c.op == "set":
		return c.fate == maybe || !c.ok, count
	}
	next := max(0, count-1)
	return c.fate == maybe || c.value == next, next
}

func checkLatch(calls []call) error {
	all := make([]history.Call, len(calls))
	for i, c := range calls {
		all[i] = history.Call{Input: c, Fate: c.fate, Begin: c.begin, End: c.end}
	}
	return history.Check(int64(0), func(now, input any) (bool, any) { return latchStep(now.(int64), input.(call)) }, all)
}

// doLatch runs a random operation of a latch.
func (s *stress) doLatch(ctx context.Context, l *counter.Latch, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(1+r.IntN(30))*time.Second)
	defer cancel()
	c := call{begin: s.tick(), to: 1 + r.Int64N(4)}
	var n int
	var err error
	switch k := r.IntN(8); {
	case k < 4:
		c.op = "down"
		n, err = l.CountDown(ctx)
	case k < 6:
		c.op = "set"
		c.ok, err = l.TrySetCount(ctx, int(c.to))
	default:
		c.op = "get"
		n, err = l.Count(ctx)
	}
	c.value, c.fate, c.end = int64(n), history.FateOf(err), s.tick()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	if err != nil && ctx.Err() == nil && c.fate != maybe && s.failed == nil {
		s.failed = fmt.Errorf("%v: %w", c, err)
	}
}

// Random histories of latches are linearizable.
func TestStressLatch(t *testing.T) {
	world.RunSeeds(t, world.Seeds(60), 1, func(w *world.World, seed uint64) error {
		r := rand.New(rand.NewPCG(seed, 1))
		s := &stress{}
		var all sync.WaitGroup
		trouble, calm := context.WithTimeout(w.Ctx, 25*time.Second)
		defer calm()
		for range 3 {
			l, own := counter.NewLatch(w.Client(), path, nil), rand.New(rand.NewPCG(r.Uint64(), 2))
			// Waited for below; ends after its calls.
			all.Go(func() {
				for range 5 + own.IntN(6) {
					s.doLatch(w.Ctx, l, own)
					world.SleepContext(w.Ctx, time.Duration(own.Int64N(int64(3*time.Second))))
				}
			})
		}
		g := &world.FaultInjector{Server: w.Server, Clients: 3, Servers: 1, Rand: rand.New(rand.NewPCG(seed, 3))}
		// Waited for below; ends with trouble.
		all.Go(func() { g.Run(trouble, 2*time.Second) })
		all.Wait()
		w.Pass(time.Minute)
		s.doLatch(w.Ctx, counter.NewLatch(w.Client(), path, nil), r)
		return errors.Join(s.failed, checkLatch(s.calls))
	})
}

// The checker must detect violations.
func TestLatchCheckerNotices(t *testing.T) {
	set := call{op: "set", to: 2, ok: true, fate: once, begin: 1, end: 2}
	down := func(value, begin int64) call {
		return call{op: "down", value: value, fate: once, begin: begin, end: begin + 1}
	}
	for name, c := range map[string]struct {
		calls []call
		fine  bool
	}{
		"down to zero":       {[]call{set, down(1, 3), down(0, 5), down(0, 7)}, true},
		"counted down twice": {[]call{set, down(0, 3)}, false},
		"not counted":        {[]call{set, down(1, 3), down(1, 5)}, false},
		"set in a round":     {[]call{set, {op: "set", to: 5, ok: true, fate: once, begin: 3, end: 4}}, false},
		"refused at zero":    {[]call{{op: "set", to: 5, fate: once, begin: 3, end: 4}}, false},
	} {
		if err := checkLatch(c.calls); (err == nil) != c.fine {
			t.Errorf("%s: %v", name, err)
		}
	}
}
