package lock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// The operations of this recipe alone, under every fault at every one of their
// requests. These tests close three rows of the museum: a lost reply to a create
// (CH16, CH17), a caller that gives up (CH18), a session that ends on the way
// (CH21).

func nextLocks(o *lock.Options) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		h, err := lock.New(p.Other, dir, o).Lock(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
}

func TestLockWithDelayUnderEveryFault(t *testing.T) {
	o := &lock.Options{LockDelay: 2 * time.Second}
	world.Trial{
		Name: "Lock with LockDelay", Paths: []string{dir}, Next: nextLocks(o),
		Setup: func(e *matrix.Env, p *world.Party) error {
			// The former holder crashes.
			h, err := lock.New(p.Other, dir, o).Lock(context.Background())
			if err != nil {
				return err
			}
			if err := e.Server.ExpireSession(h.Session().ID()); err != nil {
				return err
			}
			<-h.Context().Done()
			_ = h.Unlock(context.Background()) // reports the loss
			return nil
		},
		Op: func(ctx context.Context, p *world.Party) error {
			began := time.Now()
			h, err := lock.New(p.Tested, dir, o).Lock(ctx)
			if err != nil {
				return err
			}
			if waited := time.Since(began); waited < o.LockDelay {
				return fmt.Errorf("granted %v after the crash", waited)
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}

func TestGroupUnderEveryFault(t *testing.T) {
	paths := []string{"/locks/a", "/locks/b", "/locks/c"}
	group := func(c *session.Client) *lock.Group {
		// Not in the order of acquisition.
		return lock.All(lock.New(c, paths[2], nil), lock.New(c, paths[0], nil), lock.New(c, paths[1], nil))
	}
	lockUnlock := func(ctx context.Context, c *session.Client) error {
		h, err := group(c).Lock(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
	world.Trial{
		Name: "three locks as one", Paths: paths,
		Op:   func(ctx context.Context, p *world.Party) error { return lockUnlock(ctx, p.Tested) },
		Next: func(ctx context.Context, p *world.Party) error { return lockUnlock(ctx, p.Other) },
	}.Run(t)
}

// curatorSemaphore makes a semaphore in Curator's form, with a lease for each permit.
func curatorSemaphore(c *session.Client) *lock.Semaphore {
	return lock.NewSemaphore(c, dir, 3, &lock.Options{CuratorV2: true})
}

func curatorTrial(name string) world.Trial {
	return world.Trial{
		Name: name, Paths: []string{dir + "/locks", dir + "/leases"},
		Op: func(ctx context.Context, p *world.Party) error {
			permits, err := curatorSemaphore(p.Tested).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			second, err := curatorSemaphore(p.Other).TryAcquire(context.Background(), 2)
			if err == nil {
				if err := p.Overlap(permits.Context(), permits.Guard(), permits.Token(), second.Token()); err != nil {
					return err
				}
				err = second.Release(context.Background())
			}
			if err != nil && !errors.Is(err, lock.ErrBusy) {
				return err
			}
			return permits.Release(ctx)
		},
		// The capacity is all there: nothing was leaked.
		Next: func(ctx context.Context, p *world.Party) error {
			permits, err := curatorSemaphore(p.Other).Acquire(ctx, 3)
			if err != nil {
				return err
			}
			return permits.Release(ctx)
		},
	}
}

func TestCuratorSemaphoreUnderEveryFault_CH16_CH17(t *testing.T) {
	curatorTrial("Acquire, Release, Curator's").Run(t)
}

// TestWaitingCuratorSemaphoreUnderEveryFault has permits released meanwhile.
func TestWaitingCuratorSemaphoreUnderEveryFault(t *testing.T) {
	tr := curatorTrial("Acquire that waits")
	var first *lock.Permits
	tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
		first, err = curatorSemaphore(p.Other).Acquire(context.Background(), 2)
		return err
	}
	op := tr.Op
	tr.Op = func(ctx context.Context, p *world.Party) error {
		released := make(chan error, 1)
		// Waited for below; ends with the release.
		go func() {
			world.Pause(3 * time.Second)
			released <- first.Release(context.Background())
		}()
		err := op(ctx, p)
		if e := <-released; e != nil {
			return e
		}
		return err
	}
	tr.Run(t)
}
