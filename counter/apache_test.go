package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The tests of this file run on a real server, which must behave as the test server.

// steady is the timeout of sessions that must survive.
const steady = 30 * time.Second

func connectApache(t *testing.T, cluster *apache.Cluster, timeout time.Duration) *session.Client {
	t.Helper()
	return world.Connect(t, cluster.Connect(), session.Options{Timeout: timeout})
}

// peer is a go-zookeeper connection: another user of the same znodes.
func peer(t *testing.T, cluster *apache.Cluster) *zk.Conn {
	t.Helper()
	conn, _, err := zk.Connect(strings.Split(cluster.Connect(), ","), steady, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	return conn
}

// CH40, N5 and the other properties of versions, markers and transactions on
// servers.
func TestPropertiesOnApache_CH40_N5(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, Versions: map[string]int32{"/end": -3, "/any": -1, "/top": math.MaxInt32}})
	client, other := connectApache(t, cluster, steady), peer(t, cluster)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	t.Run("versions wrap", func(t *testing.T) {
		c := counter.New(client, "/top", nil)
		for want := int64(1); want <= 3; want++ {
			got, err := c.Increment(ctx)
			require.NoError(t, err)
			require.Equal(t, want, got)
		}
		_, stat, err := other.Get("/top")
		require.NoError(t, err)
		require.Equal(t, int32(math.MinInt32+2), stat.Version)
	})
	t.Run("the version that means any is stepped over", func(t *testing.T) {
		c := counter.New(client, "/end", nil)
		for want := int64(1); want <= 4; want++ {
			got, err := c.Increment(ctx)
			require.NoError(t, err)
			require.Equal(t, want, got)
			_, stat, err := other.Get("/end")
			require.NoError(t, err)
			require.NotEqual(t, int32(-1), stat.Version)
		}
		_, err := counter.New(client, "/any", nil).Increment(ctx)
		require.ErrorIs(t, err, counter.ErrVersion)
		require.NoError(t, counter.New(client, "/any", nil).Set(ctx, 5))
	})
	t.Run("a counter in use is not another one", func(t *testing.T) {
		c := counter.New(client, "/aba", nil)
		_, err := c.Add(ctx, 10)
		require.NoError(t, err)
		_, stat, err := other.Get("/aba")
		require.NoError(t, err)
		require.ErrorIs(t, other.Delete("/aba", -1), zk.ErrNotEmpty)
		names, _, err := other.Children("/aba")
		require.NoError(t, err)
		require.Len(t, names, 1)
		require.NoError(t, other.Delete("/aba/"+names[0], -1))
		require.NoError(t, other.Delete("/aba", -1))
		_, err = other.Create("/aba", long(0), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		_, err = other.Set("/aba", long(500), -1)
		require.NoError(t, err)
		_, again, err := other.Get("/aba")
		require.NoError(t, err)
		require.Equal(t, stat.Version, again.Version)
		v, err := c.Increment(ctx)
		require.NoError(t, err)
		require.EqualValues(t, 501, v)
	})
	t.Run("what Curator writes is read, and the other way round", func(t *testing.T) {
		_, err := other.Create("/curator", []byte{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xfd, 0x1b}, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		v, err := counter.New(client, "/curator", nil).Decrement(ctx)
		require.NoError(t, err)
		require.EqualValues(t, -742, v)
		data, _, err := other.Get("/curator")
		require.NoError(t, err)
		require.Equal(t, long(-742), data)
	})
	t.Run("shared", func(t *testing.T) {
		c := counter.NewShared(client, "/shared", 3, nil)
		seen, err := c.Get(ctx)
		require.NoError(t, err)
		_, err = other.Set("/shared", []byte{0, 0, 0, 3}, -1)
		require.NoError(t, err)
		ok, err := c.TrySet(ctx, seen, 4)
		require.NoError(t, err)
		require.False(t, ok)
		for v, err := range c.Watch(ctx) {
			require.NoError(t, err)
			if v.Value == 9 {
				break
			}
			require.NoError(t, c.Set(ctx, 9))
		}
	})
}

// CL1, CL2: the stress test in real time, on a server that is killed, paused and
// restarted.
func TestStressOnApache_CL1_CL2(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	blows := 3
	if testing.Short() {
		blows = 1
	}
	var counters []*counter.Counter
	var sequences []*counter.Sequence
	for range 4 {
		c := connectApache(t, cluster, 2*time.Second)
		counters = append(counters, counter.New(c, "/stress", nil))
		sequences = append(sequences, counter.NewSequence(c, "/numbers", nil))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	var calls []call
	count := map[fate]int{}
	seen := map[int64]bool{}
	var all sync.WaitGroup
	for i := range counters {
		for range 2 {
			own := rand.New(rand.NewPCG(uint64(i), 2))
			// Waited for below; ends with ctx.
			all.Go(func() {
				for ctx.Err() == nil {
					wait, stop := context.WithTimeout(ctx, time.Duration(own.Int64N(int64(3*time.Second))))
					c := call{op: "add", to: 1 + own.Int64N(9)}
					_, err := counters[i].Add(wait, c.to)
					c.fate = history.FateOf(err)
					n, errNext := sequences[i].Next(wait)
					ended := wait.Err() != nil
					stop()
					mu.Lock()
					calls = append(calls, c)
					count[c.fate]++
					if errNext == nil && seen[n] {
						t.Errorf("%d twice", n)
					}
					if errNext == nil {
						seen[n] = true
					}
					mu.Unlock()
					for _, err := range []error{err, errNext} {
						if err != nil && !ended && !errors.Is(err, session.ErrLost) {
							t.Error(err)
						}
					}
					world.SleepContext(ctx, time.Duration(own.Int64N(int64(10*time.Millisecond))))
				}
			})
		}
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(1, 3)), blows, func() int {
		mu.Lock()
		defer mu.Unlock()
		return min(count[once], len(seen))
	})
	cancel()
	all.Wait()
	requireSum(t, counters, calls)
	t.Logf("%d made, %d not, %d unknown; %d numbers", count[once], count[never], count[maybe], len(seen))
}

// requireSum requires, after the faults, that all calls succeed and that the sum is
// correct.
func requireSum(t *testing.T, counters []*counter.Counter, calls []call) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*world.Patience)
	defer cancel()
	for _, c := range counters {
		require.NoError(t, world.RetryLost(ctx, func() error {
			_, err := c.Add(ctx, 0)
			return err
		}))
	}
	require.NoError(t, world.RetryLost(ctx, func() error {
		v, err := counters[0].Get(ctx)
		if err != nil {
			return err
		}
		return checkSum(calls, v)
	}))
}

// Several clients at once, uncombined: no addition is lost, and no result is
// given twice.
func TestContendedAddsOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	const clients, each = 8, 60
	results := make(chan int64, clients*each)
	var all sync.WaitGroup
	for range clients {
		c := counter.New(connectApache(t, cluster, steady), "/contended", nil)
		// Waited for below; ends after its additions.
		all.Go(func() {
			for range each {
				v, err := c.Increment(t.Context())
				if err != nil {
					t.Error(err)
					return
				}
				results <- v
			}
		})
	}
	all.Wait()
	close(results)
	seen := map[int64]bool{}
	for v := range results {
		require.False(t, seen[v], fmt.Sprint(v))
		seen[v] = true
	}
	require.Len(t, seen, clients*each)
	require.True(t, seen[clients*each])
}

// Several clients count a latch down on a real server, and waiters in other sessions pass when
// the count is 0, round after round.
func TestLatchOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 2*world.Patience)
	defer cancel()
	const n = 3
	setter := counter.NewLatch(connectApache(t, cluster, steady), "/latch", nil)
	var parties []*counter.Latch
	for range n {
		parties = append(parties, counter.NewLatch(connectApache(t, cluster, steady), "/latch", nil))
	}
	for range 5 {
		ok, err := setter.TrySetCount(ctx, n)
		require.NoError(t, err)
		require.True(t, ok)
		var all sync.WaitGroup
		errs := make([]error, n)
		for i, l := range parties {
			// Waited for below; ends when all have counted down.
			all.Go(func() {
				if _, errs[i] = l.CountDown(ctx); errs[i] == nil {
					errs[i] = l.Await(ctx)
				}
			})
		}
		all.Wait()
		require.NoError(t, errors.Join(errs...))
		left, err := setter.CountDown(ctx)
		require.NoError(t, err)
		require.Zero(t, left)
	}
}
