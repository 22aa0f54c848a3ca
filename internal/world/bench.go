package world

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// BenchServer starts the server of a benchmark and returns its address: the test
// server over TCP, or, with ZKBENCH_APACHE=1, a standalone Apache ZooKeeper that
// keeps its data in memory.
func BenchServer(b *testing.B) string {
	if os.Getenv("ZKBENCH_APACHE") == "1" {
		opts := &apache.Options{TickTime: 2 * time.Second, Heap: 256}
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
