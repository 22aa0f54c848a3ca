package rwlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// queueTarget describes one side of a lock to the suite of the queue recipes.
func queueTarget(contender func(m *rwlock.RWMutex) queuetest.Contender) queuetest.Target {
	of := func(o *rwlock.Options) func(c *session.Client, path string) queuetest.Contender {
		return func(c *session.Client, path string) queuetest.Contender {
			m := rwlock.New(c, path, o)
			k := contender(m)
			k.Count = queuetest.Counting(m.Contenders)
			k.Breakers, k.Breaks = queuetest.Breaking(m.Contenders, m.Break), queuetest.Records(m.Breaks, suiteBreak)
			k.FindBreak = queuetest.Finding((*rwlock.Held).Broken, suiteBreak)
			k.Askers, k.AwaitRevocation = queuetest.Asking(m.Contenders, m.Revoke), queuetest.Listening((*rwlock.Held).AwaitRevocation)
			return k
		}
	}
	return queuetest.Target{
		Path: dir, Says: "rwlock: lock", Busy: rwlock.ErrBusy, NotHeld: rwlock.ErrNotHeld, Gone: rwlock.ErrNotHeld, Withdrawn: rwlock.ErrWithdrawn, New: of(nil),
		Layouts:  []func(*session.Client, string) queuetest.Contender{of(&rwlock.Options{Layout: rwlock.Kazoo})},
		Prefixes: []string{"_c_x-__WRIT__", "_c_x-__READ__", "x__lock__", "x__rlock__"},
		Strangers: []string{
			"config", "__READ__", "__WRIT__123", "_c_", "0000000000", "-0000000001", "READ-0000000000",
			"_c_1-lock-0000000000", "_c_1-lease-0000000000", "x_rlock__0000000000", "__WRIT__00000000x0",
			"__lock__+000000001", "__lock__9999999999", "__READ_0000000000",
		},
	}
}

func suiteBreak(b rwlock.Break) queuetest.Break {
	return queuetest.Break{Session: b.Session, By: b.By, Reason: b.Reason}
}

// downgrading makes an acquisition of lock that is downgraded at once.
func downgrading(lock take) queuetest.Acquire {
	return queuetest.Acquiring(func(ctx context.Context) (*rwlock.Held, error) {
		h, err := lock(ctx)
		if err != nil {
			return nil, err
		}
		r, err := h.Downgrade(ctx)
		if err != nil {
			return nil, errors.Join(err, h.Unlock(ctx))
		}
		return r, nil
	})
}

// TestQueue runs the scenarios that all queue recipes share.
func TestQueue(t *testing.T) {
	writer := queueTarget(func(m *rwlock.RWMutex) queuetest.Contender {
		return queuetest.Contender{Acquire: queuetest.Acquiring(m.Lock), Try: queuetest.Acquiring(m.TryLock), Do: queuetest.Doing(m.Do), Enqueue: queuetest.Enqueuing(m.Enqueue)}
	})
	reader := queueTarget(func(m *rwlock.RWMutex) queuetest.Contender {
		return queuetest.Contender{
			Acquire: queuetest.Acquiring(m.RLock), Rival: queuetest.Acquiring(m.Lock),
			Try: queuetest.Acquiring(m.TryRLock), Do: queuetest.Doing(m.RDo), Enqueue: queuetest.Enqueuing(m.REnqueue),
		}
	})
	reader.Shares = true
	reader.Says = "rwlock: read lock"
	reader.Except = map[string]string{"PrefixesAndLayoutsDoNotChangeTheOrder_P19": "readers are granted together"}
	downgraded := queueTarget(func(m *rwlock.RWMutex) queuetest.Contender {
		return queuetest.Contender{
			Acquire: downgrading(m.Lock), Rival: queuetest.Acquiring(m.Lock), Try: downgrading(m.TryLock), Do: queuetest.Doing(m.Do),
		}
	})
	const faults = "TestDowngradeUnderEveryFault"
	const requests = "a downgrade is a request more"
	downgraded.Except = map[string]string{
		"UncontendedIsTwoRequestsInOneRoundTripAndReleaseIsOne": requests,
		"AcquireAfterALongPauseIsAtMostThreeRequests":           requests,
		"LastGoodNumbersAreGranted_P18":                         "each downgrade uses up a number, too",
		"AcquireAndReleaseUnderEveryFault":                      faults,
		"TryUnderEveryFault":                                    faults,
		"LongHoldUnderEveryFaultAtEveryHeartbeat":               faults,
		"WaiterUnderEveryFault":                                 faults,
		"WaiterBetweenTwoUnderEveryFault":                       faults,
		"TokenIsTheCzxidThatClientsCanRead_CH14_CH31":           "the token is that of the writer, whose znode is gone",
	}
	queuetest.Run(t, map[string]queuetest.Target{"writer": writer, "reader": reader, "reader that was a writer": downgraded})
}
