//go:build unix

package exporter_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"slices"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/internal/subprocess"
	"github.com/zkrecipes/zkrecipes/session"
)

// BenchmarkScrape scrapes a tree of a hundred thousand znodes with ten thousand locks, of
// which one in ten changes each second, over HTTP. The server is another process. The
// benchmark reports the 99th percentile of a scrape, and the heap of the exporter and the
// scraper.
func BenchmarkScrape(b *testing.B) {
	for _, maxPaths := range []int{1000, 10_000} {
		for _, encoding := range []string{"identity", "gzip"} {
			b.Run(fmt.Sprintf("paths=%d/%s", maxPaths, encoding), func(b *testing.B) { benchmarkScrape(b, maxPaths, encoding) })
		}
	}
}

func benchmarkScrape(b *testing.B, maxPaths int, encoding string) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), treeServer+"=1")
	cmd.Stderr = os.Stderr
	server, lines, err := subprocess.StartLines(cmd)
	require.NoError(b, err)
	defer func() { server.Kill(); _ = server.Wait() }()
	address, ok := <-lines
	require.True(b, ok, "the server has ended")
	ctx, stop := context.WithCancel(b.Context())
	c, err := session.Connect(ctx, address, nil)
	require.NoError(b, err)
	defer c.Close(b.Context())
	e := exporter.New("/", maxPaths)
	done := make(chan struct{})
	// Waited for below; ends with ctx.
	go func() { _ = e.Run(ctx, c); close(done) }()
	defer func() { stop(); <-done }()
	web := httptest.NewServer(e.Handler(prometheus.NewRegistry()))
	defer web.Close()
	began := time.Now()
	for !e.IsCurrent() {
		<-time.After(10 * time.Millisecond)
	}
	loaded := time.Since(began)
	debug.FreeOSMemory()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var took []time.Duration
	var size int64
	current := 0
	for b.Loop() {
		began := time.Now()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, web.URL, nil)
		require.NoError(b, err)
		r.Header.Set("Accept-Encoding", encoding)
		answer, err := http.DefaultClient.Do(r)
		require.NoError(b, err)
		size, err = io.Copy(io.Discard, answer.Body)
		require.NoError(b, err)
		require.NoError(b, answer.Body.Close())
		took = append(took, time.Since(began))
		if e.IsCurrent() {
			current++
		}
		<-time.After(20 * time.Millisecond)
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(memory.HeapAlloc)/1e6, "heap-MB")
	b.ReportMetric(float64(memory.Sys-memory.HeapReleased)/1e6, "sys-MB")
	b.ReportMetric(float64(size)/1e3, "kB")
	b.ReportMetric(loaded.Seconds(), "load-s")
	b.ReportMetric(100*float64(current)/float64(len(took)), "%current")
}
