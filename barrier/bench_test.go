package barrier_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on
// a standalone Apache ZooKeeper that keeps its data in memory. One operation is
// a round of all parties, each with a client of its own.

// rounds runs b.N rounds of n parties.
func rounds(b *testing.B, servers string, n int, party func(c *session.Client) func(context.Context) error) {
	b.Helper()
	ctx := context.Background()
	parties := make([]func(context.Context) error, n)
	for i := range parties {
		c, err := session.Connect(ctx, servers, &session.Options{Timeout: 20 * time.Second})
		require.NoError(b, err)
		b.Cleanup(func() { require.NoError(b, c.Close(ctx)) })
		parties[i] = party(c)
	}
	run := func(times int) {
		var all sync.WaitGroup
		for _, once := range parties {
			// Waited for below; ends after the rounds.
			all.Go(func() {
				for range times {
					if err := once(ctx); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		all.Wait()
	}
	run(2) // paths, trust
	b.ResetTimer()
	run(b.N)
	b.StopTimer()
	b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N), "ms/round")
}

func BenchmarkBarrier(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{2, 32} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			rounds(b, servers, n, func(c *session.Client) func(context.Context) error {
				bar := barrier.New(c, fmt.Sprintf("/bench-barrier-%d", n), n, nil)
				return func(ctx context.Context) error { _, err := bar.Await(ctx); return err }
			})
		})
	}
}

func BenchmarkDouble(b *testing.B) {
	servers := world.BenchServer(b)
	for _, n := range []int{2, 32} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			rounds(b, servers, n, func(c *session.Client) func(context.Context) error {
				d := barrier.NewDouble(c, fmt.Sprintf("/bench-double-%d", n), n, nil)
				return func(ctx context.Context) error {
					seat, err := d.Enter(ctx)
					if err != nil {
						return err
					}
					return seat.Leave(ctx)
				}
			})
		})
	}
}

// BenchmarkGate is closing and opening a gate.
func BenchmarkGate(b *testing.B) {
	servers := world.BenchServer(b)
	rounds(b, servers, 1, func(c *session.Client) func(context.Context) error {
		g := barrier.NewGate(c, "/bench-gate", nil)
		return func(ctx context.Context) error {
			if err := g.Set(ctx); err != nil {
				return err
			}
			return g.Remove(ctx)
		}
	})
}
