package session

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The deletion of any of many znodes held in one session is reported as soon as
// the znode is watched: the last of n znodes is watched from heartbeat number 1
// + n/watchesPerHeartbeat on.
func TestDeletionOfOneOfManyHeldNodesIsTold(t *testing.T) {
	for _, n := range []int{100, 500, 3000} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inWorld(t, nil, nil, func(w *world) {
				holds := make([]*Hold, n)
				for i := range holds {
					holds[i] = w.createHeld(w.s, fmt.Sprintf("/h%04d", i))
				}
				bound := time.Duration(2+n/watchesPerHeartbeat) * w.s.Heartbeat()
				worst := time.Duration(0)
				for _, i := range []int{n - 1, 0, n / 2, n / 3} {
					began := time.Now()
					require.NoError(w, w.srv.Delete(holds[i].Path()))
					<-holds[i].Context().Done()
					require.ErrorIs(w, holds[i].Err(), ErrNodeDeleted)
					worst = max(worst, time.Since(began))
				}
				require.LessOrEqual(w, worst, bound)
				t.Logf("%d holds: told after %v at most, period %v", n, worst, w.s.Heartbeat())
			})
		})
	}
}
