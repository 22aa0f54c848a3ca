package lock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
)

// The other ways to a lock or to permits, and the other form of a semaphore.
func TestEventsOfAttemptsAndPlacesUnderEveryFault(t *testing.T) {
	t.Parallel()
	for file, c := range map[string]struct {
		op    func(ctx context.Context, p *world.Party) error
		paths []string
	}{
		"trylock": {func(ctx context.Context, p *world.Party) error {
			m := lock.New(p.Tested, dir, nil)
			h, err := m.TryLock(ctx)
			if err != nil {
				return err
			}
			second, err := m.TryLock(ctx)
			switch {
			case err == nil: // the first was lost meanwhile
				err = second.Unlock(context.WithoutCancel(ctx))
			case errors.Is(err, lock.ErrBusy):
				return h.Unlock(ctx)
			}
			return errors.Join(err, h.Unlock(context.WithoutCancel(ctx)))
		}, []string{dir}},
		"tryacquire": {func(ctx context.Context, p *world.Party) error {
			permits, err := lock.NewSemaphore(p.Tested, dir, 3, nil).TryAcquire(ctx, 2)
			if err != nil {
				return err
			}
			return permits.Release(ctx)
		}, []string{dir}},
		"curator": {func(ctx context.Context, p *world.Party) error {
			permits, err := curatorSemaphore(p.Tested).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			return permits.Release(ctx)
		}, []string{dir + "/locks", dir + "/leases"}},
		"place": {func(ctx context.Context, p *world.Party) error {
			k, err := lock.New(p.Tested, dir, nil).Enqueue(ctx)
			if err != nil {
				return err
			}
			_, err = k.Await(ctx)
			return errors.Join(err, k.Withdraw(context.WithoutCancel(ctx)))
		}, []string{dir}},
		"permitplace": {func(ctx context.Context, p *world.Party) error {
			k, err := lock.NewSemaphore(p.Tested, dir, 3, nil).Enqueue(ctx, 2)
			if err != nil {
				return err
			}
			_, err = k.Await(ctx)
			return errors.Join(err, k.Withdraw(context.WithoutCancel(ctx)))
		}, []string{dir}},
	} {
		t.Run(file, func(t *testing.T) {
			world.Trial{Name: file, Paths: c.paths, Op: c.op}.RunObserved(t, *update, file)
		})
	}
}
