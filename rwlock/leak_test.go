package rwlock_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// P24, CH10: a long life leaves no watches on the server, no goroutines and no
// memory.
func TestNothingGrowsWithTheNumberOfLocks_P24_CH10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const warm, cycles = 500, 3000
		ma, mb := w.new(), w.new()
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
			switch i % 5 {
			case 0: // a reader, then a writer, that wait
				h := w.get(ma.Lock)
				reader, writer := w.begin(w.Ctx, mb.RLock), w.begin(w.Ctx, mb.Lock)
				h = w.down(h)
				w.unlock(h)
				w.unlock((<-reader).held)
				w.unlock((<-writer).held)
			case 1:
				h := w.get(ma.RLock)
				_, err := mb.TryLock(w.Ctx)
				require.ErrorIs(w, err, rwlock.ErrBusy)
				w.unlock(h)
			case 2:
				w.unlock(w.down(w.get(ma.Lock)))
			default:
				w.unlock(w.get(ma.RLock))
			}
		}
		w.Pass(2 * time.Second)
		require.Zero(w, w.Server.Stats().Watches)
		require.LessOrEqual(w, runtime.NumGoroutine(), goroutines)
		runtime.GC()
		runtime.ReadMemStats(&heap)
		growth := int64(heap.HeapAlloc) - int64(before)
		w.Logf("growth %d bytes in %d cycles", growth, cycles)
		require.Less(w, growth, int64(100*cycles), "bytes per cycle")
		require.Empty(w, w.Children(dir))
	})
}
