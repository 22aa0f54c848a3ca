package heldtest

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// TestTransactionsReachServersOfTwoVersionsOnApache compares the servers of an ensemble after
// transactions with operations of all kinds: with a follower of the next release, with the next
// release everywhere, and with a follower of the former release. Without ZKTEST_NEXT_HOME all are
// the same.
func TestTransactionsReachServersOfTwoVersionsOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Servers: 3, Own: true, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	next := os.Getenv(apache.EnvNext)
	follower := leaderLast(ctx, t, cluster)[0]
	for _, step := range []struct {
		home    string
		servers func() []int
	}{
		{next, func() []int { return []int{follower} }},
		{next, func() []int { return leaderLast(ctx, t, cluster) }},
		{"", func() []int { return leaderLast(ctx, t, cluster)[:1] }},
	} {
		if next != "" {
			require.NoError(t, cluster.UseRelease(ctx, step.home))
		}
		for _, server := range step.servers() {
			require.NoError(t, cluster.Restart(ctx, server))
		}
		for i := range cluster.Servers() {
			t.Logf("server %d: %s", i, versionOf(ctx, t, cluster, i))
		}
		transactionsReachAll(ctx, t, cluster)
	}
}

// transactionsReachAll carries transactions out on each server, and compares all servers.
func transactionsReachAll(ctx context.Context, t *testing.T, cluster *apache.Cluster) {
	t.Helper()
	var all []*session.Session
	for _, server := range cluster.Servers() {
		s, err := world.Connect(t, server, session.Options{}).Session(ctx)
		require.NoError(t, err)
		all = append(all, s)
	}
	for at, s := range all {
		root := "/" + session.NewID()
		_, err := s.Create(ctx, root, nil, session.Persistent, nil)
		require.NoError(t, err)
		_, err = s.Create(ctx, root+"/old", nil, session.Persistent, nil)
		require.NoError(t, err)
		for name, ops := range map[string][]session.Op{
			"persistent": {session.CreateOp(root+"/persistent", nil, session.Persistent, nil)},
			"ephemeral":  {session.CreateOp(root+"/ephemeral", nil, session.Ephemeral, nil)},
			"sequential": {session.CreateOp(root+"/sequential-", nil, session.PersistentSequential, nil)},
			"container":  {session.CreateOp(root+"/container", nil, session.Container, nil)},
			"ttl":        {session.CreateOp(root+"/ttl", nil, session.PersistentTTL, &session.CreateOptions{TTL: time.Hour})},
			"checked":    {session.CheckOp(root, -1)},
			"deleted":    {session.DeleteOp(root+"/old", -1)},
		} {
			_, err := s.Txn(ctx, append(ops, session.SetOp(root, []byte(name), -1))...)
			require.NoError(t, err, name)
			want, stat, err := s.Get(ctx, root)
			require.NoError(t, err)
			for i, other := range all {
				require.NoError(t, other.Sync(ctx, root))
				got, its, err := other.Get(ctx, root)
				require.NoError(t, err)
				require.Equal(t, string(want), string(got), "server %d, after a transaction at server %d: %s", i, at, name)
				require.Equal(t, stat, its, "server %d, after a transaction at server %d: %s", i, at, name)
			}
		}
	}
}
