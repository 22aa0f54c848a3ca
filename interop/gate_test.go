//go:build unix

package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
)

// TestGateIsShared: DistributedBarrier, Kazoo's Barrier and ours on one path. No matter
// which peer closes the gate, and which opens it, all waiting peers pass, and none
// before.
func TestGateIsShared(t *testing.T) {
	t.Parallel()
	peers := []*peer{start(t, curator, timeout), start(t, ours, timeout), start(t, kazoo, timeout)}
	c, path := connect(t), fresh("gate")
	gate := barrier.NewGate(c, path, nil)
	for round := range 9 {
		closer, opener := peers[round%3], peers[round/3]
		closer.do(t, ask{"do": "gate.set", "path": path})
		closed, err := gate.Closed(t.Context())
		require.NoError(t, err)
		require.True(t, closed)
		var waiting []*call
		for _, p := range peers {
			waiting = append(waiting, p.sendRequest(ask{"do": "gate.wait", "path": path}))
		}
		watched(t, path, func(sessions []int64) bool { return len(sessions) == len(peers) })
		for _, w := range waiting {
			require.True(t, w.pending(), "%s has passed a closed gate", w.p.kind)
		}
		opener.do(t, ask{"do": "gate.remove", "path": path})
		for _, w := range waiting {
			w.requireAnswer(t)
		}
	}
}

// TestGateOfOneThatWasKilledStaysClosed, and others can open it.
func TestGateOfOneThatWasKilledStaysClosed(t *testing.T) {
	t.Parallel()
	java, c, path := start(t, curator, brief), connect(t), fresh("gate")
	gate := barrier.NewGate(c, path, nil)
	// Something that goes with the session tells when that has ended.
	java.do(t, ask{"do": "hold", "recipe": "mutex", "path": path + "-lock", "as": "a"})
	java.do(t, ask{"do": "gate.set", "path": path})
	require.NoError(t, gate.Set(t.Context()), "closed already, and that is no error")
	java.kill(t)
	queued(t, c, path+"-lock", 0)
	closed, err := gate.Closed(t.Context())
	require.NoError(t, err)
	require.True(t, closed)
	require.NoError(t, gate.Remove(t.Context()))
	require.NoError(t, gate.Wait(t.Context()))
}
