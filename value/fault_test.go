package value_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every request, and under two lost
// replies: the second is the reply to the search for the first outcome. Covers
// CL1 and CL2 for bytes.

// everything also counts the requests of the search, which have only a check.
// Values have no holds, so no heartbeats are sent.
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
	if res := matrix.Run(t, c); res.Requests == 0 || res.Cases == 0 {
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

// balanced asserts that the value agrees with the reports, that the next
// caller succeeds, and that no unused markers exist.
func balanced(ctx context.Context, p *world.Party, l *ledger) error {
	v := value.New(p.Other, path, nil)
	for _, add := range []func(context.Context, *value.Value) error{func(context.Context, *value.Value) error { return nil }, l.add} {
		if err := add(ctx, v); err != nil {
			return err
		}
		now, err := v.Get(ctx)
		if err == nil {
			err = l.check(string(now.Data))
		}
		if err != nil {
			return err
		}
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

func TestUpdatesUnderEveryFault_CL1(t *testing.T) {
	for _, servers := range []int{1, 3} {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			run(t, additions("first and second Update", func(ctx context.Context, p *world.Party, l *ledger) error {
				v := value.New(p.Tested, path, nil)
				for range 2 {
					if err := l.add(ctx, v); err != nil {
						return err
					}
				}
				return nil
			}), servers)
		})
	}
}

// Others write while the outcome of the tested write is being found out: only the
// marker can tell.
func TestUpdatesUnderEveryFaultWhileAnotherWritesAllTheTime_CL1(t *testing.T) {
	run(t, additions("Updates beside those of another", func(ctx context.Context, p *world.Party, l *ledger) error {
		v, other := value.New(p.Tested, path, nil), value.New(p.Other, path, nil)
		var all sync.WaitGroup
		var failed error
		// Waited for below; ends after its additions.
		all.Go(func() {
			for range 6 {
				failed = errors.Join(failed, l.add(context.Background(), other))
				world.Pause(700 * time.Millisecond)
			}
		})
		world.Pause(10 * time.Millisecond)
		err := l.add(ctx, v)
		world.Pause(10 * time.Millisecond)
		if err == nil {
			err = l.add(ctx, v)
		}
		all.Wait()
		if failed != nil {
			return fmt.Errorf("the other client: %w", failed)
		}
		return err
	}), 1)
}

func TestCombinedUpdatesUnderEveryFault_CL1(t *testing.T) {
	run(t, additions("three goroutines", func(ctx context.Context, p *world.Party, l *ledger) error {
		v := value.New(p.Tested, path, nil)
		errs := make([]error, 4)
		errs[3] = l.add(ctx, v)
		var all sync.WaitGroup
		for i := range 3 {
			// Waited for below; ends with its addition.
			all.Go(func() { errs[i] = l.add(ctx, v) })
		}
		all.Wait()
		return errors.Join(errs...)
	}), 1)
}

// exchange is a trial of a change from "old" to "new", which must be made once.
func exchange(name string, try func(ctx context.Context, v *value.Value, to string) (bool, error)) world.Trial {
	type report struct {
		fate fate
		ok   bool
	}
	return world.Trial{
		Name: name,
		Setup: func(_ *matrix.Env, p *world.Party) error {
			p.State = &report{}
			return value.New(p.Other, path, nil).Set(context.Background(), []byte("old"))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			v, st := value.New(p.Tested, path, nil), p.State.(*report)
			ok, err := try(ctx, v, "new")
			st.ok, st.fate = ok, history.FateOf(err)
			switch {
			case err != nil:
				return err
			case !ok:
				return fmt.Errorf("%w: not set, though no other client has written", errWrong)
			}
			if ok, err = v.CompareAndSwap(ctx, []byte("old"), []byte("again")); ok {
				return fmt.Errorf("%w: set twice", errWrong)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			v := value.New(p.Other, path, nil)
			now, err := v.Get(ctx)
			if err != nil {
				return err
			}
			data := string(now.Data)
			if st := p.State.(*report); data != "old" && data != "new" || st.fate != maybe && st.ok != (data == "new") || now.Version > 2 {
				return fmt.Errorf("%w: it is %q, version %d; %+v", errWrong, data, now.Version, st)
			}
			if ok, err := v.TrySet(ctx, now, []byte("next")); !ok {
				return fmt.Errorf("the next one: %w", errors.Join(errWrong, err))
			}
			return nil
		},
	}
}

func TestCompareAndSwapUnderEveryFault_CL2(t *testing.T) {
	run(t, exchange("CompareAndSwap", func(ctx context.Context, v *value.Value, to string) (bool, error) {
		return v.CompareAndSwap(ctx, []byte("old"), []byte(to))
	}), 1)
}

func TestTrySetUnderEveryFault_CL2(t *testing.T) {
	run(t, exchange("TrySet", func(ctx context.Context, v *value.Value, to string) (bool, error) {
		now, err := v.Get(ctx)
		if err != nil {
			return false, err
		}
		return v.TrySet(ctx, now, []byte(to))
	}), 1)
}

// A Set has no condition, so the server would carry out a Set as often as it is
// sent: a second one would undo the other client's change.
func TestSetUnderEveryFaultIsMadeOnce(t *testing.T) {
	run(t, world.Trial{
		Name:  "Set, while another client adds letters",
		Setup: func(_ *matrix.Env, p *world.Party) error { p.State = new(fate); return nil },
		Op: func(ctx context.Context, p *world.Party) error {
			other, done := value.New(p.Other, path, nil), make(chan error, 1)
			// Waited for below; ends after its additions.
			go func() {
				var failed error
				for n := range 8 {
					_, err := other.Update(context.Background(), adds(letter(n)))
					failed = errors.Join(failed, err)
					world.Pause(time.Second)
				}
				done <- failed
			}()
			world.Pause(time.Second / 2)
			err := value.New(p.Tested, path, nil).Set(ctx, []byte("S"))
			*p.State.(*fate) = history.FateOf(err)
			if failed := <-done; failed != nil {
				return fmt.Errorf("the other client: %w", failed)
			}
			return err
		},
		Next: func(ctx context.Context, p *world.Party) error {
			world.Pause(time.Minute)
			now, err := value.New(p.Other, path, nil).Get(ctx)
			if err != nil {
				return err
			}
			return checkSet(string(now.Data), *p.State.(*fate))
		},
	}, 1)
}

// checkSet checks the bytes to which a client has added the letters a to h, one after the
// other, and which another client has set to S in between.
func checkSet(data string, f fate) error {
	set := data != "" && data[0] == 'S'
	letters := data
	if set {
		letters = data[1:]
	}
	const all = "abcdefgh"
	switch {
	case f == once && !set, f == never && set, !set && data != all, set && letters != all[len(all)-len(letters):]:
		return fmt.Errorf("%w: %q, %d", errWrong, data, f)
	}
	return nil
}

// The checker must detect violations.
func TestCheckerOfSetNotices(t *testing.T) {
	for data, fine := range map[string]bool{"Sbcdefgh": true, "S": true, "Sgh": true, "abcdefgh": false, "Sabcdefg": false, "Sbh": false, "bcdefgh": false, "": false} {
		if err := checkSet(data, once); (err == nil) != fine {
			t.Errorf("%q: %v", data, err)
		}
	}
	if checkSet("abcdefgh", never) != nil || checkSet("abcdefgh", maybe) != nil || checkSet("S", never) == nil {
		t.Error("fates")
	}
}

func TestReadsUnderEveryFault(t *testing.T) {
	run(t, world.Trial{
		Name: "Get, and with a seed",
		Setup: func(_ *matrix.Env, p *world.Party) error {
			return value.New(p.Other, path, nil).Set(context.Background(), []byte("data"))
		},
		Op: func(ctx context.Context, p *world.Party) error {
			for at, want := range map[string]string{path: "data", path + "-seed": "seed"} {
				now, err := value.New(p.Tested, at, &value.Options{Seed: []byte("seed")}).Get(ctx)
				if err != nil {
					return err
				}
				if string(now.Data) != want {
					return fmt.Errorf("%w: %q", errWrong, now.Data)
				}
			}
			return nil
		},
	}, 3)
}

func TestWatchUnderEveryFault(t *testing.T) {
	run(t, world.Trial{
		Name: "Watch, until another client's last change",
		Op: func(ctx context.Context, p *world.Party) error {
			var all sync.WaitGroup
			var failed error
			// Waited for below; ends after two changes.
			all.Go(func() {
				other := value.New(p.Other, path, nil)
				for _, data := range []string{"one", "two"} {
					world.Pause(2 * time.Second)
					failed = errors.Join(failed, other.Set(context.Background(), []byte(data)))
				}
			})
			last, err := int64(0), error(nil)
			for now, e := range value.New(p.Tested, path, nil).Watch(ctx) {
				if err = e; e == nil && now.Zxid < last {
					err = fmt.Errorf("%w: %d after %d", errWrong, now.Zxid, last)
				}
				if last = now.Zxid; err != nil || string(now.Data) == "two" {
					break
				}
			}
			all.Wait()
			if failed != nil {
				return fmt.Errorf("the other client: %w", failed)
			}
			return err
		},
	}, 1)
}
