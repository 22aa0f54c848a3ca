package cache_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// benchFolder is how many znodes a folder of the tree has.
const benchFolder = 1000

// benchTree makes a tree of n znodes with names and data of 30 bytes, in folders.
func benchTree(b *testing.B, s *session.Session, n int) string {
	ctx := context.Background()
	root := "/tree-" + session.NewID()
	require.NoError(b, s.EnsurePath(ctx, root, session.Persistent, nil))
	var sent []*session.Future[[]session.Result]
	for first := 0; first < n; first += benchFolder {
		folder := fmt.Sprintf("%s/folder-%06d", root, first/benchFolder)
		ops := []session.Op{session.CreateOp(folder, nil, session.Persistent, nil)}
		for i := range min(benchFolder, n-first) {
			ops = append(ops, session.CreateOp(fmt.Sprintf("%s/znode-with-a-longer-name-%06d", folder, i), []byte("some data of the usual length."), session.Persistent, nil))
		}
		if sent = append(sent, s.StartTxn(ops...)); len(sent) == 8 {
			_, err := sent[0].Wait(ctx)
			require.NoError(b, err)
			sent = sent[1:]
		}
	}
	for _, f := range sent {
		_, err := f.Wait(ctx)
		require.NoError(b, err)
	}
	return root
}

// heapInUse is how many bytes the process has in its heap after a collection.
func heapInUse() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkTree is the load of a tree of n znodes, its memory beside that of a plain map
// (the floor), and the time from a change
// by another client until a watching client has it; n is ZKBENCH_ZNODES, or 10,000, with
// n/4 and n/2 before. One operation is the load. With ZKBENCH_APACHE=1 the server's heap is
// ZKBENCH_HEAP MB.
func BenchmarkTree(b *testing.B) {
	most := world.BenchNumber(b, "ZKBENCH_ZNODES", 10_000)
	for _, n := range []int{most / 4, most / 2, most} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			servers := world.BenchServerOf(b, 1024)
			writer, err := benchClient(b, servers).Session(context.Background())
			require.NoError(b, err)
			root := benchTree(b, writer, n)
			c := benchClient(b, servers)
			for b.Loop() {
				before, began := heapInUse(), time.Now()
				v := cache.NewTree(c, root, cache.Bytes, nil)
				stop := running(b, v.View)
				b.ReportMetric(time.Since(began).Seconds(), "load-s")
				require.Equal(b, 1+n+(n+benchFolder-1)/benchFolder, v.Len())
				if world.OnApache() { // else the server's memory is in the same heap
					b.ReportMetric(float64(heapInUse()-before)/float64(v.Len()), "heap-B/entry")
					b.ReportMetric(float64(plainMap(v.View))/float64(v.Len()), "floor-B/entry")
				}
				b.ReportMetric(float64(medianChange(b, v.View, writer, root+"/folder-000000/znode-with-a-longer-name-000007").Microseconds()), "change-p50-us")
				stop()
			}
		})
	}
}

// plainMap is the heap of a map from the paths of v to copies of its entries: the least that
// a program needs to have what v knows, without following it.
func plainMap(v *cache.View[[]byte]) int64 {
	entries := v.Snapshot()
	before, m := heapInUse(), make(map[string]*cache.Entry[[]byte])
	for e := range entries.All() {
		e.Path, e.Value = strings.Clone(e.Path), slices.Clone(e.Value)
		m[e.Path] = &e
	}
	after := heapInUse()
	runtime.KeepAlive(m)
	return after - before
}

// medianChange is the time from a set by s until v has it.
func medianChange(b *testing.B, v *cache.View[[]byte], s *session.Session, path string) time.Duration {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	seen, begun := make(chan struct{}, 1), make(chan struct{}, 1)
	// Not waited for; ends with ctx.
	go func() {
		for ev, err := range v.Events(ctx) {
			switch {
			case err != nil:
				return
			case ev.Kind == cache.EventSnapshot:
				begun <- struct{}{}
			case ev.Kind == cache.EventUpdated:
				seen <- struct{}{}
			}
		}
	}()
	<-begun
	var took []time.Duration
	for range 200 {
		began := time.Now()
		_, err := s.Set(ctx, path, []byte("other data"), -1)
		require.NoError(b, err)
		<-seen
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	return took[len(took)/2]
}
