package heldtest

import (
	"context"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// survivor is something that is held while the servers are replaced.
type survivor struct {
	*env
	kind    kind
	take    func() session.Held
	held    session.Held
	context context.Context
}

// TestNothingIsLostWhileServersAreReplacedOnApache kills the servers of an ensemble one by
// one and starts each again, the leader last, and then all of them once more. With
// ZKTEST_NEXT_HOME they come back with that release of ZooKeeper, and then with the former
// one. Whatever can be held stays held, locks are handed on, tasks are done, the workers of a
// job meet, and a group shares its resources evenly, each with one owner at a time.
func TestNothingIsLostWhileServersAreReplacedOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Servers: 3, Own: true, Heap: 128})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	connect := func(chroot string) *session.Client {
		return world.Connect(t, cluster.Connect()+chroot, session.Options{Timeout: 40 * time.Second})
	}
	var all []*survivor
	for name, k := range kinds() {
		chroot := "/held-" + session.NewID()
		s := &survivor{env: newEnvBelow(t, ctx, connect, chroot), kind: k}
		s.take = k.setup(s.env)
		s.held = s.taken(s.take)
		s.context = s.held.Context()
		t.Logf("%s: %s", chroot, name)
		all = append(all, s)
	}
	busy := newActivities(ctx, t)
	busy.takeTurns(connect)
	busy.doTasks(connect)
	job, group := busy.startJob(connect), startSharing(ctx, t, connect)

	next, first := os.Getenv(apache.EnvNext), versionOf(ctx, t, cluster, 0)
	for round, home := range []string{next, ""} {
		if next != "" {
			require.NoError(t, cluster.UseRelease(ctx, home))
		}
		for _, server := range leaderLast(ctx, t, cluster) {
			require.NoError(t, cluster.Restart(ctx, server))
			for _, s := range all {
				require.NoError(t, s.context.Err(), "%T after server %d, round %d: %v", s.held, server, round, context.Cause(s.context))
				require.NoError(t, s.write(s.held.Guard()))
			}
			group.change()
			busy.awaitMore()
			now := versionOf(ctx, t, cluster, server)
			require.Equal(t, next == "" || home == "", now == first, "%s, and then %s", first, now)
			t.Logf("server %d: %s; %v", server, now, busy)
		}
	}
	busy.stop()
	job.finish(ctx, t)
	for _, s := range all {
		token := s.held.Token()
		s.released(s.kind, s.held)
		require.Greater(t, s.taken(s.take).Token(), token)
	}
}

// newEnvBelow is newEnv below a chroot that does not exist yet.
func newEnvBelow(t *testing.T, ctx context.Context, connect func(chroot string) *session.Client, chroot string) *env {
	s, err := connect("").Session(ctx)
	require.NoError(t, err)
	require.NoError(t, s.EnsurePath(ctx, chroot, session.Persistent, nil))
	return newEnv(t, ctx, func() *session.Client { return connect(chroot) })
}

// leaderLast lists the servers in the order of an upgrade.
func leaderLast(ctx context.Context, t *testing.T, cluster *apache.Cluster) (order []int) {
	leader, err := cluster.Leader(ctx)
	require.NoError(t, err)
	for i := range cluster.Servers() {
		if i != leader {
			order = append(order, i)
		}
	}
	return append(order, leader)
}

// version finds the version and the date of a build in the report of a server.
var version = regexp.MustCompile(`(?m)^Zookeeper version: (.*)$`) // read only

func versionOf(ctx context.Context, t *testing.T, cluster *apache.Cluster, server int) string {
	report, err := cluster.FourLetter(ctx, server, "srvr")
	require.NoError(t, err)
	match := version.FindStringSubmatch(report)
	require.NotNil(t, match, report)
	return match[1]
}
