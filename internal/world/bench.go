package world

import (
	"context"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// BenchServer starts the server of a benchmark and returns its address: the test
// server over TCP, or, with ZKBENCH_APACHE=1, a standalone Apache ZooKeeper that
// keeps its data in memory.
func BenchServer(b *testing.B) string {
	b.Helper()
	return BenchServerOf(b, 256)
}

// BenchServerOf is BenchServer; Apache ZooKeeper has a heap of that many MB, or of
// ZKBENCH_HEAP.
func BenchServerOf(b *testing.B, heap int) string {
	b.Helper()
	if OnApache() {
		opts := &apache.Options{TickTime: 2 * time.Second, Heap: BenchNumber(b, "ZKBENCH_HEAP", heap)}
		if _, err := os.Stat("/dev/shm"); err == nil {
			opts.Dir = "/dev/shm"
		}
		return apache.Require(b, opts).Connect()
	}
	srv, err := zktest.Start(nil)
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, srv.Close()) })
	return srv.Addr()
}

// BenchClient is a client of its own, with a session that outlives a busy machine's pauses; it
// is closed with the benchmark.
func BenchClient(b *testing.B, servers string) *session.Client {
	b.Helper()
	c, err := session.Connect(context.Background(), servers, &session.Options{Timeout: 20 * time.Second})
	require.NoError(b, err)
	b.Cleanup(func() { require.NoError(b, c.Close(context.Background())) })
	return c
}

// OnApache reports whether benchmarks run on Apache ZooKeeper.
func OnApache() bool { return os.Getenv("ZKBENCH_APACHE") == "1" }

// BenchNumber is the number in a variable of the environment; usual if it is not set.
func BenchNumber(b *testing.B, name string, usual int) int {
	b.Helper()
	text := os.Getenv(name)
	if text == "" {
		return usual
	}
	n, err := strconv.Atoi(text)
	require.NoError(b, err, name)
	require.Positive(b, n, name)
	return n
}
