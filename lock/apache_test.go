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
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// TestStressOnApache is the stress test of a lock and a semaphore in real time, on
// a server that is killed, paused and restarted.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	const mutexes, semas = "/stress/mutex", "/stress/semaphore"
	of := func(path string, permits int) *stress {
		return &stress{maxHold: 300 * time.Millisecond, permits: permits, real: true}
	}
	a, b := of(mutexes, 1), of(semas, 2)
	for range 4 {
		c := world.Connect(t, cluster.Connect(), session.Options{Timeout: 2 * time.Second})
		a.clients, b.clients = append(a.clients, c), append(b.clients, c)
		a.mutexes = append(a.mutexes, lock.New(c, mutexes, nil))
		b.semas = append(b.semas, lock.NewSemaphore(c, semas, b.permits, nil))
	}
	calm := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second})
	own, err := calm.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, own.EnsurePath(t.Context(), world.Guarded, session.Persistent, nil))

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for n := range 4 * len(a.clients) {
		group, i := []*stress{a, b}[n%2], n/4
		r := rand.New(rand.NewPCG(uint64(n), 2))
		// Waited for below; ends with ctx.
		all.Go(func() { group.runWorker(ctx, i, r) })
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(5, 3)), 4, func() int { return min(len(a.Holds()), len(b.Holds())) })
	cancel()
	all.Wait()
	for _, s := range []*stress{a, b} {
		require.NoError(t, s.checkHistory())
		t.Logf("%d holds, %d guarded writes", len(s.Holds()), len(s.Wrote()))
	}
	// Every client gets the lock, and no znode is left.
	over, stop := context.WithTimeout(t.Context(), 2*world.Patience)
	defer stop()
	for i := range a.clients {
		require.NoError(t, world.RetryLost(over, func() error {
			h, err := a.mutexes[i].Lock(over)
			if err != nil {
				return err
			}
			return h.Unlock(over)
		}))
		require.NoError(t, world.RetryLost(over, func() error {
			p, err := b.semas[i].Acquire(over, b.permits)
			if err != nil {
				return err
			}
			return p.Release(over)
		}))
	}
	for _, path := range []string{mutexes, semas} {
		require.Eventually(t, func() bool {
			names, _, err := own.Children(t.Context(), path)
			return err == nil && len(names) == 0 || errors.Is(err, session.ErrNoNode)
		}, world.Patience, 50*time.Millisecond, "orphans in %s", path)
	}
}

// TestSharedWithGoZookeepersLock lets this lock and zk.Lock contend for one path:
// at most one client holds the path, every client gets it, and both kinds take
// turns.
func TestSharedWithGoZookeepersLock(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	const path, rounds, timeout = "/shared/zklock", 20, 30 * time.Second
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var mu sync.Mutex
	inside, order := "", []string{}
	enter := func(contender string) {
		mu.Lock()
		defer mu.Unlock()
		if inside != "" {
			t.Errorf("%s gets in while %s is inside", contender, inside)
		}
		inside, order = contender, append(order, contender)
	}
	leave := func() { mu.Lock(); inside = ""; mu.Unlock() }

	var all sync.WaitGroup
	for i := range 3 {
		m := lock.New(world.Connect(t, cluster.Connect(), session.Options{Timeout: timeout}), path, nil)
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
		conn, _, err := zk.Connect(strings.Split(cluster.Connect(), ","), timeout, zk.WithLogger(silent{}), zk.WithLogInfo(false))
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

// Places of several clients are granted in their order, also those that are awaited late, and
// a place that is withdrawn holds no other one up.
func TestPlacesOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 2*world.Patience)
	defer cancel()
	const n = 6
	var places []*lock.Place
	for i := range n {
		c := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second})
		p, err := lock.New(c, "/places/a", nil).Enqueue(ctx)
		require.NoError(t, err)
		ahead, err := p.Ahead(ctx)
		require.NoError(t, err)
		require.Equal(t, i, ahead)
		places = append(places, p)
	}
	require.NoError(t, places[3].Withdraw(ctx))
	last := int64(0)
	for i, p := range places {
		held, err := p.Await(ctx)
		if i == 3 {
			require.ErrorIs(t, err, lock.ErrWithdrawn)
			continue
		}
		require.NoError(t, err)
		require.Greater(t, held.Token(), last)
		last = held.Token()
		require.NoError(t, p.Withdraw(ctx))
	}
}
