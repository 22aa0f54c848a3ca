package recorder_test

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// recordedData is the data of each znode of the benchmark.
const recordedData = "some data of the usual length."

// heapInUse is how many bytes the process has in its heap after a collection.
func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // what has finalizers goes with the second one
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// BenchmarkMemory is the memory that a recorder takes for each znode, without the znode's path
// and data, once the first state is on the disk. ZKBENCH_ZNODES is the number of znodes, or
// 10,000. The server is in the same process, and has its memory before the recorder begins.
func BenchmarkMemory(b *testing.B) {
	n := world.BenchNumber(b, "ZKBENCH_ZNODES", 10_000)
	servers := world.BenchServerOf(b, 1024)
	writer, err := world.BenchClient(b, servers).Session(context.Background())
	require.NoError(b, err)
	size := fill(b, writer, n)
	for b.Loop() {
		before := heapInUse()
		stop := recordAll(b, servers)
		b.ReportMetric(float64(heapInUse()-before-size)/float64(n), "heap-B/znode")
		stop()
	}
}

// fill creates n znodes, and returns the length of their paths and data.
func fill(b *testing.B, s *session.Session, n int) (size int64) {
	const folder = 1000
	for first := 0; first < n; first += folder {
		dir := fmt.Sprintf("/folder-%06d", first/folder)
		ops := []session.Op{session.CreateOp(dir, nil, session.Persistent, nil)}
		for i := range min(folder, n-first) {
			path := fmt.Sprintf("%s/znode-with-a-longer-name-%06d", dir, i)
			size += int64(len(path) + len(recordedData))
			ops = append(ops, session.CreateOp(path, []byte(recordedData), session.Persistent, nil))
		}
		_, err := s.Txn(context.Background(), ops...)
		require.NoError(b, err)
	}
	return size
}

// recordAll records all znodes, and returns when the first state is on the disk.
func recordAll(b *testing.B, servers string) (stop func()) {
	client, err := session.Connect(context.Background(), servers, &session.Options{Timeout: 20 * time.Second})
	require.NoError(b, err)
	w, err := recording.NewWriter(b.TempDir(), "/", nil)
	require.NoError(b, err)
	begun, over := make(chan recorder.Event, 100), make(chan error, 1)
	r := recorder.New(client, "/", w, &recorder.Options{Notify: func(e recorder.Event) { begun <- e }})
	ctx, cancel := context.WithCancel(context.Background())
	// Waited for by stop; ends with its context.
	go func() { over <- r.Run(ctx) }()
	require.Equal(b, "recording", (<-begun).Kind)
	return func() {
		cancel()
		require.ErrorIs(b, <-over, context.Canceled)
		require.NoError(b, w.Close("stopped"))
		require.NoError(b, client.Close(context.Background()))
	}
}
