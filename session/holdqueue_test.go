package session

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// visited is the number of holds inspected by a lease renewer while n holds of
// one session end, the last hold first.
func visited(t *testing.T, n int) (visits int) {
	inWorld(t, nil, nil, func(w *world) {
		w.createHeld(w.s, "/held")
		synctest.Wait() // until its heartbeat was sent
		k, holds := w.s.renewer, make([]*Hold, n)
		for i := range holds {
			holds[i] = &Hold{s: w.s, path: "/held"}
			require.True(w, k.addHold(holds[i], false))
		}
		synctest.Wait() // until no heartbeat is due, and no time passes below
		count := func() (visits, left int) {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.holds.visits, k.holds.len()
		}
		before, _ := count()
		for _, h := range slices.Backward(holds) {
			h.End(nil)
		}
		after, left := count()
		visits = after - before
		require.Equal(w, 1, left)
	})
	return visits
}

func TestReleasingHoldsOfOneSessionTakesConstantTimeEach(t *testing.T) {
	const n = 500
	few := visited(t, n)
	require.Positive(t, few)
	require.Equal(t, 4*few, visited(t, 4*n))
}

// A hold that ends must not cost another hold its turn.
func TestHoldsAreCheckedInTurnThoughOthersLeave(t *testing.T) {
	inWorld(t, nil, nil, func(w *world) {
		w.createHeld(w.s, "/held")
		synctest.Wait() // until its heartbeat was sent
		k := w.s.renewer
		for range 2*checksPerHeartbeat - 1 {
			require.True(w, k.addHold(&Hold{s: w.s, path: "/held"}, true))
		}
		synctest.Wait() // until no heartbeat is due, and no time passes below
		choose := func() []*Hold {
			k.mu.Lock()
			defer k.mu.Unlock()
			return k.chooseCheckedLocked()
		}
		first := choose()
		require.Len(w, first, checksPerHeartbeat)
		for _, h := range first[:10] {
			h.End(nil)
		}
		second := choose()
		require.Len(w, second, checksPerHeartbeat)
		for _, h := range second {
			require.NotContains(w, first, h, "others have waited longer")
		}
	})
}

// A heartbeat inspects the holds that it checks, and holds still to be watched,
// but no watched holds.
func TestHeartbeatDoesNotLookAtHoldsThatAreWatched(t *testing.T) {
	looked := func(n int) (visits int) {
		inWorld(t, nil, nil, func(w *world) {
			w.createHeld(w.s, "/held")
			k := w.s.renewer
			holds := make([]*Hold, n)
			for i := range holds {
				holds[i] = &Hold{s: w.s, path: "/held"}
				require.True(w, k.addHold(holds[i], i%2 == 0))
			}
			count := func() int {
				k.mu.Lock()
				defer k.mu.Unlock()
				return k.holds.visits
			}
			// All are watched by then, and no heartbeat is due.
			w.sleep(time.Duration(2+n/watchesPerHeartbeat)*w.s.Heartbeat() + w.s.Heartbeat()/2)
			synctest.Wait()
			before := count()
			k.watchUnchecked()
			require.Equal(w, before, count(), "none is left")
			k.markUnwatched(holds[n/2])
			k.markUnwatched(holds[n/2])
			k.watchUnchecked()
			require.Equal(w, before+1, count())
			w.sleep(w.s.Heartbeat())
			visits = count() - before
			for _, h := range holds {
				h.End(nil)
			}
			k.markUnwatched(holds[0])
			before = count()
			k.watchUnchecked()
			require.Equal(w, before, count(), "ended holds are not watched any more")
		})
		return visits
	}
	few := looked(2 * checksPerHeartbeat)
	require.Positive(t, few)
	require.Equal(t, few, looked(3000))
}
