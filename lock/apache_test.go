package lock_test

import (
	"context"
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
	const mutexes, semas = "/stress/mutex", "/stress/semaphore"
	a := &stress{permits: 1, Stress: &world.Stress{Excused: []error{lock.ErrBusy}}}
	bed := world.NewRealStress(t, a.Stress)
	b := &stress{permits: 2, Stress: &world.Stress{Clients: a.Clients, MaxHold: a.MaxHold, Real: true, Excused: a.Excused}}
	for _, c := range a.Clients {
		a.mutexes = append(a.mutexes, lock.New(c, mutexes, nil))
		b.semas = append(b.semas, lock.NewSemaphore(c, semas, b.permits, nil))
	}
	var workers []func(context.Context)
	for n := range 4 * len(a.Clients) {
		group, i := []*stress{a, b}[n%2], n/4
		r := rand.New(rand.NewPCG(uint64(n), 2))
		workers = append(workers, func(ctx context.Context) { group.runWorker(ctx, i, r) })
	}
	bed.Run(5, 4, func() int { return min(len(a.Holds()), len(b.Holds())) }, workers...)
	for _, s := range []*stress{a, b} {
		require.NoError(t, s.checkHistory())
		t.Logf("%d holds, %d guarded writes", len(s.Holds()), len(s.Wrote()))
	}
	bed.EachTakes(len(a.Clients), func(ctx context.Context, i int) error { return world.Cycle(ctx, a.mutexes[i].Lock) }, mutexes)
	bed.EachTakes(len(a.Clients), func(ctx context.Context, i int) error {
		return world.Cycle(ctx, func(ctx context.Context) (*lock.Permits, error) { return b.semas[i].Acquire(ctx, b.permits) })
	}, semas)
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
