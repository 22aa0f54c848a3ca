package value_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// The tests of this file run on a real server, which must behave as the test server.

// steady is the timeout of sessions that must survive.
const steady = 30 * time.Second

func connectApache(t *testing.T, cluster *apache.Cluster, timeout time.Duration) *session.Client {
	t.Helper()
	return world.Connect(t, cluster.Connect(), session.Options{Timeout: timeout})
}

type silent struct{}

func (silent) Printf(string, ...any) {}

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
	cluster := apache.Require(t, &apache.Options{Heap: 96, Versions: map[string]int32{"/end": -3, "/any": -1}})
	client, other := connectApache(t, cluster, steady), peer(t, cluster)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	t.Run("the version that means any is stepped over", func(t *testing.T) {
		v := value.New(client, "/end", nil)
		for range 4 {
			_, err := v.Update(ctx, adds("x"))
			require.NoError(t, err)
			_, stat, err := other.Get("/end")
			require.NoError(t, err)
			require.NotEqual(t, int32(-1), stat.Version)
		}
		_, err := value.New(client, "/any", nil).Update(ctx, adds("x"))
		require.ErrorIs(t, err, value.ErrVersion)
		require.NoError(t, value.New(client, "/any", nil).Set(ctx, []byte("x")))
	})
	t.Run("a value in use is not another one", func(t *testing.T) {
		v := value.New(client, "/aba", nil)
		require.NoError(t, v.Set(ctx, []byte("before")))
		seen, err := v.Get(ctx)
		require.NoError(t, err)
		require.ErrorIs(t, other.Delete("/aba", -1), zk.ErrNotEmpty)
		names, _, err := other.Children("/aba")
		require.NoError(t, err)
		require.Len(t, names, 1)
		require.NoError(t, other.Delete("/aba/"+names[0], -1))
		require.NoError(t, other.Delete("/aba", -1))
		_, err = other.Create("/aba", nil, 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
		stat, err := other.Set("/aba", []byte("after"), -1)
		require.NoError(t, err)
		require.Equal(t, seen.Version, stat.Version)
		ok, err := v.TrySet(ctx, seen, []byte("x"))
		require.NoError(t, err)
		require.False(t, ok)
		got, err := v.Update(ctx, adds("!"))
		require.NoError(t, err)
		require.Equal(t, "after!", string(got))
	})
	t.Run("a missing value", func(t *testing.T) {
		v := value.New(client, "/folder/missing", nil)
		seen, err := v.Get(ctx)
		require.NoError(t, err)
		require.False(t, seen.Exists)
		ok, err := v.TrySet(ctx, seen, []byte("x"))
		require.NoError(t, err)
		require.True(t, ok)
	})
	t.Run("watched", func(t *testing.T) {
		v := value.New(client, "/watched", &value.Options{Seed: []byte("seed")})
		for now, err := range v.Watch(ctx) {
			require.NoError(t, err)
			if string(now.Data) == "end" {
				break
			}
			_, err := other.Set("/watched", []byte("end"), -1)
			require.NoError(t, err)
		}
	})
}

// CL1: additions by several clients in real time, on a server that is killed, paused and
// restarted: each word was added once, or not, as reported.
func TestStressOnApache_CL1(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	blows := 2
	if testing.Short() {
		blows = 1
	}
	const clients = 3
	var values []*value.Value
	for range clients {
		values = append(values, value.New(connectApache(t, cluster, 2*time.Second), "/stress", nil))
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var mu sync.Mutex
	count := map[fate]int{}
	var all sync.WaitGroup
	for i := range values {
		own := rand.New(rand.NewPCG(uint64(i), 2))
		// Waited for below; ends with ctx.
		all.Go(func() {
			for ctx.Err() == nil {
				wait, stop := context.WithTimeout(ctx, time.Duration(own.Int64N(int64(3*time.Second))))
				_, err := values[i].Update(wait, adds("x"))
				ended := wait.Err() != nil
				stop()
				mu.Lock()
				count[history.FateOf(err)]++
				mu.Unlock()
				if err != nil && !ended && !errors.Is(err, session.ErrLost) {
					t.Error(err)
				}
				world.SleepContext(ctx, time.Duration(own.Int64N(int64(20*time.Millisecond))))
			}
		})
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(1, 3)), blows, func() int {
		mu.Lock()
		defer mu.Unlock()
		return count[once]
	})
	cancel()
	all.Wait()
	after, stop := context.WithTimeout(t.Context(), 2*world.Patience)
	defer stop()
	for _, v := range values {
		require.NoError(t, world.RetryLost(after, func() error {
			_, err := v.Update(after, adds(""))
			return err
		}))
	}
	var now value.State
	require.NoError(t, world.RetryLost(after, func() (err error) {
		now, err = values[0].Get(after)
		return err
	}))
	require.GreaterOrEqual(t, len(now.Data), count[once])
	require.LessOrEqual(t, len(now.Data), count[once]+count[maybe])
	t.Logf("%d made, %d not, %d unknown", count[once], count[never], count[maybe])
}
