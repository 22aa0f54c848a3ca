package lock_test

import (
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

// CH10, P24: ten thousand locks taken and given back, contended and not, leave
// no watch on the server, no goroutine, and no memory in the client.
func TestTenThousandCyclesLeaveNothing_CH10_P24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		ma, mb := lock.New(a, dir, nil), lock.New(b, dir, nil)
		sem := lock.NewSemaphore(a, "/sem", 2, nil)
		require.NoError(w, w.Server.Create("/x", nil))
		w.CyclesLeaveNothing(10_000, func(i int) {
			switch i % 5 {
			case 0: // contended
				h := w.lock(ma)
				out := make(chan *lock.Held, 1)
				// Waited for below; ends with the lock.
				go func() {
					next, err := mb.Lock(w.Ctx)
					if err != nil {
						w.Error(err)
					}
					out <- next
				}()
				synctest.Wait()
				w.unlock(h)
				w.unlock(<-out)
			case 1:
				h := w.lock(ma)
				_, err := mb.TryLock(w.Ctx)
				require.ErrorIs(w, err, lock.ErrBusy)
				w.unlock(h)
			case 2:
				require.NoError(w, w.acquire(sem, 1).Release(w.Ctx))
			default:
				w.unlock(w.lock(ma))
			}
		})
		require.Empty(w, w.Children(dir))
	})
}
