package lock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// suiteContender makes contenders of a mutex for the suite of the queue recipes.
func suiteContender(o *lock.Options) func(c *session.Client, path string) queuetest.Contender {
	return func(c *session.Client, path string) queuetest.Contender {
		m := lock.New(c, path, o)
		return queuetest.Contender{
			Acquire: queuetest.Acquiring(m.Lock), Try: queuetest.Acquiring(m.TryLock), Do: queuetest.Doing(m.Do),
			Enqueue: queuetest.Enqueuing(m.Enqueue), Count: queuetest.Counting(m.Contenders),
			Enters:   map[string]func(context.Context) error{"All": queuetest.Failing(lock.All(m).Lock)},
			Breakers: queuetest.Breaking(m.Contenders, m.Break), Breaks: queuetest.Records(m.Breaks, suiteBreak),
			FindBreak: queuetest.Finding((*lock.Held).Broken, suiteBreak),
			Askers:    queuetest.Asking(m.Contenders, m.Revoke), AwaitRevocation: queuetest.Listening((*lock.Held).AwaitRevocation),
		}
	}
}

func suiteBreak(b lock.Break) queuetest.Break {
	return queuetest.Break{Session: b.Session, By: b.By, Reason: b.Reason}
}

// suitePermits makes contenders for n permits of a semaphore with total permits,
// too few for two contenders at once. Their rival wants all permits.
func suitePermits(n, total int, o *lock.Options) func(c *session.Client, path string) queuetest.Contender {
	return func(c *session.Client, path string) queuetest.Contender {
		s := lock.NewSemaphore(c, path, total, o)
		some := func(n int, call func(context.Context, int) (*lock.Permits, error)) queuetest.Acquire {
			return queuetest.Acquiring(func(ctx context.Context) (*lock.Permits, error) { return call(ctx, n) })
		}
		enqueue := queuetest.Enqueuing(func(ctx context.Context) (*lock.PermitPlace, error) { return s.Enqueue(ctx, n) })
		if o != nil && o.CuratorV2 {
			enqueue = nil
		}
		return queuetest.Contender{
			Acquire: some(n, s.Acquire), Rival: some(total, s.Acquire), Try: some(n, s.TryAcquire),
			Enqueue: enqueue, Count: queuetest.Counting(s.Contenders),
			Breakers: queuetest.Breaking(s.Contenders, s.Break), Breaks: queuetest.Records(s.Breaks, suiteBreak),
			FindBreak: queuetest.Finding((*lock.Permits).Broken, suiteBreak),
			Do: queuetest.Doing(func(ctx context.Context, fn func(context.Context, *lock.Permits) error) error {
				return s.Do(ctx, n, fn)
			}),
		}
	}
}

// TestQueue runs the shared scenarios of all queue recipes.
func TestQueue(t *testing.T) {
	const (
		layout  = "Kazoo's Semaphore has a format of its own"
		number  = "a semaphore reads its number of permits as well"
		several = "TestCuratorSemaphoreUnderEveryFault has several permits"
	)
	queuetest.Run(t, map[string]queuetest.Target{
		"mutex": {
			Path: dir, Says: "lock: acquire", Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Gone: lock.ErrNotHeld, Withdrawn: lock.ErrWithdrawn, New: suiteContender(nil),
			Layouts:  []func(*session.Client, string) queuetest.Contender{suiteContender(&lock.Options{Layout: lock.Kazoo})},
			Prefixes: []string{"_c_x-lock-", "x__lock__"},
			Strangers: []string{
				"config", "lock", "lock-", "lock-123", "x", "_c_", "0000000000", "-0000000001", "READ-0000000000",
				"_c_1-lease-0000000000", "_c_1-4-permit-0000000000", "lock-00000000x0", "a__lock__", "blocked-by-0000000000",
				"lock-+000000001", "lock-9999999999",
			},
		},
		"mutex with a waiting room": {
			Path: dir, Says: "lock: acquire", Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Gone: lock.ErrNotHeld, Withdrawn: lock.ErrWithdrawn, New: suiteContender(&lock.Options{MaxQueue: 1}),
			Layouts:  []func(*session.Client, string) queuetest.Contender{suiteContender(&lock.Options{Layout: lock.Kazoo, MaxQueue: 1})},
			Prefixes: []string{"_c_x-lock-", "x__lock__"},
			Except: map[string]string{
				"AcquireAfterALongPauseIsAtMostThreeRequests":     "a stranger's child fills the queue",
				"PredecessorThatGoesBeforeTheWatchIsSet_P20_CH26": "the third waits outside, without a predecessor",
			},
		},
		"semaphore": {
			Path: dir, Says: "lock: acquire", Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Gone: lock.ErrNotHeld, Withdrawn: lock.ErrWithdrawn, New: suitePermits(2, 3, nil),
			Prefixes: []string{"_c_x-1-permit-"},
			Strangers: []string{
				"config", "permit", "1-permit-", "x", "_c_", "0000000000", "-0000000001", "_c_1-lock-0000000000",
				"_c_1-lease-0000000000", "_c_1-1-permit-00000000x0", "_c_1-1-permit-9999999999",
			},
			Except: map[string]string{
				"FolderOfKazooIsNoContainer":                            layout,
				"LongHoldUnderEveryFaultAtEveryHeartbeat":               "the heartbeats are those of a mutex",
				"UncontendedIsTwoRequestsInOneRoundTripAndReleaseIsOne": number,
				"AcquireAfterALongPauseIsAtMostThreeRequests":           number,
			},
		},
		"Curator semaphore": {
			Path: dir, Folder: dir + "/leases", Says: "lock: acquire", Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, Gone: lock.ErrNotHeld, Withdrawn: lock.ErrWithdrawn,
			New: suitePermits(1, 1, &lock.Options{CuratorV2: true}),
			Except: map[string]string{
				"FolderOfKazooIsNoContainer":                            layout,
				"ForeignChildrenAreIgnored_PD1":                         "every child of the leases counts, as with Curator",
				"NothingIsGrantedBesideAnExhaustedContender_P18":        "the leases are counted, and have no order",
				"PredecessorThatGoesBeforeTheWatchIsSet_P20_CH26":       "the leases are counted, and have no order",
				"NodeOfAStrangerIsNotDeleted":                           "a znode of a stranger counts as a lease",
				"AcquireAndReleaseUnderEveryFault":                      several,
				"UncontendedIsTwoRequestsInOneRoundTripAndReleaseIsOne": number,
				"AcquireAfterALongPauseIsAtMostThreeRequests":           number,
				"WaiterUnderEveryFault":                                 several,
				"LongHoldUnderEveryFaultAtEveryHeartbeat":               several,
			},
		},
	})
}
