package counter_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on
// a standalone Apache ZooKeeper that keeps its data in memory. One operation is
// an increment. The zk.Get+Set benchmarks work like other libraries: they read
// and set until success, with go-zookeeper on the same server. Compare only
// figures of the same run.

// share divides b.N operations among the workers.
func share(b *testing.B, workers []func() error) {
	b.Helper()
	for _, work := range workers { // znodes, markers
		require.NoError(b, work())
	}
	var left atomic.Int64
	left.Store(int64(b.N))
	done := make([]int, len(workers))
	var all sync.WaitGroup
	b.ResetTimer()
	for i, work := range workers {
		// Waited for below; ends when all operations are done.
		all.Go(func() {
			for left.Add(-1) >= 0 {
				if err := work(); err != nil {
					b.Error(err)
					return
				}
				done[i]++
			}
		})
	}
	all.Wait()
	b.StopTimer()
	least := done[0]
	for _, n := range done {
		least = min(least, n)
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "op/s")
	b.ReportMetric(float64(least)*float64(len(workers))/float64(b.N), "least-share")
}

func benchClient(b *testing.B, servers string) *session.Client {
	c, err := session.Connect(context.Background(), servers, &session.Options{Timeout: 20 * time.Second})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close(context.Background())) })
	return c
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

func incrementOnce(c *counter.Counter) func() error {
	return func() error {
		_, err := c.Increment(context.Background())
		return err
	}
}

// peerOnce reads and sets until no other write comes between.
func peerOnce(conn *zk.Conn, path string) func() error {
	return func() error {
		for {
			data, stat, err := conn.Get(path)
			if errors.Is(err, zk.ErrNoNode) {
				_, err = conn.Create(path, make([]byte, 8), 0, zk.WorldACL(zk.PermAll))
				if err == nil || errors.Is(err, zk.ErrNodeExists) {
					continue
				}
			}
			if err != nil {
				return err
			}
			next := binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(data)+1)
			if _, err = conn.Set(path, next, stat.Version); !errors.Is(err, zk.ErrBadVersion) {
				return err
			}
		}
	}
}

// BenchmarkClients runs one goroutine in each of n clients.
func BenchmarkClients(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{1, 2, 8, 32} {
		path := fmt.Sprintf("/bench-clients-%d", n)
		b.Run(fmt.Sprintf("%d/counter", n), func(b *testing.B) {
			var workers []func() error
			for range n {
				workers = append(workers, incrementOnce(counter.New(benchClient(b, servers), path, nil)))
			}
			share(b, workers)
		})
		b.Run(fmt.Sprintf("%d/zk.Get+Set", n), func(b *testing.B) {
			var workers []func() error
			for range n {
				workers = append(workers, peerOnce(benchPeer(b, servers), path+"-peer"))
			}
			share(b, workers)
		})
	}
}

// BenchmarkGoroutines runs n goroutines of one client.
func BenchmarkGoroutines(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{64, 1024} {
		path := fmt.Sprintf("/bench-goroutines-%d", n)
		b.Run(fmt.Sprintf("%d/counter", n), func(b *testing.B) {
			c := counter.New(benchClient(b, servers), path, nil)
			var workers []func() error
			for range n {
				workers = append(workers, incrementOnce(c))
			}
			share(b, workers)
		})
	}
	b.Run("64/zk.Get+Set", func(b *testing.B) {
		conn := benchPeer(b, servers)
		var workers []func() error
		for range 64 {
			workers = append(workers, peerOnce(conn, "/bench-goroutines-peer"))
		}
		share(b, workers)
	})
}

// BenchmarkSequence runs 64 goroutines of one client that draw numbers.
func BenchmarkSequence(b *testing.B) {
	servers := world.BenchServer(b)
	for _, block := range []int{1, 100} {
		b.Run(fmt.Sprintf("block=%d", block), func(b *testing.B) {
			q := counter.NewSequence(benchClient(b, servers), fmt.Sprintf("/bench-sequence-%d", block), &counter.Options{Block: block})
			var workers []func() error
			for range 64 {
				workers = append(workers, func() error {
					_, err := q.Next(context.Background())
					return err
				})
			}
			share(b, workers)
		})
	}
}

// BenchmarkGet runs one reading goroutine.
func BenchmarkGet(b *testing.B) {
	servers := world.BenchServer(b)
	c := counter.New(benchClient(b, servers), "/bench-get", nil)
	share(b, []func() error{func() error {
		_, err := c.Get(context.Background())
		return err
	}})
}
