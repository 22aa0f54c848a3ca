package workerctl_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
)

func benchClients(b *testing.B, n int) []*session.Client {
	addr := world.BenchServer(b)
	var out []*session.Client
	for range n {
		c, err := session.Connect(b.Context(), addr, nil)
		require.NoError(b, err)
		b.Cleanup(func() { _ = c.Close(b.Context()) })
		out = append(out, c)
	}
	return out
}

// One operation is a join and a leave of a worker without contention.
func BenchmarkJoinLeave(b *testing.B) {
	c := benchClients(b, 1)[0]
	j, err := workerctl.Submit(b.Context(), c, workerctl.Spec{Name: "bench", Workers: 2, ReuseIDs: true}, nil)
	require.NoError(b, err)
	for b.Loop() {
		w, err := j.Join(b.Context(), named("x"))
		require.NoError(b, err)
		require.NoError(b, w.Leave(b.Context()))
	}
}

// One operation is the joining of all workers at once, a barrier, and their
// leaving at once, by 8 sessions.
func BenchmarkWholeJob(b *testing.B) {
	for _, n := range []int{8, 64, 256} {
		b.Run(fmt.Sprintf("workers=%d", n), func(b *testing.B) {
			clients := benchClients(b, 8)
			for b.Loop() {
				_, err := workerctl.Submit(b.Context(), clients[0], workerctl.Spec{Name: "bench", Workers: n}, nil)
				require.NoError(b, err)
				var jobs []*workerctl.Job
				for _, c := range clients {
					j, err := workerctl.Attach(b.Context(), c, "bench", nil)
					require.NoError(b, err)
					jobs = append(jobs, j)
				}
				var all sync.WaitGroup
				for i := range n {
					// Waited for below; ends with the leaving.
					all.Go(func() {
						w, err := jobs[i%len(jobs)].Join(b.Context(), nth(i))
						if err == nil {
							_, err = w.Barrier(b.Context(), "b")
						}
						if err == nil {
							err = w.Leave(b.Context())
						}
						if err != nil {
							b.Error(err)
						}
					})
				}
				all.Wait()
			}
		})
	}
}
