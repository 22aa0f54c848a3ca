package stm_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
)

// The benchmarks run over TCP on the test server, or, with ZKBENCH_APACHE=1, on
// a standalone Apache ZooKeeper that keeps its data in memory. One operation
// moves a number from one znode to another. The "plain" benchmarks read, and
// repeat a transaction until applied, without markers, pauses or certainty: the
// usual handwritten loop. Compare only figures of the same run.

// movePlain moves by the usual handwritten loop.
func movePlain(ctx context.Context, s *session.Session, from, to string) error {
	for {
		reads := []*session.Future[session.Seen]{s.StartGet(from, false), s.StartGet(to, false)}
		var ops []session.Op
		for i, path := range []string{from, to} {
			seen, err := reads[i].Wait(ctx)
			if err != nil {
				return err
			}
			ops = append(ops, session.SetOp(path, text(number(seen.Data)+2*i-1), seen.Stat.Version))
		}
		if _, err := s.Txn(ctx, ops...); !errors.Is(err, session.ErrBadVersion) {
			return err
		}
	}
}

func BenchmarkMove(b *testing.B) {
	servers := world.BenchServer(b)
	for _, clients := range []int{1, 8} {
		for _, how := range []string{"stm", "plain"} {
			b.Run(fmt.Sprintf("%s/%d", how, clients), func(b *testing.B) {
				ctx := b.Context()
				from, to := "/"+strings.ReplaceAll(b.Name(), "/", "-")+"-a", "/"+strings.ReplaceAll(b.Name(), "/", "-")+"-b"
				var work []func() error
				for range clients {
					client := world.Connect(b, servers, session.Options{Timeout: steady})
					s, err := client.Session(ctx)
					require.NoError(b, err)
					txs := stm.New(client, "/bench-markers", nil)
					require.NoError(b, txs.Apply(ctx, move(from, to, 0)))
					move := func(tx *stm.Tx) error {
						nodes, err := tx.GetAll(from, to)
						if err != nil {
							return err
						}
						return errors.Join(tx.Set(from, text(number(nodes[0].Data)-1)), tx.Set(to, text(number(nodes[1].Data)+1)))
					}
					if how == "stm" {
						work = append(work, func() error { return txs.Apply(ctx, move) })
					} else {
						work = append(work, func() error { return movePlain(ctx, s, from, to) })
					}
				}
				var left atomic.Int64
				left.Store(int64(b.N))
				var all sync.WaitGroup
				b.ResetTimer()
				for _, do := range work {
					// Waited for below; ends when all operations are done.
					all.Go(func() {
						for left.Add(-1) >= 0 {
							if err := do(); err != nil {
								b.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				b.StopTimer()
				b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "moves/s")
			})
		}
	}
}
