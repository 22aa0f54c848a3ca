package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Operations that only this recipe has under every fault at every one of their requests.
// Each ends with a writer that gets in, and with an empty queue.

func nextLocks(ctx context.Context, p *world.Party) error {
	h, err := rwlock.New(p.Other, dir, nil).Lock(ctx)
	if err != nil {
		return err
	}
	return h.Unlock(ctx)
}

// methods are the methods that lock of a client's lock.
func methods(c *session.Client) map[string]take {
	m := rwlock.New(c, dir, nil)
	return map[string]take{"Lock": m.Lock, "RLock": m.RLock, "TryLock": m.TryLock, "TryRLock": m.TryRLock}
}

// alone checks, while h is held, that no excluded contender gets the lock, and
// that the others do.
func alone(p *world.Party, h *rwlock.Held) error {
	ctx, others := context.Background(), methods(p.Other)
	if !h.Exclusive() {
		second, err := others["TryRLock"](ctx)
		if err != nil {
			return fmt.Errorf("a second reader: %w", err)
		}
		if err := second.Unlock(ctx); err != nil {
			return err
		}
	}
	for _, try := range []string{"TryLock", "TryRLock"} {
		if try == "TryRLock" && !h.Exclusive() {
			continue
		}
		second, err := others[try](ctx)
		switch {
		case errors.Is(err, rwlock.ErrBusy):
			continue
		case err != nil:
			return err
		}
		if err := p.Overlap(h.Context(), h.Guard(), h.Token(), second.Token()); err != nil {
			return err
		}
		if err := second.Unlock(ctx); err != nil {
			return err
		}
	}
	return nil
}

func TestDoUnderEveryFault(t *testing.T) {
	t.Parallel()
	for _, exclusive := range []bool{true, false} {
		t.Run(fmt.Sprint(exclusive), func(t *testing.T) {
			world.Trial{
				Name: "Do", Paths: []string{dir}, Next: nextLocks,
				Op: func(ctx context.Context, p *world.Party) error {
					m := rwlock.New(p.Tested, dir, nil)
					do := m.RDo
					if exclusive {
						do = m.Do
					}
					return do(ctx, func(_ context.Context, held *rwlock.Held) error { return alone(p, held) })
				},
			}.Run(t)
		})
	}
}

// waiting is a trial of an operation that has to wait for holds that the other
// client releases after three seconds. ahead are that client's methods.
func waiting(name, method string, ahead ...string) world.Trial {
	var held []*rwlock.Held
	release := func(out chan<- error) {
		world.Pause(3 * time.Second)
		var errs []error
		for _, h := range held {
			errs = append(errs, h.Unlock(context.Background()))
		}
		out <- errors.Join(errs...)
	}
	return world.Trial{
		Name: name, Paths: []string{dir}, Next: nextLocks,
		Setup: func(_ *matrix.Env, p *world.Party) error {
			held = nil
			for _, method := range ahead {
				h, err := methods(p.Other)[method](context.Background())
				if err != nil {
					return err
				}
				held = append(held, h)
			}
			return nil
		},
		Op: func(ctx context.Context, p *world.Party) error {
			released := make(chan error, 1)
			// Waited for below; ends with the release.
			go release(released)
			h, err := methods(p.Tested)[method](ctx)
			for _, before := range held {
				if err == nil && before.Context().Err() == nil {
					return world.ErrBroken
				}
			}
			if e := <-released; e != nil {
				return fmt.Errorf("the first holders: %w", e)
			}
			if err != nil {
				return err
			}
			if h.Token() <= held[0].Token() {
				return fmt.Errorf("token %d after %d", h.Token(), held[0].Token())
			}
			if err := alone(p, h); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}
}

func TestWriterBehindReadersUnderEveryFault(t *testing.T) {
	t.Parallel()
	waiting("Lock behind RLocks", "Lock", "RLock", "RLock", "RLock").Run(t)
}

// TestReaderBehindTwoWritersUnderEveryFault has the second one give up, and then
// the first one release: the reader goes from one to the other.
func TestReaderBehindTwoWritersUnderEveryFault(t *testing.T) {
	t.Parallel()
	var held *rwlock.Held
	world.Trial{
		Name: "RLock behind two Locks", Paths: []string{dir}, Next: nextLocks,
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = rwlock.New(p.Other, dir, nil).Lock(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			short, cancel := context.WithTimeout(context.Background(), 2*time.Second)
			defer cancel()
			others := make(chan error, 1)
			// Waited for below; ends with the release.
			go func() {
				if _, err := rwlock.New(p.Other, dir, nil).Lock(short); !errors.Is(err, context.DeadlineExceeded) {
					others <- fmt.Errorf("the one that gives up: %w", err)
					return
				}
				world.Pause(2 * time.Second)
				others <- held.Unlock(context.Background())
			}()
			world.Pause(time.Second)
			h, err := rwlock.New(p.Tested, dir, nil).RLock(ctx)
			if err == nil && held.Context().Err() == nil {
				return world.ErrBroken
			}
			if e := <-others; e != nil {
				return e
			}
			if err != nil {
				return err
			}
			if err := alone(p, h); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}

// TestWriterBehindAReaderUnderEveryFault: a writer leaves by a timeout. The
// contender behind it must get the lock when the first holder releases, or at
// once if only the leaving writer was in the way.
func TestWriterBehindAReaderUnderEveryFault(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ held, middle, last string }{
		{"RLock", "Lock", "RLock"}, {"RLock", "Lock", "Lock"},
	} {
		t.Run(tc.held+tc.middle+tc.last, func(t *testing.T) { giveUpBetween(tc.held, tc.middle, tc.last).RunUntilDeadline(t) })
	}
}

func giveUpBetween(first, middle, last string) world.Trial {
	together := first == "RLock" && last == "RLock"
	var held *rwlock.Held
	return world.Trial{
		Name: middle + " that gives up", Paths: []string{dir}, Next: nextLocks,
		Excuses: []error{context.DeadlineExceeded},
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = methods(p.Other)[first](context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			behind := make(chan error, 1)
			// Waited for below; ends when it has had the lock.
			go func() {
				world.Pause(time.Second) // behind the one under test
				h, err := methods(p.Other)[last](context.Background())
				if err == nil && held.Context().Err() == nil && !together {
					err = world.ErrBroken
				}
				if err == nil {
					err = h.Unlock(context.Background())
				}
				behind <- err
			}()
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := methods(p.Tested)[middle](short)
			world.Pause(time.Second)
			if together { // it need not wait for the release
				if e := <-behind; e != nil {
					return fmt.Errorf("the last in the queue: %w", e)
				}
			}
			if e := held.Unlock(context.Background()); e != nil {
				return fmt.Errorf("the first holder: %w", e)
			}
			if !together {
				if e := <-behind; e != nil {
					return fmt.Errorf("the last in the queue: %w", e)
				}
			}
			return err
		},
	}
}
