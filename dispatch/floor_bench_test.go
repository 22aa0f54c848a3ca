package dispatch_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// BenchmarkFloor writes the znodes of tasks as dispatch does, and nothing else: one client
// sends the four transactions of each task, for the given number of tasks in one request,
// with four requests in flight. No read, no watch, no decision: no queue with these
// transactions is faster on this server.
func BenchmarkFloor(b *testing.B) {
	for _, group := range []int{1, 4, 16, 64} {
		for _, watched := range []bool{false, true} {
			b.Run(fmt.Sprintf("tasks-per-request=%d/watched=%v", group, watched), func(b *testing.B) {
				addr := world.BenchServer(b)
				s, err := benchClient(b, addr).Session(b.Context())
				require.NoError(b, err)
				for _, path := range []string{"/q", "/q/tasks", "/q/data", "/q/results", "/q/w", "/q/fence", "/q/open"} {
					_, err := s.Create(b.Context(), path, nil, session.Persistent, nil)
					require.NoError(b, err)
				}
				if watched { // as by a master and a worker
					for _, path := range []string{"/q/tasks", "/q/w"} {
						watcher, err := benchClient(b, addr).Session(b.Context())
						require.NoError(b, err)
						_, err = watcher.Subscribe(b.Context(), path, true, func(session.Event) {})
						require.NoError(b, err)
					}
				}
				writeFloor(b, s, 4096, group)
				b.ResetTimer()
				before := usageOf(b, addr)
				began := time.Now()
				writeFloor(b, s, b.N, group)
				b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "tasks/s")
				usageOf(b, addr).report(b, before)
			})
		}
	}
}

// writeFloor writes n tasks.
func writeFloor(b *testing.B, s *session.Session, n, group int) {
	record, assignment := make([]byte, 330), make([]byte, 450)
	create := func(path string, data []byte) session.Op {
		return session.CreateOp(path, data, session.Persistent, nil)
	}
	changes := []func(id string) []session.Op{
		func(id string) []session.Op {
			return []session.Op{
				session.CheckOp("/q/fence", -1), session.CheckOp("/q/open", -1),
				create("/q/data/"+id, nil), create("/q/tasks/"+id, record),
			}
		},
		func(id string) []session.Op {
			return []session.Op{session.CheckOp("/q/data/"+id, -1), session.SetOp("/q/tasks/"+id, record, 0), create("/q/w/"+id, assignment)}
		},
		func(id string) []session.Op {
			return []session.Op{
				session.CheckOp("/q/w/"+id, -1), session.DeleteOp("/q/w/"+id, -1), session.CheckOp("/q/data/"+id, -1),
				session.SetOp("/q/tasks/"+id, record, 1), create("/q/results/"+id, record),
			}
		},
		func(id string) []session.Op {
			return []session.Op{session.DeleteOp("/q/tasks/"+id, 2), session.DeleteOp("/q/data/"+id, -1), session.DeleteOp("/q/results/"+id, -1)}
		},
	}
	var sent []*session.Future[[]session.Result]
	for first := 0; first < n; first += group {
		for _, change := range changes {
			var ops []session.Op
			for i := first; i < min(first+group, n); i++ {
				ops = append(ops, change(fmt.Sprintf("%036d", i))...)
			}
			if sent = append(sent, s.StartTxn(ops...)); len(sent) > 4 {
				_, err := sent[0].Wait(b.Context())
				require.NoError(b, err)
				sent = sent[1:]
			}
		}
	}
	for _, f := range sent {
		_, err := f.Wait(b.Context())
		require.NoError(b, err)
	}
}
