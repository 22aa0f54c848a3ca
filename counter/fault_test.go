package counter_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every request, and under two lost
// replies: the second is the reply to the search for the first outcome. Covers
// CL1 and CL2.

// everything also counts the requests of the search, which have only a check.
// Counters have no holds, so no heartbeats are sent.
func everything(r zktest.Request) bool {
	return !slices.Contains([]string{"connect", "ping", "setWatches", "setAuth", "closeSession"}, r.Op)
}

// run tries all cases, with pairs of faults too, and with an ensemble's servers
// if there are to be several.
func run(t *testing.T, tr world.Trial, servers int) {
	t.Helper()
	t.Parallel()
	tr.Counts = everything
	c := tr.Case()
	if servers > 1 {
		c.Options = &zktest.Options{Servers: servers}
	}
	c.Pairs = world.Pairs(matrix.LostReply)
	if servers == 1 {
		c.Pairs = world.Pairs(matrix.LostReply, matrix.LostRequest, matrix.SilentReply)
	}
	res := matrix.Run(t, c)
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", tr.Name)
	}
}

// additions is a trial whose op adds with a ledger, and whose end compares.
func additions(name string, op func(ctx context.Context, p *world.Party, l *ledger) error) world.Trial {
	return world.Trial{
		Name: name,
		Setup: func(e *matrix.Env, p *world.Party) error {
			p.State = &ledger{}
			return nil
		},
		Op: func(ctx context.Context, p *world.Party) error { return op(ctx, p, p.State.(*ledger)) },
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute) // for requests in flight
			return balanced(ctx, p, p.State.(*ledger))
		},
	}
}

// balanced asserts that the counter agrees with the reports, that the next
// caller succeeds, and that no unused markers exist.
func balanced(ctx context.Context, p *world.Party, l *ledger) error {
	c := counter.New(p.Other, path, nil)
	v, err := c.Get(ctx)
	if err == nil {
		err = l.check(v)
	}
	if err == nil {
		err = l.add(ctx, c)
	}
	if err == nil {
		v, err = c.Get(ctx)
	}
	if err == nil {
		err = l.check(v)
	}
	if err != nil {
		return err
	}
	s, err := p.Other.Session(ctx)
	if err != nil {
		return err
	}
	names, _, err := s.Children(ctx, path)
	if err == nil && len(names) > 3 {
		err = fmt.Errorf("unused markers: %q", names)
	}
	return err
}

func TestAddsUnderEveryFault_CL1(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			run(t, additions("first, second and third Add", func(ctx context.Context, p *world.Party, l *ledger) error {
				c := counter.New(p.Tested, path, nil)
				for range 3 {
					if err := l.add(ctx, c); err != nil {
						return err
					}
				}
				return nil
			}), servers)
		})
	}
}

// A caller continues after an error. (With a context that never ends, the
// caller waits for the end of an outage.)
func TestAddAfterAFailureUnderEveryFault(t *testing.T) {
	tr := additions("Add, and another one whatever the first said", func(ctx context.Context, p *world.Party, l *ledger) error {
		c := counter.New(p.Tested, path, nil)
		first := l.add(ctx, c)
		rest, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		return errors.Join(first, l.add(rest, c), l.add(rest, c))
	})
	tr.Excuses = append(tr.Excuses, context.DeadlineExceeded)
	run(t, tr, 1)
}

func TestContendedAddsUnderEveryFault_CL1(t *testing.T) {
	run(t, additions("Adds between those of another", func(ctx context.Context, p *world.Party, l *ledger) error {
		c, other := counter.New(p.Tested, path, nil), counter.New(p.Other, path, nil)
		for range 3 {
			if err := l.add(context.WithoutCancel(ctx), other); err != nil {
				return fmt.Errorf("the other client: %w", err)
			}
			if err := l.add(ctx, c); err != nil {
				return err
			}
		}
		return nil
	}), 1)
}

// Others write while the outcome of the tested write is being found out: only the
// marker can tell.
func TestAddsUnderEveryFaultWhileAnotherWritesAllTheTime_CL1(t *testing.T) {
	run(t, additions("Adds beside those of another", func(ctx context.Context, p *world.Party, l *ledger) error {
		c, other := counter.New(p.Tested, path, nil), counter.New(p.Other, path, nil)
		var all sync.WaitGroup
		var failed error
		// Waited for below; ends after its additions.
		all.Go(func() {
			for range 8 {
				failed = errors.Join(failed, l.add(context.Background(), other))
				world.Pause(700 * time.Millisecond)
			}
		})
		world.Pause(10 * time.Millisecond)
		err := l.add(ctx, c)
		world.Pause(10 * time.Millisecond)
		if err == nil {
			err = l.add(ctx, c)
		}
		all.Wait()
		if failed != nil {
			return fmt.Errorf("the other client: %w", failed)
		}
		return err
	}), 1)
}

func TestCombinedAddsUnderEveryFault_CL1(t *testing.T) {
	run(t, additions("three goroutines", func(ctx context.Context, p *world.Party, l *ledger) error {
		c := counter.New(p.Tested, path, nil)
		errs := make([]error, 4)
		errs[3] = l.add(ctx, c)
		var all sync.WaitGroup
		for i := range 3 {
			// Waited for below; ends with its addition.
			all.Go(func() { errs[i] = l.add(ctx, c) })
		}
		all.Wait()
		return errors.Join(errs...)
	}), 1)
}

func TestCompareAndSwapUnderEveryFault_CL2(t *testing.T) {
	type swaps struct{ applied, unknown bool }
	tr := world.Trial{
		Name: "CompareAndSwap",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			p.State = &swaps{}
			return counter.New(p.Other, path, nil).Set(context.Background(), 5)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			c, st := counter.New(p.Tested, path, nil), p.State.(*swaps)
			ok, err := c.CompareAndSwap(ctx, 5, 6)
			st.applied, st.unknown = ok, history.FateOf(err) == maybe
			switch {
			case err != nil:
				return err
			case !ok:
				return fmt.Errorf("%w: 5 was not swapped, though no other client has written", errWrong)
			}
			if ok, err = c.CompareAndSwap(ctx, 5, 7); ok {
				return fmt.Errorf("%w: 5 was swapped twice", errWrong)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			st := p.State.(*swaps)
			c := counter.New(p.Other, path, nil)
			v, err := c.Get(ctx)
			switch {
			case err != nil:
				return err
			case v != 5 && v != 6, !st.unknown && st.applied != (v == 6):
				return fmt.Errorf("%w: it is %d; %+v", errWrong, v, st)
			}
			if ok, err := c.CompareAndSwap(ctx, v, 8); !ok {
				return fmt.Errorf("the next one: %w", errors.Join(errWrong, err))
			}
			return nil
		},
	}
	run(t, tr, 1)
}

// A Set has no condition, so the server would carry out a Set as often as it is
// sent. The server's log shows how often it was carried out.
func TestSetUnderEveryFaultIsMadeOnce(t *testing.T) {
	type sets struct {
		fate fate
		made int
	}
	run(t, world.Trial{
		Name: "Set, while another adds",
		Setup: func(e *matrix.Env, p *world.Party) error {
			st := &sets{}
			p.State = st
			if err := counter.New(p.Other, path, nil).Set(context.Background(), 0); err != nil {
				return err
			}
			other, err := p.Other.Session(context.Background())
			if err != nil {
				return err
			}
			e.Server.OnApply(func(x zktest.Txn) { // of the counter and a marker; checks have one path
				if x.Op == "multi" && x.Code == 0 && x.Session != other.ID() && len(x.Paths) == 2 && x.Paths[0] == path {
					st.made++
				}
			})
			return nil
		},
		Op: func(ctx context.Context, p *world.Party) error {
			other, done := counter.New(p.Other, path, nil), make(chan error, 1)
			// Waited for below; ends after its additions.
			go func() {
				var failed error
				for range 10 {
					_, err := other.Add(context.Background(), 1)
					failed = errors.Join(failed, err)
					world.Pause(time.Second)
				}
				done <- failed
			}()
			world.Pause(time.Second / 2)
			err := counter.New(p.Tested, path, nil).Set(ctx, 1000)
			p.State.(*sets).fate = history.FateOf(err)
			if failed := <-done; failed != nil {
				return fmt.Errorf("the other client: %w", failed)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			v, err := counter.New(p.Other, path, nil).Get(ctx)
			switch st := p.State.(*sets); {
			case err != nil:
				return err
			case st.made > 1:
				return fmt.Errorf("%w: %d times", errTwice, st.made)
			case st.fate == once && st.made != 1, st.fate == never && st.made != 0, (v >= 1000) != (st.made == 1):
				return fmt.Errorf("%w: %d, %+v", errWrong, v, *st)
			}
			return nil
		},
	}, 1)
}

func TestReadsUnderEveryFault(t *testing.T) {
	tr := world.Trial{
		Name: "Get",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			return counter.New(p.Other, path, nil).Set(context.Background(), 42)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			v, err := counter.New(p.Tested, path, nil).Get(ctx)
			if err == nil && v != 42 {
				return fmt.Errorf("%w: %d", errWrong, v)
			}
			return err
		},
	}
	run(t, tr, 3)
}

func TestSharedUnderEveryFault(t *testing.T) {
	tr := world.Trial{
		Name:  "Shared: Get, TrySet, Set",
		Setup: func(_ *matrix.Env, p *world.Party) error { p.State = new(fate); return nil },
		Op: func(ctx context.Context, p *world.Party) error {
			c := counter.NewShared(p.Tested, path, 3, nil)
			seen, err := c.Get(ctx)
			if err != nil {
				return err
			}
			if seen.Value != 3 {
				return fmt.Errorf("%w: the seed is %d", errWrong, seen.Value)
			}
			ok, err := c.TrySet(ctx, seen, 4)
			*p.State.(*fate) = history.FateOf(err)
			if err == nil && !ok {
				return fmt.Errorf("%w: not set, though no other client has written", errWrong)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			c := counter.NewShared(p.Other, path, 3, nil)
			v, err := c.Get(ctx)
			switch f := *p.State.(*fate); {
			case err != nil:
				return err
			case v.Value != 3 && v.Value != 4, f == once && v.Value != 4, f == never && v.Value != 3:
				return fmt.Errorf("%w: %d, %d", errWrong, v.Value, f)
			case v.Version > 1:
				return fmt.Errorf("%w: version %d", errTwice, v.Version)
			}
			return c.Set(ctx, 5)
		},
	}
	run(t, tr, 1)
}

func TestSequenceUnderEveryFaultRepeatsNoNumber(t *testing.T) {
	for _, block := range []int{1, 3} {
		t.Run(fmt.Sprint(block), func(t *testing.T) {
			o := &counter.Options{Block: block}
			draw := func(ctx context.Context, client *session.Client, seen map[int64]bool, n int) error {
				q, last := counter.NewSequence(client, path, o), int64(0)
				for range n {
					v, err := q.Next(ctx)
					if err != nil {
						return err
					}
					if seen[v] || v <= last {
						return fmt.Errorf("%w: %d after %d", errTwice, v, last)
					}
					seen[v], last = true, v
				}
				return nil
			}
			run(t, world.Trial{
				Name:  "Next",
				Setup: func(_ *matrix.Env, p *world.Party) error { p.State = map[int64]bool{}; return nil },
				Op: func(ctx context.Context, p *world.Party) error {
					seen := p.State.(map[int64]bool)
					if err := draw(context.WithoutCancel(ctx), p.Other, seen, 2); err != nil {
						return err
					}
					return draw(ctx, p.Tested, seen, 5)
				},
				Next: func(ctx context.Context, p *world.Party) error {
					return draw(ctx, p.Other, p.State.(map[int64]bool), 4)
				},
			}, 1)
		})
	}
}
