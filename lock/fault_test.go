package lock_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// party is the client under test and one that suffers no faults.
type party struct {
	tested, other *session.Client
	// expires says that the fault is an expiry out of turn, which no client
	// can know of before the server tells it.
	expires bool
}

// trial is an operation of a party, and how its outcome is judged.
type trial struct {
	name string
	// paths are those that must have no contender left.
	paths []string
	setup func(e *matrix.Env, p *party) error
	op    func(ctx context.Context, p *party) error
	// next must succeed afterwards, with the other client.
	next   func(ctx context.Context, p *party) error
	counts func(zktest.Request) bool
	// excuses are errors that are none, besides those that the fault explains.
	excuses []error
}

func (tr trial) run(t *testing.T) {
	t.Helper()
	res := matrix.Run(t, matrix.Case{
		Name: tr.name, Racy: true, Counts: tr.counts,
		Setup: func(e *matrix.Env) error {
			p := &party{expires: e.Fault == matrix.Expire || e.Fault == matrix.ExpireAfter}
			var err error
			ctx := context.Background()
			if p.tested, err = session.Connect(ctx, e.Addrs(), &session.Options{Dialer: e.Dial}); err != nil {
				return err
			}
			if p.other, err = session.Connect(ctx, e.Addrs(), &session.Options{Dialer: e.DialOther}); err != nil {
				return err
			}
			e.State = p
			e.Cleanup(func() {
				over, cancel := context.WithTimeout(ctx, time.Minute)
				defer cancel()
				if err := errors.Join(p.tested.Close(over), p.other.Close(over)); err != nil {
					e.T.Error(err)
				}
			})
			if tr.setup != nil {
				return tr.setup(e, p)
			}
			return nil
		},
		Op:    func(ctx context.Context, e *matrix.Env) error { return tr.op(ctx, e.State.(*party)) },
		Check: tr.check,
	})
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", tr.name)
	}
}

func (tr trial) check(e *matrix.Env) error {
	p := e.State.(*party)
	if err := tr.judge(e); err != nil {
		return err
	}
	// The tested client lives: what it left behind would stay.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	for _, path := range tr.paths {
		for names := []string{"?"}; len(names) > 0; names, _ = e.Server.Children(path) {
			if ctx.Err() != nil {
				return fmt.Errorf("orphans in %s: %q", path, names)
			}
			pause(10 * time.Millisecond)
		}
	}
	if err := tr.next(ctx, p); err != nil {
		return fmt.Errorf("the next caller: %w", err)
	}
	pause(time.Minute) // for what may still go on in the background
	if n := e.Server.Stats().Watches; n > 0 {
		return fmt.Errorf("%d watches left on the server: %v", n, e.Server.Watches())
	}
	return nil
}

func (tr trial) judge(e *matrix.Env) error {
	excuses := slices.Clone(tr.excuses)
	switch e.Fault {
	case matrix.CancelContext, matrix.CancelLost, matrix.CancelUnknown:
		excuses = append(excuses, context.Canceled)
	case matrix.Expire, matrix.ExpireAfter:
		excuses = append(excuses, session.ErrLost, session.ErrNodeDeleted)
	}
	if e.Err == nil || slices.ContainsFunc(excuses, func(x error) bool { return errors.Is(e.Err, x) }) {
		return nil
	}
	return fmt.Errorf("no excuse for: %w", e.Err)
}

// pause lets virtual time pass: runs in a bubble.
func pause(d time.Duration) { time.Sleep(d) }

// errBroken is what operations report when mutual exclusion is.
var errBroken = errors.New("two hold it at once")

// exclusively checks, while h is held, that nobody else gets in.
func (p *party) exclusively(h *lock.Held, others *lock.Mutex) error {
	ctx := context.Background()
	second, err := others.TryLock(ctx)
	switch {
	case err != nil && !errors.Is(err, lock.ErrBusy):
		return err
	case err != nil:
		return nil
	}
	defer second.Unlock(ctx)
	if err := p.overlap(h.Context(), h.Guard(), h.Token(), second.Token()); err != nil {
		return err
	}
	return nil
}

// overlap judges that somebody else was granted what ctx says is held.
func (p *party) overlap(ctx context.Context, guard session.Op, first, second int64) error {
	if ctx.Err() == nil && !p.expires {
		return fmt.Errorf("%w: tokens %d and %d", errBroken, first, second)
	}
	// What is left are the token and the guard.
	s, err := p.other.Session(context.Background())
	if err != nil {
		return err
	}
	if _, err := s.Txn(context.Background(), guard); !errors.Is(err, session.ErrNoNode) || second <= first {
		return fmt.Errorf("tokens %d and %d; the guard says %w", first, second, err)
	}
	return nil
}

func lockAndUnlock(ctx context.Context, p *party, path string, o *lock.Options, hold time.Duration) error {
	h, err := lock.New(p.tested, path, o).Lock(ctx)
	if err != nil {
		return err
	}
	pause(hold)
	if err := p.exclusively(h, lock.New(p.other, path, o)); err != nil {
		return err
	}
	return h.Unlock(ctx)
}

func nextLocks(path string, o *lock.Options) func(context.Context, *party) error {
	return func(ctx context.Context, p *party) error {
		h, err := lock.New(p.other, path, o).Lock(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
}

func TestLockAndUnlockUnderEveryFault(t *testing.T) {
	for name, o := range map[string]*lock.Options{"Curator": nil, "Kazoo": {Layout: lock.Kazoo}} {
		t.Run(name, func(t *testing.T) {
			trial{
				name: "Lock, Unlock", paths: []string{dir}, next: nextLocks(dir, o),
				op: func(ctx context.Context, p *party) error { return lockAndUnlock(ctx, p, dir, o, 0) },
			}.run(t)
		})
	}
}

// The heartbeats are requests that can suffer as well.
func TestLongHoldUnderEveryFaultAtEveryHeartbeat(t *testing.T) {
	trial{
		name: "Lock, hold, Unlock", paths: []string{dir}, next: nextLocks(dir, nil),
		op:     func(ctx context.Context, p *party) error { return lockAndUnlock(ctx, p, dir, nil, 4*time.Second) },
		counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
	}.run(t)
}

func TestTryLockUnderEveryFault(t *testing.T) {
	trial{
		name: "TryLock, Unlock", paths: []string{dir}, next: nextLocks(dir, nil),
		op: func(ctx context.Context, p *party) error {
			h, err := lock.New(p.tested, dir, nil).TryLock(ctx)
			if err != nil {
				return err
			}
			if err := p.exclusively(h, lock.New(p.other, dir, nil)); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.run(t)
}

// TestWaitingLockUnderEveryFault has the holder release meanwhile (P20, CH2).
func TestWaitingLockUnderEveryFault(t *testing.T) {
	var held *lock.Held
	trial{
		name: "Lock that waits", paths: []string{dir}, next: nextLocks(dir, nil),
		setup: func(_ *matrix.Env, p *party) (err error) {
			held, err = lock.New(p.other, dir, nil).Lock(context.Background())
			return err
		},
		op: func(ctx context.Context, p *party) error {
			released := make(chan error, 1)
			// Waited for below; ends with the release.
			go func() {
				pause(3 * time.Second)
				released <- held.Unlock(context.Background())
			}()
			h, err := lock.New(p.tested, dir, nil).Lock(ctx)
			if err == nil && held.Context().Err() == nil {
				return errBroken
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
			if err := p.exclusively(h, lock.New(p.other, dir, nil)); err != nil {
				return err
			}
			return h.Unlock(ctx)
		},
	}.run(t)
}

// TestWaiterBetweenTwoUnderEveryFault leaves by a timeout; who waits behind it
// must get the lock when the first releases, not before.
func TestWaiterBetweenTwoUnderEveryFault(t *testing.T) {
	var held *lock.Held
	trial{
		name: "Lock that gives up", paths: []string{dir}, next: nextLocks(dir, nil),
		excuses: []error{context.DeadlineExceeded},
		setup: func(_ *matrix.Env, p *party) (err error) {
			held, err = lock.New(p.other, dir, nil).Lock(context.Background())
			return err
		},
		op: func(ctx context.Context, p *party) error {
			last := make(chan error, 1)
			// Waited for below; ends when it has had the lock.
			go func() {
				pause(time.Second) // behind the one under test
				h, err := lock.New(p.other, dir, nil).Lock(context.Background())
				if err == nil && held.Context().Err() == nil {
					err = errBroken
				}
				if err == nil {
					err = h.Unlock(context.Background())
				}
				last <- err
			}()
			short, cancel := context.WithTimeout(ctx, 2*time.Second)
			defer cancel()
			_, err := lock.New(p.tested, dir, nil).Lock(short)
			pause(time.Second)
			if e := held.Unlock(context.Background()); e != nil {
				return fmt.Errorf("the first holder: %w", e)
			}
			if e := <-last; e != nil {
				return fmt.Errorf("the last in the queue: %w", e)
			}
			return err
		},
	}.orDeadline(t)
}

// orDeadline is run for an operation that fails without a fault: by its
// deadline, which is its purpose.
func (tr trial) orDeadline(t *testing.T) {
	t.Helper()
	op := tr.op
	tr.op = func(ctx context.Context, p *party) error {
		err := op(ctx, p)
		if err == nil {
			return errors.New("it got what another holds")
		}
		if errors.Is(err, context.DeadlineExceeded) {
			return nil
		}
		return err
	}
	tr.run(t)
}

func TestLockWithDelayUnderEveryFault(t *testing.T) {
	o := &lock.Options{LockDelay: 2 * time.Second}
	trial{
		name: "Lock with LockDelay", paths: []string{dir}, next: nextLocks(dir, o),
		setup: func(e *matrix.Env, p *party) error {
			// The one before crashes.
			h, err := lock.New(p.other, dir, o).Lock(context.Background())
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
		op: func(ctx context.Context, p *party) error {
			began := time.Now()
			h, err := lock.New(p.tested, dir, o).Lock(ctx)
			if err != nil {
				return err
			}
			if waited := time.Since(began); waited < o.LockDelay {
				return fmt.Errorf("granted %v after the crash", waited)
			}
			return h.Unlock(ctx)
		},
	}.run(t)
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
	trial{
		name: "three locks as one", paths: paths,
		op:   func(ctx context.Context, p *party) error { return lockUnlock(ctx, p.tested) },
		next: func(ctx context.Context, p *party) error { return lockUnlock(ctx, p.other) },
	}.run(t)
}

func semaphoreTrial(name string, o *lock.Options, paths ...string) trial {
	use := func(ctx context.Context, c *session.Client, n int) error {
		permits, err := lock.NewSemaphore(c, dir, 3, o).Acquire(ctx, n)
		if err != nil {
			return err
		}
		return permits.Release(ctx)
	}
	return trial{
		name: name, paths: paths,
		op: func(ctx context.Context, p *party) error {
			permits, err := lock.NewSemaphore(p.tested, dir, 3, o).Acquire(ctx, 2)
			if err != nil {
				return err
			}
			second, err := lock.NewSemaphore(p.other, dir, 3, o).TryAcquire(context.Background(), 2)
			if err == nil {
				if err := p.overlap(permits.Context(), permits.Guard(), permits.Token(), second.Token()); err != nil {
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
		next: func(ctx context.Context, p *party) error { return use(ctx, p.other, 3) },
	}
}

func TestSemaphoreUnderEveryFault_CH16_CH17(t *testing.T) {
	semaphoreTrial("Acquire, Release", nil, dir).run(t)
}

func TestCuratorSemaphoreUnderEveryFault_CH16_CH17(t *testing.T) {
	semaphoreTrial("Acquire, Release, Curator's", &lock.Options{CuratorV2: true}, dir+"/locks", dir+"/leases").run(t)
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
			tr.setup = func(_ *matrix.Env, p *party) (err error) {
				first, err = lock.NewSemaphore(p.other, dir, 3, o).Acquire(context.Background(), 2)
				return err
			}
			op := tr.op
			tr.op = func(ctx context.Context, p *party) error {
				released := make(chan error, 1)
				// Waited for below; ends with the release.
				go func() {
					pause(3 * time.Second)
					released <- first.Release(context.Background())
				}()
				err := op(ctx, p)
				if e := <-released; e != nil {
					return e
				}
				return err
			}
			tr.run(t)
		})
	}
}

// The trial itself must notice what it looks for.
func TestTrialNoticesOrphansAndBrokenExclusion(t *testing.T) {
	leak := func(ctx context.Context, p *party) error {
		s, err := p.tested.Session(ctx)
		if err != nil {
			return err
		}
		if err := s.EnsurePath(ctx, dir, session.Container, nil); err != nil {
			return err
		}
		_, err = s.Create(ctx, dir+"/x-lock-", nil, session.EphemeralSequential, nil)
		return err
	}
	for name, tr := range map[string]trial{
		"orphan": {name: "orphan", paths: []string{dir}, op: leak, next: func(context.Context, *party) error { return nil }},
		"next":   {name: "blocked", op: leak, next: nextLocks(dir, nil)},
		"broken": {name: "broken", op: func(context.Context, *party) error { return errBroken }, next: nextLocks(dir, nil)},
	} {
		t.Run(name, func(t *testing.T) {
			res := matrix.Explore(t, matrix.Case{
				Name: tr.name, Faults: []matrix.Fault{},
				Setup: func(e *matrix.Env) error {
					c, err := session.Connect(context.Background(), e.Addrs(), &session.Options{Dialer: e.Dial})
					e.State = &party{tested: c, other: c}
					e.Cleanup(func() { _ = c.Close(context.Background()) })
					return err
				},
				Op:    func(ctx context.Context, e *matrix.Env) error { return tr.op(ctx, e.State.(*party)) },
				Check: tr.check,
			})
			if len(res.Failures) == 0 {
				t.Error("nothing was noticed")
			}
		})
	}
}
