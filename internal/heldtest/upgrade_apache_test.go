package heldtest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
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
// one. Whatever can be held stays held, locks are handed on, and tasks are done.
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
	turns := takeTurns(ctx, t, connect)
	queue := startQueue(ctx, t, connect)

	next, first := os.Getenv(apache.EnvNext), versionOf(ctx, t, cluster, 0)
	for round, home := range []string{next, ""} {
		if next != "" {
			require.NoError(t, cluster.UseRelease(ctx, home))
		}
		for _, server := range leaderLast(ctx, t, cluster) {
			before := turns.count.Load()
			require.NoError(t, cluster.Restart(ctx, server))
			for _, s := range all {
				require.NoError(t, s.context.Err(), "%T after server %d, round %d: %v", s.held, server, round, context.Cause(s.context))
				require.NoError(t, s.write(s.held.Guard()))
			}
			queue.doTask()
			require.Eventually(t, func() bool { return turns.count.Load() > before+10 }, time.Minute, 10*time.Millisecond)
			now := versionOf(ctx, t, cluster, server)
			require.Equal(t, next == "" || home == "", now == first, "%s, and then %s", first, now)
			t.Logf("server %d: %s; %d turns", server, now, turns.count.Load()-before)
		}
	}
	turns.stop()
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

// turnTaking is three clients that take one lock in turns.
type turnTaking struct {
	count   atomic.Int64
	holders atomic.Int32
	stop    func()
}

func takeTurns(ctx context.Context, t *testing.T, connect func(chroot string) *session.Client) *turnTaking {
	turning, cancel := context.WithCancel(ctx)
	turns := &turnTaking{}
	var clients sync.WaitGroup
	turns.stop = func() { cancel(); clients.Wait() }
	t.Cleanup(turns.stop)
	for range 3 {
		l := lock.New(connect(""), "/turns", nil)
		// Waited for by stop, which ends it.
		clients.Go(func() {
			for turning.Err() == nil {
				if err := turns.take(turning, l); err != nil && turning.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	return turns
}

func (turns *turnTaking) take(ctx context.Context, l *lock.Mutex) error {
	held, err := l.Lock(ctx)
	if err != nil {
		return err
	}
	if turns.holders.Add(1) != 1 {
		return errors.New("two hold the lock")
	}
	turns.count.Add(1)
	turns.holders.Add(-1)
	return held.Unlock(context.WithoutCancel(ctx))
}

// taskQueue is a queue with a master and a worker that do tasks all the time.
type taskQueue struct {
	*env
	queue *dispatch.Queue
	n     int
}

func startQueue(ctx context.Context, t *testing.T, connect func(chroot string) *session.Client) *taskQueue {
	q := &taskQueue{env: newEnvBelow(t, ctx, connect, "/tasks-"+session.NewID())}
	q.beside(dispatch.NewMaster(q.client, "/queue", nil).Run)
	q.beside(dispatch.NewWorker(q.connect(), "/queue", func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		return []byte("done " + a.ID), nil
	}, nil).Run)
	q.queue = dispatch.New(q.admin, "/queue", nil)
	return q
}

// doTask requires that one more task is done.
func (q *taskQueue) doTask() {
	q.Helper()
	q.n++
	id := fmt.Sprintf("task-%d", q.n)
	_, err := q.queue.Submit(q.ctx, dispatch.Task{ID: id})
	require.NoError(q, err)
	result, err := q.queue.Collect(q.ctx, id)
	require.NoError(q, err)
	require.Equal(q, "done "+id, string(result.Output))
}
