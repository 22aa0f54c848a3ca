package lock_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on a
// standalone Apache ZooKeeper with its data in memory. One operation is an acquire
// and a release. The benchmarks named zk.Lock measure go-zookeeper's own lock with
// the same operation on the same server; compare within one run.

// shareOperations shares b.N operations out among workers.
func shareOperations(b *testing.B, workers []func() error) {
	b.Helper()
	for _, work := range workers { // paths, trust
		require.NoError(b, work())
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	var all sync.WaitGroup
	b.ResetTimer()
	for _, work := range workers {
		// Waited for below; ends when all operations are done.
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := work(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
}

type silent struct{}

func (silent) Printf(string, ...any) {}

func benchPeer(b *testing.B, servers string) *zk.Conn {
	conn, events, err := zk.Connect(strings.Split(servers, ","), 20*time.Second, zk.WithLogger(silent{}), zk.WithLogInfo(false))
	require.NoError(b, err)
	b.Cleanup(conn.Close)
	for ev := range events {
		if ev.State == zk.StateHasSession {
			break
		}
	}
	return conn
}

func lockOnce(m *lock.Mutex) func() error {
	ctx := context.Background()
	return func() error {
		h, err := m.Lock(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
}

func peerOnce(conn *zk.Conn, path string) func() error {
	return func() error {
		l := zk.NewLock(conn, path, zk.WorldACL(zk.PermAll))
		if err := l.Lock(); err != nil {
			return err
		}
		return l.Unlock()
	}
}

// BenchmarkClients has one goroutine in each of n clients.
func BenchmarkClients(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{1, 8, 64} {
		path := fmt.Sprintf("/bench-clients-%d", n)
		b.Run(fmt.Sprintf("%d/lock", n), func(b *testing.B) {
			var workers []func() error
			for range n {
				workers = append(workers, lockOnce(lock.New(world.BenchClient(b, servers), path, nil)))
			}
			shareOperations(b, workers)
		})
		b.Run(fmt.Sprintf("%d/zk.Lock", n), func(b *testing.B) {
			var workers []func() error
			for range n {
				workers = append(workers, peerOnce(benchPeer(b, servers), path+"-peer"))
			}
			shareOperations(b, workers)
		})
	}
}

// BenchmarkGoroutines has 64 goroutines of one client.
func BenchmarkGoroutines(b *testing.B) {
	servers := world.BenchServer(b)
	b.Run("lock", func(b *testing.B) {
		m := lock.New(world.BenchClient(b, servers), "/bench-goroutines", nil)
		var workers []func() error
		for range 64 {
			workers = append(workers, lockOnce(m))
		}
		shareOperations(b, workers)
	})
	b.Run("zk.Lock", func(b *testing.B) {
		conn := benchPeer(b, servers)
		var workers []func() error
		for range 64 {
			workers = append(workers, peerOnce(conn, "/bench-goroutines-peer"))
		}
		shareOperations(b, workers)
	})
}

// BenchmarkSemaphore has 4 permits for 16 clients, one permit each.
func BenchmarkSemaphore(b *testing.B) {
	servers := world.BenchServer(b)
	for name, o := range map[string]*lock.Options{"rank": nil, "CuratorV2": {CuratorV2: true}} {
		b.Run(name, func(b *testing.B) {
			var workers []func() error
			for range 16 {
				s := lock.NewSemaphore(world.BenchClient(b, servers), "/bench-semaphore-"+name, 4, o)
				workers = append(workers, func() error {
					p, err := s.Acquire(context.Background(), 1)
					if err != nil {
						return err
					}
					return p.Release(context.Background())
				})
			}
			shareOperations(b, workers)
		})
	}
}
