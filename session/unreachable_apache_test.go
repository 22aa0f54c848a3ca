package session

import (
	"context"
	"net"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// usedConn counts once, at its first byte: a connection that is only tried has none.
type usedConn struct {
	net.Conn

	once sync.Once
	used *atomic.Int64
}

func (c *usedConn) Write(p []byte) (int, error) {
	c.once.Do(func() { c.used.Add(1) })
	return c.Conn.Write(p)
}

// follower is a client that follows the ensemble and holds a znode.
type follower struct {
	*Client

	hold *Hold
	// How many attempts to connect began, and how many connections were used.
	dials, used atomic.Int64
}

func newFollower(ctx context.Context, t *testing.T, server string, dial func(ctx context.Context, network, address string) (net.Conn, error)) *follower {
	f := &follower{}
	c, err := Connect(ctx, server, &Options{
		FollowEnsemble: true,
		Dialer: func(ctx context.Context, network, address string) (net.Conn, error) {
			f.dials.Add(1)
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &usedConn{Conn: conn, used: &f.used}, nil
		},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	s, err := c.Session(ctx)
	require.NoError(t, err)
	node, err := s.Create(ctx, "/held-", nil, EphemeralSequential, nil)
	require.NoError(t, err)
	f.Client = c
	f.hold, err = s.Hold(ctx, node.Path, nil)
	require.NoError(t, err)
	return f
}

// uses requires that the client knows the members, is at a server of at, has used this number
// of connections, and still holds its znode.
func (f *follower) uses(t *testing.T, members, at []string, connections int64) {
	t.Helper()
	slices.Sort(members)
	ok := assert.Eventually(t, func() bool {
		state := f.State()
		return slices.Equal(f.Servers(), members) && state.Status == Connected && slices.Contains(at, state.Server)
	}, time.Minute, 10*time.Millisecond)
	require.True(t, ok, "%v of %v, not of %v at %v", f.State(), f.Servers(), members, at)
	require.NoError(t, f.hold.Context().Err())
	require.Equal(t, connections, f.used.Load())
}

// awaitTrials waits until the client has tried servers that it does not reach.
func (f *follower) awaitTrials(t *testing.T, servers ...string) {
	t.Helper()
	require.Eventually(t, func() bool {
		return !slices.ContainsFunc(servers, func(s string) bool { return !f.reach.isKnown(s) })
	}, time.Minute, 10*time.Millisecond)
}

// The clients do not reach some members of an ensemble: the packets to the leader and to a
// server that joins are lost, and another member does not run at first. Sessions leave their
// servers only for servers that they reach, and stay at a server that was removed while they
// reach no other. All sessions hold their znodes until the end.
func TestSessionsStayWhileApacheMembersCannotBeReached(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	cluster := apache.Require(t, &apache.Options{
		Servers: 5, Mode: apache.Jars, Spare: 2, Cuts: true, TickTime: 500 * time.Millisecond, Heap: 64,
	})
	leader, err := cluster.Leader(ctx)
	require.NoError(t, err)
	first, second, silent, absent := (leader+1)%3, (leader+2)%3, 3, 4
	of := func(indices ...int) (out []string) {
		for _, i := range indices {
			out = append(out, cluster.Servers()[i])
		}
		return out
	}
	cut := func(i int) { require.NoError(t, cluster.CutClient(ctx, 0, i, apache.Both)) }
	cut(leader)
	var here, there []*follower // at the first server, and the second
	for range 3 {
		here = append(here, newFollower(ctx, t, of(first)[0], cluster.Client(0).DialContext))
		there = append(there, newFollower(ctx, t, of(second)[0], cluster.Client(0).DialContext))
	}
	all := slices.Concat(here, there)
	for _, f := range all {
		f.uses(t, of(0, 1, 2), of(first, second), 1)
	}

	cut(silent)
	require.NoError(t, cluster.Launch(ctx, silent))
	require.NoError(t, cluster.Await(ctx, silent))
	reconfigure(t, cluster, leader, []string{cluster.Member(silent), cluster.Member(absent)})
	for _, f := range all {
		f.awaitTrials(t, of(silent, absent)...)
		f.uses(t, of(0, 1, 2, silent, absent), of(first, second), 1)
	}

	reconfigure(t, cluster, leader, nil, id(first))
	for _, f := range here {
		f.uses(t, of(leader, second, silent, absent), of(second), 2)
	}
	for _, f := range there {
		f.uses(t, of(leader, second, silent, absent), of(second), 1)
	}

	cut(absent)
	require.NoError(t, cluster.Launch(ctx, absent))
	require.NoError(t, cluster.Await(ctx, absent))
	var before []int64
	for _, f := range all {
		before = append(before, f.dials.Load())
	}
	reconfigure(t, cluster, leader, nil, id(second))
	for i, f := range all {
		require.Eventually(t, func() bool { return f.dials.Load() >= before[i]+6 }, time.Minute, 10*time.Millisecond, "all three, twice")
		f.uses(t, of(leader, silent, absent), of(second), int64(2-i/len(here)))
	}

	require.NoError(t, cluster.Heal(ctx))
	for i, f := range all {
		f.uses(t, of(leader, silent, absent), of(leader, silent, absent), int64(3-i/len(here)))
		f.hold.End(nil)
	}
}

// id is the number of a server in a dynamic configuration.
func id(server int) string { return strconv.Itoa(server + 1) }
