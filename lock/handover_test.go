package lock_test

import (
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// In a queue of eight, each holding for a few round trips, the next one has the
// lock as soon as it can hear of the release: one way to the server and one
// back. All that it must know it has asked while it waited.
func TestHandoverBetweenProcessesTakesOneWayOutAndOneBack(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		const n, rounds, oneWay, holdFor = 8, 20, time.Millisecond, 10 * time.Millisecond
		var mu sync.Mutex
		var released time.Time
		var took []time.Duration
		var all sync.WaitGroup
		var locks []*lock.Mutex
		for range n {
			locks = append(locks, lock.New(w.client(), dir, nil))
			w.unlock(w.lock(locks[len(locks)-1]))
		}
		w.srv.Delay(zktest.Link{}, zktest.Both, oneWay)
		for _, m := range locks {
			// Waited for below; ends after its rounds.
			all.Go(func() {
				for range rounds {
					h, err := m.Lock(w.ctx)
					if err != nil {
						w.Error(err)
						return
					}
					mu.Lock()
					if !released.IsZero() {
						took = append(took, time.Since(released))
					}
					mu.Unlock()
					rest(w.ctx, holdFor)
					mu.Lock()
					released = time.Now()
					mu.Unlock()
					if err := h.Unlock(w.ctx); err != nil {
						w.Error(err)
					}
				}
			})
		}
		all.Wait()
		w.srv.Heal()
		slow := 0
		for _, d := range took {
			if d > 2*oneWay {
				slow++
			}
		}
		w.Logf("%d of %d handovers took more than %v", slow, len(took), 2*oneWay)
		// The beginning, when the queue forms, and the end.
		require.LessOrEqual(w, slow, n)
	})
}
