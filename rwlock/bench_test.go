package rwlock_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on
// a standalone Apache ZooKeeper that keeps its data in memory. One operation is
// an acquire and a release.

// contend shares b.N operations out among workers, each with a lock of its own
// client; every tenth of a worker's operations writes, for 10 percent, and so
// on.
func contend(b *testing.B, locks []*rwlock.RWMutex, percent int) {
	b.Helper()
	ctx := context.Background()
	once := func(f take) error {
		h, err := f(ctx)
		if err != nil {
			return err
		}
		return h.Unlock(ctx)
	}
	for _, m := range locks { // paths, trust
		require.NoError(b, once(m.Lock))
	}
	var next atomic.Int64
	var all sync.WaitGroup
	b.ResetTimer()
	for i, m := range locks {
		// Waited for below; ends when all operations are done.
		all.Go(func() {
			for own := i; next.Add(1) <= int64(b.N); own++ {
				f := m.RLock
				if own*percent%100 < percent {
					f = m.Lock
				}
				if err := once(f); err != nil {
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

// BenchmarkClients is one goroutine in each of n clients.
func BenchmarkClients(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{1, 8, 64} {
		for _, percent := range []int{0, 10, 100} {
			b.Run(fmt.Sprintf("%d/%d%%writes", n, percent), func(b *testing.B) {
				var locks []*rwlock.RWMutex
				for range n {
					locks = append(locks, rwlock.New(world.BenchClient(b, servers), fmt.Sprintf("/bench-%d-%d", n, percent), nil))
				}
				contend(b, locks, percent)
			})
		}
	}
}

// BenchmarkGoroutines is 64 goroutines of one client.
func BenchmarkGoroutines(b *testing.B) {
	servers := world.BenchServer(b)
	m := rwlock.New(world.BenchClient(b, servers), "/bench-goroutines", nil)
	var locks []*rwlock.RWMutex
	for range 64 {
		locks = append(locks, m)
	}
	contend(b, locks, 10)
}

// BenchmarkDowngrade is an acquire, a downgrade and a release.
func BenchmarkDowngrade(b *testing.B) {
	ctx, servers := context.Background(), world.BenchServer(b)
	m := rwlock.New(world.BenchClient(b, servers), "/bench-downgrade", nil)
	for b.Loop() {
		h, err := m.Lock(ctx)
		require.NoError(b, err)
		r, err := h.Downgrade(ctx)
		require.NoError(b, err)
		require.NoError(b, r.Unlock(ctx))
	}
}
