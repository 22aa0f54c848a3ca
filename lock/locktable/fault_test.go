package locktable_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every one of its requests.

// play is a case: the tested owner, which is kept even after a failed call, and
// another owner.
type play struct {
	tested, other *locktable.Owner
	theirs        []*locktable.Held // locks of other from the beginning
}

// newTrial makes a case of the matrix. The tested owner lives until the end of the
// judgment, so remains of a failed call are in the way of the other owner.
func newTrial(name string, setup, op func(ctx context.Context, p *world.Party, ours *play) error) world.Trial {
	return world.Trial{
		Name: name, Excuses: []error{session.ErrUnknownOutcome}, // to be released in the background
		Setup: func(e *matrix.Env, p *world.Party) error {
			ctx, ours := context.Background(), &play{}
			p.State = ours
			var err error
			if ours.other, err = locktable.New(p.Other, dir, nil).Join(ctx); err != nil {
				return err
			}
			e.Cleanup(func() {
				over, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				for _, o := range []*locktable.Owner{ours.tested, ours.other} {
					if o != nil {
						_ = o.Release(over) // a session may be lost
					}
				}
			})
			if setup == nil {
				return nil
			}
			return setup(ctx, p, ours)
		},
		Op: func(ctx context.Context, p *world.Party) error {
			ours := p.State.(*play)
			if ours.tested == nil {
				var err error
				if ours.tested, err = locktable.New(p.Tested, dir, nil).Join(ctx); err != nil {
					return err
				}
			}
			return op(ctx, p, ours)
		},
		Next: func(ctx context.Context, p *world.Party) error {
			ours := p.State.(*play)
			if ours.other.Session().Err() != nil { // the fault has cost it, which no product that resumes sessions does
				var err error
				if ours.other, err = locktable.New(p.Other, dir, nil).Join(ctx); err != nil {
					return err
				}
				ours.theirs = nil
			}
			if err := ours.other.Unlock(ctx, ours.theirs...); err != nil && !errors.Is(err, locktable.ErrNotHeld) {
				return err
			}
			held, err := ours.other.Lock(ctx, lockNames(4)...)
			if err == nil {
				err = ours.other.Unlock(ctx, held...)
			}
			if ours.tested != nil && err == nil {
				if err = ours.tested.Release(ctx); errors.Is(err, session.ErrLost) {
					err = nil
				}
			}
			return errors.Join(err, ours.other.Release(ctx))
		},
	}
}

// checkExclusive checks that the other owner gets none of the held locks.
func checkExclusive(p *world.Party, ours *play, held []*locktable.Held) error {
	world.Pause(time.Second) // until the watches are set: their requests then come in every run
	ctx := context.Background()
	second, err := ours.other.TryLock(ctx, lockNames(4)...)
	if err != nil {
		return err
	}
	for _, h := range held {
		i := slices.IndexFunc(second, func(other *locktable.Held) bool { return other.Name() == h.Name() })
		if i >= 0 {
			err = errors.Join(err, p.Overlap(h.Context(), h.Owner().Guard(), h.Token(), second[i].Token()))
		}
	}
	return errors.Join(err, ours.other.Unlock(ctx, second...))
}

func TestTryLockAndUnlockUnderEveryFault(t *testing.T) {
	newTrial("TryLock, Unlock", nil, func(ctx context.Context, p *world.Party, ours *play) error {
		held, err := ours.tested.TryLock(ctx, lockNames(4)...)
		if err != nil {
			return err
		}
		if len(held) != 4 {
			return fmt.Errorf("it got %v", namesOf(held))
		}
		if err := checkExclusive(p, ours, held); err != nil {
			return err
		}
		if err := ours.tested.Unlock(ctx, held[1], held[2]); err != nil {
			return errors.Join(err, ours.tested.Unlock(context.Background(), held[0], held[3]))
		}
		return ours.tested.Unlock(ctx, held[0], held[3])
	}).Run(t)
}

// TestTryLockOfAFewUnderEveryFault lets the other owner hold some locks, and race
// for one.
func TestTryLockOfAFewUnderEveryFault(t *testing.T) {
	newTrial("TryLock of what others hold", func(ctx context.Context, _ *world.Party, ours *play) (err error) {
		ours.theirs, err = ours.other.TryLock(ctx, "lock-0001", "x")
		return err
	}, func(ctx context.Context, p *world.Party, ours *play) error {
		held, err := ours.tested.TryLock(ctx, lockNames(4)...)
		if err == nil && len(held) != 3 {
			err = fmt.Errorf("it got %v", namesOf(held))
		}
		if err == nil {
			err = checkExclusive(p, ours, held)
		}
		if err == nil {
			err = ours.tested.Unlock(ctx, held...)
		}
		return errors.Join(err, ours.other.Unlock(context.Background(), ours.theirs...))
	}).Run(t)
}

func TestOwnerUnderEveryFault(t *testing.T) {
	tr := newTrial("Join, TryLock, Release", nil, func(ctx context.Context, p *world.Party, ours *play) error {
		held, err := ours.tested.TryLock(ctx, lockNames(4)...)
		if err == nil {
			err = checkExclusive(p, ours, held)
		}
		released := ours.tested.Release(ctx)
		if err == nil {
			return released
		}
		return err
	})
	next := tr.Next
	tr.Next = func(ctx context.Context, p *world.Party) error {
		p.State.(*play).tested = nil // released before
		if err := next(ctx, p); err != nil {
			return err
		}
		entries, err := locktable.New(p.Other, dir, nil).Entries(ctx)
		for _, e := range entries {
			if e.Owner != "" || e.Err != nil {
				err = errors.Join(err, fmt.Errorf("left behind: %+v", e))
			}
		}
		return err
	}
	tr.Run(t)
}

// TestWaitingLockUnderEveryFault has the other owner release meanwhile, in two parts.
func TestWaitingLockUnderEveryFault(t *testing.T) {
	newTrial("Lock that waits", func(ctx context.Context, _ *world.Party, ours *play) (err error) {
		ours.theirs, err = ours.other.TryLock(ctx, lockNames(3)...)
		return err
	}, func(ctx context.Context, p *world.Party, ours *play) error {
		released := make(chan error, 1)
		// Waited for below; ends with the releases.
		go func() {
			world.Pause(2 * time.Second)
			err := ours.other.Unlock(context.Background(), ours.theirs[0])
			world.Pause(2 * time.Second)
			released <- errors.Join(err, ours.other.Unlock(context.Background(), ours.theirs[1:]...))
		}()
		held, err := ours.tested.Lock(ctx, lockNames(4)...)
		if err == nil && ours.theirs[1].Context().Err() == nil {
			return world.ErrBroken
		}
		if e := <-released; e != nil {
			return fmt.Errorf("the first holder: %w", e)
		}
		if err != nil {
			return err
		}
		if held[0].Token() <= ours.theirs[0].Token() {
			return fmt.Errorf("token %d after %d", held[0].Token(), ours.theirs[0].Token())
		}
		if err := checkExclusive(p, ours, held); err != nil {
			return err
		}
		return ours.tested.Unlock(ctx, held...)
	}).Run(t)
}

// TestWaitThatIsGivenUpUnderEveryFault ends by its deadline, and releases its
// locks.
func TestWaitThatIsGivenUpUnderEveryFault(t *testing.T) {
	tr := newTrial("Lock that gives up", func(ctx context.Context, _ *world.Party, ours *play) error {
		_, err := ours.other.TryLock(ctx, "x")
		return err
	}, func(ctx context.Context, _ *world.Party, ours *play) error {
		short, cancel := context.WithTimeout(ctx, 2*time.Second)
		defer cancel()
		_, err := ours.tested.Lock(short, append(lockNames(4), "x")...)
		return err
	})
	tr.Excuses = append(tr.Excuses, context.DeadlineExceeded)
	tr.RunUntilDeadline(t)
}

func TestAcquirerUnderEveryFault(t *testing.T) {
	newTrial("Acquirer", func(ctx context.Context, _ *world.Party, ours *play) error {
		_, err := ours.other.TryLock(ctx, "x")
		return err
	}, func(ctx context.Context, p *world.Party, ours *play) error {
		within, cancel := context.WithCancel(ctx)
		defer cancel()
		var held []*locktable.Held
		a := ours.tested.Acquirer(func(got []*locktable.Held) {
			if held = append(held, got...); len(held) == 4 {
				cancel()
			}
		}, func([]string) {})
		if err := a.Want(append(lockNames(4), "x")...); err != nil {
			return err
		}
		err := a.Run(within)
		if len(held) < 4 {
			return errors.Join(err, ours.tested.Unlock(context.Background(), held...))
		}
		if err := checkExclusive(p, ours, held); err != nil {
			return err
		}
		return ours.tested.Unlock(ctx, held...)
	}).Run(t)
}

func TestRemoveUnderEveryFault(t *testing.T) {
	newTrial("Remove", func(ctx context.Context, p *world.Party, ours *play) error {
		held, err := ours.other.TryLock(ctx, append(lockNames(4), "kept", "held")...)
		return errors.Join(err, ours.other.Unlock(ctx, held[:5]...))
	}, func(ctx context.Context, p *world.Party, ours *play) error {
		world.Pause(time.Second) // until the owner is watched: the requests for the watch then come in every run
		left, w, err := ours.tested.Remove(ctx, func(name string) bool { return name == "kept" }, ours.tested.Guard())
		if err != nil {
			return err
		}
		w.Stop()
		entries, err := locktable.New(p.Other, dir, nil).Entries(context.Background())
		if err == nil && (len(left) != 1 || left[0].Name != "held" || len(entries) != 2) {
			err = fmt.Errorf("left %v, there is %v", left, entries)
		}
		return err
	}).Run(t)
}

// The trial itself must notice a lock left behind.
func TestTrialNoticesLocksThatAreLeftBehind(t *testing.T) {
	tr := newTrial("a lock that is left behind", nil, func(ctx context.Context, _ *world.Party, ours *play) error {
		_, err := ours.tested.TryLock(ctx, lockNames(1)...)
		return err
	})
	c := tr.Case()
	c.Faults = []matrix.Fault{}
	require.NotEmpty(t, matrix.Explore(t, c).Failures)
}
