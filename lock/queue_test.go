package lock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestQueue runs the scenarios that all queue recipes share.
func TestQueue(t *testing.T) {
	semaphore := func(o *lock.Options) func(*session.Client, string) queuetest.Contender {
		return func(c *session.Client, path string) queuetest.Contender {
			s := lock.NewSemaphore(c, path, 1, o)
			one := func(call func(context.Context, int) (*lock.Permits, error)) queuetest.Acquire {
				return queuetest.Acquiring(func(ctx context.Context) (*lock.Permits, error) { return call(ctx, 1) })
			}
			return queuetest.Contender{
				Acquire: one(s.Acquire), Try: one(s.TryAcquire),
				Do: queuetest.Doing(func(ctx context.Context, fn func(context.Context, *lock.Permits) error) error {
					return s.Do(ctx, 1, fn)
				}),
				Reads: map[string]func(context.Context) error{"Contenders": queuetest.Failing(s.Contenders)},
			}
		}
	}
	queuetest.Run(t, map[string]queuetest.Target{
		"mutex": {
			Path: dir, Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld,
			New: func(c *session.Client, path string) queuetest.Contender {
				m := lock.New(c, path, nil)
				return queuetest.Contender{
					Acquire: queuetest.Acquiring(m.Lock), Try: queuetest.Acquiring(m.TryLock), Do: queuetest.Doing(m.Do),
					Enters: map[string]func(context.Context) error{"All": queuetest.Failing(lock.All(m).Lock)},
					Reads:  map[string]func(context.Context) error{"Contenders": queuetest.Failing(m.Contenders)},
				}
			},
		},
		"semaphore":         {Path: dir, Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, New: semaphore(nil)},
		"Curator semaphore": {Path: dir, Folder: dir + "/leases", Busy: lock.ErrBusy, NotHeld: lock.ErrNotHeld, New: semaphore(&lock.Options{CuratorV2: true})},
	})
}
