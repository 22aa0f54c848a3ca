package rwlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Eight clients take turns, of which each tenth is a writer's, where nothing but messages takes
// time. A lock that listed nothing, and knew at each moment which znodes there are, would let
// them take 1,885 turns per second; with a writer that watches only the last two readers it was
// 1,370.
func TestTurnsTakeFewMessagesAfterEachOther(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const way, clients, seconds = 785 * time.Microsecond, 8, 10
		var turns []func(n int)
		for i := range clients {
			m := w.new()
			turns = append(turns, func(n int) {
				take := m.RLock
				if (i+n)%10 == 0 {
					take = m.Lock
				}
				w.unlock(w.get(take))
			})
			turns[i](1)
		}
		w.Server.Delay(zktest.Link{}, zktest.Both, way)
		end := time.Now().Add(seconds * time.Second)
		taken := make(chan int, clients)
		for _, turn := range turns {
			// Waited for below; ends at the end.
			go func() {
				n := 0
				for ; time.Now().Before(end); n++ {
					turn(n)
				}
				taken <- n
			}()
		}
		all := 0
		for range clients {
			all += <-taken
		}
		require.Greater(w, all/seconds, 1500)
	})
}
