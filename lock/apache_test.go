package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// TestStressOnApache is the stress test in real time, on a server that is
// killed, paused and restarted.
func TestStressOnApache(t *testing.T) {
	const trouble, whole = 9 * time.Second, 14 * time.Second
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	for name, sem := range map[string]bool{"mutex": false, "semaphore": true} {
		t.Run(name, func(t *testing.T) {
			path := "/stress/" + name
			s := &stress{forced: map[int64]time.Time{}, maxHold: 300 * time.Millisecond, permits: 2}
			for i := range 4 {
				c := connectApache(t, cluster, session.Options{Timeout: 2 * time.Second})
				if i == 0 {
					first, err := c.Session(t.Context())
					require.NoError(t, err)
					require.NoError(t, first.EnsurePath(t.Context(), guarded, session.Persistent, nil))
				}
				s.clients = append(s.clients, c)
				s.mutexes = append(s.mutexes, lock.New(c, path, nil))
				if sem {
					s.semas = append(s.semas, lock.NewSemaphore(c, path, s.permits, nil))
				}
			}
			ctx, cancel := context.WithTimeout(t.Context(), whole)
			defer cancel()
			calm := time.Now().Add(trouble)
			var all sync.WaitGroup
			for i := range s.clients {
				for range 2 {
					own := rand.New(rand.NewPCG(uint64(i), 2))
					// Waited for below; ends with ctx.
					all.Go(func() { s.work(ctx, i, own) })
				}
			}
			kinds := rand.New(rand.NewPCG(uint64(len(name)), 3))
			for time.Now().Before(calm) {
				rest(ctx, time.Duration(kinds.Int64N(int64(time.Second))))
				pause := time.Duration(kinds.Int64N(int64(3 * time.Second)))
				switch kinds.IntN(3) {
				case 0:
					require.NoError(t, cluster.Pause(t.Context(), 0))
					rest(ctx, pause)
					require.NoError(t, cluster.Resume(t.Context(), 0))
				case 1:
					require.NoError(t, cluster.Kill(t.Context(), 0))
					rest(ctx, pause/3)
					require.NoError(t, cluster.Launch(t.Context(), 0))
				case 2:
					require.NoError(t, cluster.Restart(t.Context(), 0))
				}
			}
			require.NoError(t, cluster.Await(t.Context()))
			all.Wait()
			require.NoError(t, s.check())
			t.Logf("%d holds, %d guarded writes", len(s.holds), len(s.wrote))
			require.NotEmpty(t, s.holds)
			// Everybody gets in, and nothing is left.
			for _, c := range s.clients {
				over, stop := context.WithTimeout(t.Context(), 20*time.Second)
				h, err := lock.New(c, "/stress/mutex", nil).Lock(over)
				require.NoError(t, err)
				require.NoError(t, h.Unlock(over))
				stop()
			}
			left, err := s.clients[0].Session(t.Context())
			require.NoError(t, err)
			require.Eventually(t, func() bool {
				names, _, err := left.Children(t.Context(), path)
				return err == nil && len(names) == 0 || errors.Is(err, session.ErrNoNode)
			}, 10*time.Second, 50*time.Millisecond, "orphans")
		})
	}
}

func connectApache(t *testing.T, cluster *apache.Cluster, o session.Options) *session.Client {
	c, err := session.Connect(t.Context(), cluster.Connect(), &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	return c
}

// TestSharedWithGoZookeepersLock has this lock and zk.Lock contend for one
// path: at most one holds it, everybody gets it, and both in their turn.
func TestSharedWithGoZookeepersLock(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	const path, rounds = "/shared/zklock", 40
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var mu sync.Mutex
	inside, order := "", []string{}
	enter := func(who string) {
		mu.Lock()
		defer mu.Unlock()
		if inside != "" {
			t.Errorf("%s gets in while %s is inside", who, inside)
		}
		inside, order = who, append(order, who)
	}
	leave := func() { mu.Lock(); inside = ""; mu.Unlock() }

	var all sync.WaitGroup
	for i := range 3 {
		m := lock.New(connectApache(t, cluster, session.Options{Timeout: 5 * time.Second}), path, nil)
		// Waited for below; ends after its rounds.
		all.Go(func() {
			for range rounds {
				h, err := m.Lock(ctx)
				if err != nil {
					t.Error(err)
					return
				}
				enter(fmt.Sprintf("lock %d", i))
				leave()
				if err := h.Unlock(ctx); err != nil {
					t.Error(err)
				}
			}
		})
		conn, _, err := zk.Connect(strings.Split(cluster.Connect(), ","), 5*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
		require.NoError(t, err)
		t.Cleanup(conn.Close)
		// Waited for below; ends after its rounds.
		all.Go(func() {
			for range rounds {
				l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
				if err := l.Lock(); err != nil {
					t.Error(err)
					return
				}
				enter(fmt.Sprintf("zk.Lock %d", i))
				leave()
				if err := l.Unlock(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	require.Len(t, order, 6*rounds)
	changes := 0
	for i := 1; i < len(order); i++ {
		if order[i] != order[i-1] {
			changes++
		}
	}
	require.Greater(t, changes, 2*rounds, "they take turns")
}
