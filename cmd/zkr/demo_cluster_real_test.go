//go:build unix

package main

import (
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/cluster"
)

// TestClusterSurvivesTwoLeadersInARow: both are killed at once, and a node is added
// while no node leads. The page answers all the time.
func TestClusterSurvivesTwoLeadersInARow(t *testing.T) {
	t.Parallel()
	c := startCluster(t, nil, append(calm, "--nodes", "3")...)
	token := c.token()
	c.settled(3)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n1/kill"))
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/n2/kill"))
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes"))
	v := c.sees(func(v clusterView) bool { return v.Problem != "" && rowOf(v, "n4").Role == cluster.Worker }, "n4, and no leader")
	for _, r := range v.Rows {
		assert.NotEqual(t, "good", r.Kind().Class, "%s is not shown as leader", r.Name)
	}
	v = c.sees(func(v clusterView) bool { return v.Problem == "" && v.Summary.Leader == "n3" && v.Settled(2) }, "n3 and n4")
	assert.Equal(t, cluster.Kill, v.Failovers[0].Cause)
	counted := 0
	for _, f := range v.Failovers {
		if !f.OutOfTurn {
			counted++
		}
	}
	assert.Equal(t, counted, v.Times.N)
	for _, name := range []string{"n1", "n2"} {
		assert.Equal(t, "dead", rowOf(v, name).Kind().Text)
		require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/"+name+"/start"))
	}
	v = c.settled(4)
	assert.Equal(t, []string{"n3", "n4"}, []string{v.Rows[0].Name, v.Rows[1].Name}, "the restarted node is last")
}

// TestClusterOnAnEnsemble: of three servers, through a proxy to each server. A
// server goes, and no node loses its session; a cut is a cut from all servers.
func TestClusterOnAnEnsemble(t *testing.T) {
	b := newBedOf(t, 3)
	c := startCluster(t, nil, "--servers", b.srv.Addr(), "--nodes", "3", "--session-timeout", "15s")
	first := c.settled(3)
	require.NoError(t, b.srv.Stop(b.follower()))
	again := c.settled(3)
	assert.Equal(t, first.Summary.Token, again.Summary.Token)
	for i, r := range again.Rows {
		assert.Equal(t, first.Rows[i].Session, r.Session, "the node has moved, and was not restarted")
	}
	leader := again.Summary.Leader
	require.Equal(t, http.StatusAccepted, c.order(c.token(), "/nodes/"+leader+"/cut"))
	gap, ok := c.failover(leader, cluster.Cut).Gap()
	assert.True(t, ok)
	assert.Positive(t, gap)
}

// failover waits for the failover from a leader after an order; after a cut
// also for the former leader's own report.
func (c *startedCluster) failover(from string, what cluster.Order) (f cluster.Failover) {
	c.t.Helper()
	c.sees(func(v clusterView) bool {
		for _, f = range v.Failovers {
			if f.From == from && f.Cause == what && (what != cluster.Cut || !f.Stopped.IsZero()) {
				return true
			}
		}
		return false
	}, "another leader after "+string(what)+" of "+from)
	return f
}

// clusterOnApache: a real server, and no requests beyond its limits. The
// present leader resigns, is killed, and is cut off: on a busy machine sessions
// may get lost besides, so that another node leads.
func clusterOnApache(r *real) {
	t := r.T
	first := startCluster(t, nil, "--servers", r.servers, "--chroot", "/first", "--nodes", "1")
	granted := first.sees(func(v clusterView) bool { return len(v.Rows) == 1 && v.Rows[0].Timeout > 0 }, "a session")
	assert.EqualValues(t, 2*apacheTick/time.Millisecond, granted.Rows[0].Timeout, "one of a second was refused")
	first.signal(syscall.SIGTERM)
	first.ends(0)

	const timeout = 8 * time.Second
	c := startCluster(t, nil, "--servers", r.servers, "--nodes", "3", "--session-timeout", timeout.String())
	token := c.token()
	disturb := func(what cluster.Order, least time.Duration) (string, cluster.Failover) {
		t.Helper()
		var leader string
		eventually(t, func() bool {
			leader = c.settled(3).Summary.Leader
			return c.order(token, "/nodes/"+leader+"/"+string(what)) == http.StatusAccepted
		}, "%s of the leader", what)
		f := c.failover(leader, what)
		assert.GreaterOrEqual(t, time.Duration(f.Took*float64(time.Millisecond)), least, what)
		return leader, f
	}
	disturb(cluster.Resign, 0)
	killed, _ := disturb(cluster.Kill, timeout/4)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/"+killed+"/start"))
	cut, f := disturb(cluster.Cut, timeout/4)
	gap, ok := f.Gap()
	assert.True(t, ok)
	assert.Positive(t, gap)
	require.Equal(t, http.StatusAccepted, c.order(token, "/nodes/"+cut+"/heal"))
	kills := slices.DeleteFunc(c.settled(3).Failovers, func(f cluster.Failover) bool { return f.Cause != cluster.Kill || f.OutOfTurn })
	assert.Equal(t, len(kills), c.view().Times.N, "one kill, if the next one was in turn")
}
