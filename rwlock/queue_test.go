package rwlock_test

import (
	"context"
	"errors"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/queuetest"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestQueue runs the scenarios that all queue recipes share.
func TestQueue(t *testing.T) {
	reads := func(m *rwlock.RWMutex) map[string]func(context.Context) error {
		return map[string]func(context.Context) error{"Contenders": queuetest.Failing(m.Contenders)}
	}
	target := func(contender func(m *rwlock.RWMutex) queuetest.Contender) queuetest.Target {
		return queuetest.Target{
			Path: dir, Busy: rwlock.ErrBusy, NotHeld: rwlock.ErrNotHeld,
			New: func(c *session.Client, path string) queuetest.Contender { return contender(rwlock.New(c, path, nil)) },
		}
	}
	downgraded := target(func(m *rwlock.RWMutex) queuetest.Contender {
		down := func(lock take) queuetest.Acquire {
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
		return queuetest.Contender{
			Acquire: down(m.Lock), Rival: queuetest.Acquiring(m.Lock), Try: down(m.TryLock),
			Do: queuetest.Doing(m.Do), Reads: reads(m),
		}
	})
	downgraded.Except = map[string]string{
		"TokenIsTheCzxidThatAnybodyCanRead_CH14_CH31": "the token is that of the writer, whose znode is gone",
	}
	queuetest.Run(t, map[string]queuetest.Target{
		"writer": target(func(m *rwlock.RWMutex) queuetest.Contender {
			return queuetest.Contender{
				Acquire: queuetest.Acquiring(m.Lock), Try: queuetest.Acquiring(m.TryLock),
				Do: queuetest.Doing(m.Do), Reads: reads(m),
			}
		}),
		"reader": target(func(m *rwlock.RWMutex) queuetest.Contender {
			return queuetest.Contender{
				Acquire: queuetest.Acquiring(m.RLock), Rival: queuetest.Acquiring(m.Lock), Try: queuetest.Acquiring(m.TryRLock),
				Do: queuetest.Doing(m.RDo), Reads: reads(m),
			}
		}),
		"reader that was a writer": downgraded,
	})
}
