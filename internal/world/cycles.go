package world

import (
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// CyclesLeaveNothing runs cycle n times, after some that warm up, and requires that
// they leave no watch on the server, no goroutine, and no memory in the client.
func (w *World) CyclesLeaveNothing(cycles int, cycle func(i int)) {
	w.Helper()
	const warm = 500
	var heap runtime.MemStats
	var before uint64
	var goroutines int
	for i := range warm + cycles {
		if i == warm {
			w.Settle()
			runtime.GC()
			runtime.ReadMemStats(&heap)
			before, goroutines = heap.HeapAlloc, runtime.NumGoroutine()
		}
		cycle(i)
	}
	w.Pass(2 * time.Second)
	w.RequireNoWatches()
	w.RequireGoroutines(goroutines)
	runtime.GC()
	runtime.ReadMemStats(&heap)
	growth := int64(heap.HeapAlloc) - int64(before)
	w.Logf("growth %d bytes in %d cycles", growth, cycles)
	require.Less(w, growth, int64(100*cycles), "bytes per cycle")
}

// RequireGoroutines requires that at most the given number of goroutines exist, and
// shows the stacks of all if there are more. The runtime's own goroutines, which run
// finalizers, count while they do: they end within a few looks, and a leak does not.
func (w *World) RequireGoroutines(most int) {
	w.Helper()
	for range 1000 {
		if runtime.NumGoroutine() <= most {
			return
		}
		runtime.Gosched()
	}
	var stacks strings.Builder
	require.NoError(w, pprof.Lookup("goroutine").WriteTo(&stacks, 1))
	require.LessOrEqual(w, runtime.NumGoroutine(), most, "goroutines:\n%s", &stacks)
}
