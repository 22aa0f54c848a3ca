package queuetest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// faults are the scenarios of every operation under every fault at every one of its
// requests. The rows of the museum that are closed by this: a reply of a create that is
// lost (P1, CH3, CH22, PD3, PD4), of a delete (CH1, CH9, CH36, P6, P14, PD2), a caller
// that gives up (CH4, CH5, CH22, P7), a session that ends on the way (CH7, CH8, CH28,
// CH34, P3), a predecessor that goes (P20, CH2), a connection that breaks while a
// contender waits (CH26, CH27).
func faults() map[string]scenario {
	return map[string]scenario{
		"AcquireAndReleaseUnderEveryFault":        acquireUnderFaults,
		"TryUnderEveryFault":                      tryUnderFaults,
		"LongHoldUnderEveryFaultAtEveryHeartbeat": longHoldUnderFaults,
		"WaiterUnderEveryFault":                   waiterUnderFaults,
		"WaiterBetweenTwoUnderEveryFault":         betweenTwoUnderFaults,
		"TrialNoticesOrphansAndBrokenExclusion":   trialNotices,
	}
}

// trial is a world.Trial of op, after which the other client acquires all.
func (tg Target) trial(name string, op func(ctx context.Context, p *world.Party) error) world.Trial {
	return world.Trial{
		Name: name, Paths: []string{tg.folder()}, Op: op,
		Next: func(ctx context.Context, p *world.Party) error {
			h, err := tg.contender(p.Other).Rival(ctx)
			if err != nil {
				return err
			}
			return h.Release(ctx)
		},
	}
}

// alone checks, while h is held, that the other client acquires nothing that h excludes,
// and that it acquires what h is shared with.
func (tg Target) alone(p *world.Party, h Held, shared bool) error {
	k := tg.contender(p.Other)
	if shared {
		second, err := k.Acquire(context.Background())
		if err != nil {
			return fmt.Errorf("a second one that shares: %w", err)
		}
		if err := second.Release(context.Background()); err != nil {
			return err
		}
	}
	try := func() (Held, error) {
		if k.Try != nil && !shared {
			return k.Try(context.Background())
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		return k.Rival(ctx)
	}
	second, err := try()
	switch {
	case errors.Is(err, context.DeadlineExceeded), err != nil && tg.Busy != nil && errors.Is(err, tg.Busy):
		return nil
	case err != nil:
		return err
	}
	defer func() { _ = second.Release(context.Background()) }()
	return p.Overlap(h.Context(), h.Guard(), h.Token(), second.Token())
}

// use acquires, holds for as long as hold, and releases.
func (tg Target) use(ctx context.Context, p *world.Party, acquire Acquire, shared bool, hold time.Duration) error {
	h, err := acquire(ctx)
	if err != nil {
		return err
	}
	world.Pause(hold)
	if err := tg.alone(p, h, shared); err != nil {
		return err
	}
	return h.Release(ctx)
}

func acquireUnderFaults(t *testing.T, tg Target) {
	for i, layout := range tg.layouts() {
		t.Run(fmt.Sprint("layout ", i), func(t *testing.T) {
			t.Parallel()
			tg.trial("acquire, release", func(ctx context.Context, p *world.Party) error {
				return tg.use(ctx, p, layout(p.Tested, tg.Path).Acquire, tg.Shares, 0)
			}).Run(t)
		})
	}
}

func tryUnderFaults(t *testing.T, tg Target) {
	for i, layout := range tg.layouts() {
		t.Run(fmt.Sprint("layout ", i), func(t *testing.T) {
			t.Parallel()
			tg.trial("try, release", func(ctx context.Context, p *world.Party) error {
				return tg.use(ctx, p, layout(p.Tested, tg.Path).Try, tg.Shares, 0)
			}).Run(t)
		})
	}
}

// The heartbeats are requests that can suffer as well.
func longHoldUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	tr := tg.trial("acquire, hold, release", func(ctx context.Context, p *world.Party) error {
		return tg.use(ctx, p, tg.contender(p.Tested).Acquire, tg.Shares, 4*time.Second)
	})
	tr.Counts = func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" }
	tr.Run(t)
}

// The holder releases while the one under test waits.
func waiterUnderFaults(t *testing.T, tg Target) {
	for name, o := range tg.orders() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			shared := tg.Shares && name != "first"
			var former Held
			tr := tg.trial("acquire that waits", func(ctx context.Context, p *world.Party) error {
				released := make(chan error, 1)
				// Waited for below; ends with the release.
				go func() {
					world.Pause(3 * time.Second)
					released <- former.Release(context.Background())
				}()
				h, err := o.latter(tg.contender(p.Tested))(ctx)
				if err == nil && former.Context().Err() == nil {
					return world.ErrBroken
				}
				if e := <-released; e != nil {
					return fmt.Errorf("the first holder: %w", e)
				}
				if err != nil {
					return err
				}
				if h.Token() <= former.Token() {
					return fmt.Errorf("token %d after %d", h.Token(), former.Token())
				}
				if err := tg.alone(p, h, shared); err != nil {
					return err
				}
				return h.Release(ctx)
			})
			tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
				former, err = o.former(tg.contender(p.Other))(context.Background())
				return err
			}
			tr.Run(t)
		})
	}
}

// The one in the middle leaves by a timeout; the one behind it must be granted when the
// first releases, not before.
func betweenTwoUnderFaults(t *testing.T, tg Target) {
	t.Parallel()
	var first Held
	tr := tg.trial("acquire that gives up", func(ctx context.Context, p *world.Party) error {
		last := make(chan error, 1)
		// Waited for below; ends when it has had its turn.
		go func() {
			world.Pause(time.Second) // behind the one under test
			h, err := tg.contender(p.Other).Rival(context.Background())
			if err == nil && first.Context().Err() == nil {
				err = world.ErrBroken
			}
			if err == nil {
				err = h.Release(context.Background())
			}
			last <- err
		}()
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := tg.contender(p.Tested).Acquire(short)
		world.Pause(time.Second)
		if e := first.Release(context.Background()); e != nil {
			return fmt.Errorf("the first holder: %w", e)
		}
		if e := <-last; e != nil {
			return fmt.Errorf("the last in the queue: %w", e)
		}
		return err
	})
	tr.Excuses = []error{context.DeadlineExceeded}
	tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
		first, err = tg.contender(p.Other).Rival(context.Background())
		return err
	}
	tr.RunUntilDeadline(t)
}

// The trial itself must notice the failures that it looks for: a znode that stays, and
// two holders, here at two paths.
func trialNotices(t *testing.T, tg Target) {
	for name, op := range map[string]func(context.Context, *world.Party) error{
		"orphan": func(ctx context.Context, p *world.Party) error {
			_, err := tg.contender(p.Tested).Acquire(ctx) // and keeps it
			return err
		},
		"broken": func(ctx context.Context, p *world.Party) error {
			h, err := tg.at(p.Tested, tg.Path+"2").Acquire(ctx)
			if err != nil {
				return err
			}
			return tg.alone(p, h, tg.Shares)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := tg.trial(name, op).Case()
			c.Faults = []matrix.Fault{} // no fault is needed
			if res := matrix.Explore(t, c); len(res.Failures) == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}
