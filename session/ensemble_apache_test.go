package session

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// reconfigure asks a server of a real ensemble to let servers join and leave. The
// reconfiguration may cost the connection that it was asked for on, if the leader goes.
func reconfigure(t *testing.T, cluster *apache.Cluster, server int, joining []string, leaving ...string) {
	t.Helper()
	conn, _, err := zk.Connect(cluster.Servers()[server:server+1], 10*time.Second, zk.WithLogInfo(false), zk.WithLogger(quiet{}))
	require.NoError(t, err)
	defer conn.Close()
	require.Eventually(t, func() bool {
		_, err = conn.IncrementalReconfig(joining, leaving, -1)
		return !errors.Is(err, zk.ErrConnectionClosed)
	}, time.Minute, 10*time.Millisecond)
	require.NoError(t, err)
}

// An ensemble of three servers grows to five and shrinks again to three others, in which the
// session's first server is not; what is held stays held all the time.
func TestSessionsFollowAnApacheEnsembleThatGrowsAndShrinks(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cluster := apache.Require(t, &apache.Options{Servers: 5, Mode: apache.Jars, Spare: 2, TickTime: 500 * time.Millisecond, Heap: 64})
	const n = 20
	var clients []*Client
	var holds []*Hold
	for i := range n {
		c, err := Connect(ctx, cluster.Servers()[i%3], &Options{FollowEnsemble: true})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		s, err := c.Session(ctx)
		require.NoError(t, err)
		node, err := s.Create(ctx, "/held-", nil, EphemeralSequential, nil)
		require.NoError(t, err)
		hold, err := s.Hold(ctx, node.Path, nil)
		require.NoError(t, err)
		clients, holds = append(clients, c), append(holds, hold)
	}
	all := func(which string, ok func(c *Client) bool) {
		t.Helper()
		late := func(c *Client) bool { return !ok(c) }
		if assert.Eventually(t, func() bool { return !slices.ContainsFunc(clients, late) }, time.Minute, 10*time.Millisecond, which) {
			return
		}
		for i, c := range clients {
			if late(c) {
				s, err := c.Session(ctx)
				t.Logf("client %d: %v of %v; %v; %v", i, c.State(), c.Servers(), s.servers.ensemble(), err)
			}
		}
		t.FailNow()
	}
	uses := func(indices ...int) func(*Client) bool {
		var want []string
		for _, i := range indices {
			want = append(want, cluster.Servers()[i])
		}
		slices.Sort(want)
		return func(c *Client) bool {
			state := c.State()
			return slices.Equal(c.Servers(), want) && state.Status == Connected && slices.Contains(want, state.Server)
		}
	}
	all("use the first three", uses(0, 1, 2))

	for _, i := range []int{3, 4} {
		require.NoError(t, cluster.Launch(ctx, i))
	}
	require.NoError(t, cluster.Await(ctx, 3, 4)) // they follow, and have no vote
	reconfigure(t, cluster, 0, []string{cluster.Member(3), cluster.Member(4)})
	all("use all five", uses(0, 1, 2, 3, 4))
	moved := 0
	require.Eventually(t, func() bool {
		moved = 0
		for _, c := range clients {
			if slices.Contains(cluster.Servers()[3:], c.State().Server) {
				moved++
			}
		}
		return moved > 0 && moved < n // but for a chance of 1 in 20,000
	}, time.Minute, 10*time.Millisecond, "some on the servers that were added, and some on those that were there")

	reconfigure(t, cluster, 0, nil, "2", "3")
	all("use the other three", uses(0, 3, 4))
	for _, i := range []int{1, 2} {
		require.NoError(t, cluster.Kill(ctx, i))
	}
	for _, c := range clients {
		s, err := c.Session(ctx)
		require.NoError(t, err)
		require.NoError(t, s.Sync(ctx, "/"))
	}
	for i, hold := range holds {
		require.NoError(t, hold.Context().Err(), "client %d", i)
		hold.End(nil)
	}
	t.Logf("%d of %d clients moved to the two servers that were added", moved, n)
}
