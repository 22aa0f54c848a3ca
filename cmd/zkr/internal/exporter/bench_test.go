package exporter_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// BenchmarkScrape scrapes a tree of a hundred thousand znodes with ten thousand locks, of
// which one in ten changes each second. It reports the 99th percentile of a scrape, and
// the heap of the exporter (with the server, which is in this process).
func BenchmarkScrape(b *testing.B) {
	for _, maxPaths := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("paths=%d", maxPaths), func(b *testing.B) { benchmarkScrape(b, maxPaths) })
	}
}

func benchmarkScrape(b *testing.B, maxPaths int) {
	const locks, queue = 10_000, 9
	srv, err := zktest.Start(nil)
	require.NoError(b, err)
	defer srv.Close()
	require.NoError(b, srv.Create("/locks", nil))
	name := func(lock, n int) string {
		return fmt.Sprintf("/locks/l%05d/_c_b6e1bacb-95aa-485f-b2a5-0269262%05d-lock-%010d", lock, lock, n)
	}
	for i := range locks {
		require.NoError(b, srv.Create(fmt.Sprintf("/locks/l%05d", i), nil))
		for k := range queue {
			require.NoError(b, srv.Create(name(i, k), []byte("host:1")))
		}
	}
	ctx := b.Context()
	c, err := session.Connect(ctx, srv.Addr(), nil)
	require.NoError(b, err)
	defer c.Close(ctx)
	e := exporter.New("/", maxPaths)
	done := make(chan struct{})
	// Waited for below; ends with ctx.
	go func() { _ = e.Run(ctx, c); close(done) }()
	registry := prometheus.NewRegistry()
	web := e.Handler(registry)
	for !e.IsCurrent() {
		<-time.After(10 * time.Millisecond)
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var took []time.Duration
	size, next := 0, queue
	changed := time.Now()
	for b.Loop() {
		if time.Since(changed) > time.Second {
			changed = time.Now()
			for i := 0; i < locks; i += 10 {
				require.NoError(b, srv.Delete(name(i, next-queue)))
				require.NoError(b, srv.Create(name(i, next), []byte("host:1")))
			}
			next++
		}
		began := time.Now()
		w := httptest.NewRecorder()
		web.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		took = append(took, time.Since(began))
		size = w.Body.Len()
		<-time.After(20 * time.Millisecond)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
	b.ReportMetric(float64(size)/1e3, "kB")
}
