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
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every one of its requests. The rows of
// the museum that are closed by this: a reply of a create that is lost (P1,
// CH3, CH16, CH17, PD3, PD4), of a delete (CH1, CH9, CH36, P14, PD2), a caller
// who gives up (CH4, CH5, CH18, CH22, P7), a session that ends on the way (CH7,
// CH8, CH21, P3).

// exclusively checks, while h is held, that nobody else gets in.
func exclusively(p *world.Party, h *lock.Held, others *lock.Mutex) error {
	ctx := context.Background()
	second, err := others.TryLock(ctx)
	switch {
	case err != nil && !errors.Is(err, lock.ErrBusy):
		return err
	case err != nil:
		return nil
	}
	defer second.Unlock(ctx)
	if err := p.Overlap(h.Context(), h.Guard(), h.Token(), second.Token()); err != nil {
		return err
	}
	return nil
}

func lockAndUnlock(ctx context.Context, p *world.Party, path string, o *lock.Options, hold time.Duration) error {
	h, err := lock.New(p.Tested, path, o).Lock(ctx)
	if err != nil {
		return err
	}
	world.Pause(hold)
	if err := exclusively(p, h, lock.New(p.Other, path, o)); err != nil {
		return err
	}
	return h.Unlock(ctx)
}

func nextLocks(path string, o *lock.Options) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		h, err := lock.New(p.Other, path, o).Lock(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
}

func TestLockAndUnlockUnderEveryFault(t *testing.T) {
	for name, o := range map[string]*lock.Options{"Curator": nil, "Kazoo": {Layout: lock.Kazoo}} {
		t.Run(name, func(t *testing.T) {
			world.Trial{
				Name: "Lock, Unlock", Paths: []string{dir}, Next: nextLocks(dir, o),
				Op: func(ctx context.Context, p *world.Party) error { return lockAndUnlock(ctx, p, dir, o, 0) },
			}.Run(t)
		})
	}
}

// The heartbeats are requests that can suffer as well.
func TestLongHoldUnderEveryFaultAtEveryHeartbeat(t *testing.T) {
	world.Trial{
		Name: "Lock, hold, Unlock", Paths: []string{dir}, Next: nextLocks(dir, nil),
		Op:     func(ctx context.Context, p *world.Party) error { return lockAndUnlock(ctx, p, dir, nil, 4*time.Second) },
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
	}.Run(t)
}

func TestTryLockUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "TryLock, Unlock", Paths: []string{dir}, Next: nextLocks(dir, nil),
		Op: func(ctx context.Context, p *world.Party) error {
			h, err := lock.New(p.Tested, dir, nil).TryLock(ctx)
			if err != nil {
				return err
			}
			if err := exclusively(p, h, lock.New(p.Other, dir, nil)); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}

// TestWaitingLockUnderEveryFault has the holder release meanwhile (P20, CH2).
func TestWaitingLockUnderEveryFault(t *testing.T) {
	var held *lock.Held
	world.Trial{
		Name: "Lock that waits", Paths: []string{dir}, Next: nextLocks(dir, nil),
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = lock.New(p.Other, dir, nil).Lock(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			released := make(chan error, 1)
			// Waited for below; ends with the release.
			go func() {
				world.Pause(3 * time.Second)
				released <- held.Unlock(context.Background())
			}()
			h, err := lock.New(p.Tested, dir, nil).Lock(ctx)
			if err == nil && held.Context().Err() == nil {
				return world.ErrBroken
			}
			if e := <-released; e != nil {
				return fmt.Errorf("the first holder: %w", e)
			}
			if err != nil {
				return err
			}
			if h.Token() <= held.Token() {
				return fmt.Errorf("token %d after %d", h.Token(), held.Token())
			}
			if err := exclusively(p, h, lock.New(p.Other, dir, nil)); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.Run(t)
}

// TestWaiterBetweenTwoUnderEveryFault leaves by a timeout; who waits behind it
// must get the lock when the first releases, not before.
func TestWaiterBetweenTwoUnderEveryFault(t *testing.T) {
	var held *lock.Held
	world.Trial{
		Name: "Lock that gives up", Paths: []string{dir}, Next: nextLocks(dir, nil),
		Excuses: []error{context.DeadlineExceeded},
		Setup: func(_ *matrix.Env, p *world.Party) (err error) {
			held, err = lock.New(p.Other, dir, nil).Lock(context.Background())
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			last := make(chan error, 1)
			// Waited for below; ends when it has had the lock.
			go func() {
				world.Pause(time.Second) // behind the one under test
				h, err := lock.New(p.Other, dir, nil).Lock(context.Background())
				if err == nil && held.Context().Err() == nil {
					err = world.ErrBroken
				}
				if err == nil {
					err = h.Unlock(context.Background())
				}
				last <- err
			}()
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := lock.New(p.Tested, dir, nil).Lock(short)
			world.Pause(time.Second)
			if e := held.Unlock(context.Background()); e != nil {
				return fmt.Errorf("the first holder: %w", e)
			}
			if e := <-last; e != nil {
				return fmt.Errorf("the last in the queue: %w", e)
			}
			return err
		},
	}.RunUntilDeadline(t)
}

func TestLockWithDelayUnderEveryFault(t *testing.T) {
	o := &lock.Options{LockDelay: 2 * time.Second}
	world.Trial{
		Name: "Lock with LockDelay", Paths: []string{dir}, Next: nextLocks(dir, o),
		Setup: func(e *matrix.Env, p *world.Party) error {
			// The one before crashes.
			h, err := lock.New(p.Other, dir, o).Lock(context.Background())
			if err != nil {
				return err
			}
			if err := e.Server.ExpireSession(h.Session().ID()); err != nil {
				return err
			}
			<-h.Context().Done()
			_ = h.Unlock(context.Background()) // reports the loss, as it should
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
		// Not in the order in which they are taken.
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

func semaphoreTrial(name string, o *lock.Options, paths ...string) world.Trial {
	use := func(ctx context.Context, c *session.Client, n int) error {
		permits, err := lock.NewSemaphore(c, dir, 3, o).Acquire(ctx, n)
		if err != nil {
			return err
		}
		return permits.Release(ctx)
	}
	return world.Trial{
		Name: name, Paths: paths,
		Op: func(ctx context.Context, p *world.Party) error {
			permits, err := lock.NewSemaphore(p.Tested, dir, 3, o).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			second, err := lock.NewSemaphore(p.Other, dir, 3, o).TryAcquire(context.Background(), 2)
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
		Next: func(ctx context.Context, p *world.Party) error { return use(ctx, p.Other, 3) },
	}
}

func TestSemaphoreUnderEveryFault_CH16_CH17(t *testing.T) {
	semaphoreTrial("Acquire, Release", nil, dir).Run(t)
}

func TestCuratorSemaphoreUnderEveryFault_CH16_CH17(t *testing.T) {
	semaphoreTrial("Acquire, Release, Curator's", &lock.Options{CuratorV2: true}, dir+"/locks", dir+"/leases").Run(t)
}

// TestWaitingSemaphoreUnderEveryFault has permits released meanwhile, in both
// layouts.
func TestWaitingSemaphoreUnderEveryFault(t *testing.T) {
	for name, o := range map[string]*lock.Options{"rank": nil, "Curator": {CuratorV2: true}} {
		paths := []string{dir}
		if o != nil {
			paths = []string{dir + "/locks", dir + "/leases"}
		}
		t.Run(name, func(t *testing.T) {
			tr := semaphoreTrial("Acquire that waits", o, paths...)
			var first *lock.Permits
			tr.Setup = func(_ *matrix.Env, p *world.Party) (err error) {
				first, err = lock.NewSemaphore(p.Other, dir, 3, o).Acquire(context.Background(), 2)
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
		})
	}
}

// The trial itself must notice what it looks for.
func TestTrialNoticesOrphansAndBrokenExclusion(t *testing.T) {
	leak := func(ctx context.Context, p *world.Party) error {
		s, err := p.Tested.Session(ctx)
		if err != nil {
			return err
		}
		if err := s.EnsurePath(ctx, dir, session.Container, nil); err != nil {
			return err
		}
		_, err = s.Create(ctx, dir+"/x-lock-", nil, session.EphemeralSequential, nil)
		return err
	}
	for name, tr := range map[string]world.Trial{
		"orphan": {Name: "orphan", Paths: []string{dir}, Op: leak, Next: func(context.Context, *world.Party) error { return nil }},
		"next":   {Name: "blocked", Op: leak, Next: nextLocks(dir, nil)},
		"broken": {Name: "broken", Op: func(context.Context, *world.Party) error { return world.ErrBroken }, Next: nextLocks(dir, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			c := tr.Case()
			c.Faults = []matrix.Fault{} // the orphan is enough
			res := matrix.Explore(t, c)
			if len(res.Failures) == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}
