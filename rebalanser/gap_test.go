package rebalanser_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// gap is the longest time without an owner among n resources, from the
// beginning of f until all have owners again.
func (w *World) gap(n int, f func()) (longest time.Duration) {
	w.Helper()
	since := map[string]time.Time{}
	began := time.Now()
	f()
	for quiet := time.Now(); time.Since(quiet) < 5*time.Second; {
		require.Less(w, time.Since(began), 10*time.Minute, "resources stay without an owner")
		for _, name := range names(n) {
			switch from, without := since[name], w.owner(name) == ""; {
			case without && from.IsZero():
				since[name] = time.Now()
			case !without && !from.IsZero():
				longest = max(longest, time.Since(from))
				delete(since, name)
			}
		}
		if len(since) > 0 || time.Since(began) < 30*time.Second {
			quiet = time.Now()
		}
		world.Pause(20 * time.Millisecond)
	}
	return longest
}

// Invariant 2: no resource is without an owner for longer than X, given some
// stability. X is, with T the session timeout and a tick of the servers by
// which they round it up: after a graceful leave, the time of the handlers and
// a few round trips; after a kill, T + tick; after a cut, less, because the
// member gives up by itself before T is over; plus Options.MinInterval, and
// DepartureDelay for static members. The bounds are the same for the
// coordinator.
func TestTimeWithoutOwnerIsBounded_R51(t *testing.T) {
	const tick = 2 * time.Second // of the test server
	for name, tc := range map[string]struct {
		do    func(w *World, n *node)
		limit time.Duration
	}{
		"leaves": {do: func(_ *World, n *node) { n.stopIt() }, limit: 100 * time.Millisecond},
		"killed": {do: func(w *World, n *node) {
			w.markDead(n.memberID)
			w.Server.BlackHole(zktest.Link{Client: n.memberID}, zktest.Both)
			n.stopIt() // without waiting for its end
		}, limit: session.DefaultTimeout + tick + time.Second},
		"cut off": {do: func(w *World, n *node) {
			w.Server.BlackHole(zktest.Link{Client: n.memberID}, zktest.Both)
		}, limit: session.DefaultTimeout/2 + tick + time.Second},
		"expired": {do: func(w *World, n *node) {
			w.excuse(n.memberID, time.Second)
			w.Expire(n.client)
		}, limit: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			inBoth(t, func(w *World) {
				w.stock(12)
				var c []*node
				for i := range 3 {
					c = append(c, w.node([]string{"c2", "c3", "c4"}[i], rebalanser.Options{}).run())
					w.Pass(time.Second)
				}
				w.shared(12, c...)
				for i, role := range []string{"a follower", "the coordinator"} {
					victim := c[2-2*i]
					longest := w.gap(12, func() { tc.do(w, victim) })
					t.Logf("%v, %s is %s: %v", w.mode, role, name, longest)
					require.LessOrEqual(w, longest, tc.limit, role)
					w.Server.Heal()
					w.Pass(30 * time.Second)
				}
			})
		})
	}
}
