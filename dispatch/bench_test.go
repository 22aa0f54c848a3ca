package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on a
// standalone Apache ZooKeeper.

func benchClient(b *testing.B, addr string) *session.Client {
	c, err := session.Connect(b.Context(), addr, nil)
	require.NoError(b, err)
	b.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		_ = c.Close(ctx)
	})
	return c
}

// One operation is an empty task, from its submission until its result is
// collected. Each sub-benchmark keeps the given number of tasks in flight.
func BenchmarkTasks(b *testing.B) {
	for _, under := range []int{1, 64, 512} {
		b.Run(fmt.Sprintf("under-way=%d", under), func(b *testing.B) {
			addr := world.BenchServer(b)
			const at = "/bench"
			beside(b, dispatch.NewMaster(benchClient(b, addr), at, nil).Run)
			for range 2 {
				o := &dispatch.WorkerOptions{Concurrency: 64, Prefetch: 64}
				beside(b, dispatch.NewWorker(benchClient(b, addr), at, echo, o).Run)
			}
			q := dispatch.New(benchClient(b, addr), at, nil)
			id, err := q.Submit(b.Context(), dispatch.Task{})
			require.NoError(b, err)
			_, err = q.Collect(b.Context(), id)
			require.NoError(b, err)
			b.ResetTimer()
			began := time.Now()
			left := make(chan struct{}, b.N)
			for range b.N {
				left <- struct{}{}
			}
			close(left)
			var all sync.WaitGroup
			for range under {
				// Waited for below; ends when nothing is left.
				all.Go(func() {
					for range left {
						id, err := q.Submit(b.Context(), dispatch.Task{})
						if err == nil {
							_, err = q.Collect(b.Context(), id)
						}
						if err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "tasks/s")
		})
	}
}

// One operation is the submission of a task.
func BenchmarkSubmit(b *testing.B) {
	q := dispatch.New(benchClient(b, world.BenchServer(b)), "/bench", &dispatch.Options{MaxTasks: 10_000_000})
	for b.Loop() {
		_, err := q.Submit(b.Context(), dispatch.Task{})
		require.NoError(b, err)
	}
}
