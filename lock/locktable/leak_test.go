package locktable_test

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
)

// Thousands of locks taken, waited for and given back, watched and not, leave no watch on
// the server, no goroutine, and no memory in the client.
func TestManyCyclesLeaveNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const warm, cycles, n = 50, 1000, 10
		one, two := w.join(w.Client(), nil), w.join(w.Client(), &locktable.Options{Unwatched: true})
		var heap runtime.MemStats
		var before uint64
		var goroutines, watches int
		for i := range warm + cycles {
			if i == warm {
				w.Settle()
				runtime.GC()
				runtime.ReadMemStats(&heap)
				before, goroutines, watches = heap.HeapAlloc, runtime.NumGoroutine(), w.Server.Stats().Watches
			}
			mine, theirs := one, two
			if i%2 == 1 {
				mine, theirs = two, one
			}
			held := w.try(mine, lockNames(n)...)
			require.Len(w, held, n)
			switch i % 4 {
			case 0, 1:
				out := w.startLock(w.withinMinute(), theirs, lockNames(n)...)
				require.NoError(w, held[0].Context().Err())
				require.NoError(w, mine.Unlock(w.Ctx, held...))
				got := <-out
				require.NoError(w, got.err)
				held, mine = got.held, theirs
			case 2:
				short, cancel := context.WithTimeout(w.Ctx, time.Second)
				_, err := theirs.Lock(short, append(lockNames(n), "x")...)
				cancel()
				require.ErrorIs(w, err, context.DeadlineExceeded)
			case 3:
				_, watch, err := theirs.Observe(w.Ctx, lockNames(n)...)
				require.NoError(w, err)
				watch.Stop()
			}
			require.NoError(w, mine.Unlock(w.Ctx, held...))
			w.Settle()
		}
		w.RequireGoroutines(goroutines)
		require.Equal(w, watches, w.Server.Stats().Watches, "%v", w.Server.Watches())
		runtime.GC()
		runtime.ReadMemStats(&heap)
		growth := int64(heap.HeapAlloc) - int64(before)
		w.Logf("growth %d bytes in %d cycles", growth, cycles)
		require.Less(w, growth, int64(1000*cycles), "bytes per cycle")
		require.NoError(w, one.Release(w.Ctx))
		require.NoError(w, two.Release(w.Ctx))
		w.Settle()
		w.RequireNoWatches()
		w.requireAllFree(w.Client())
	})
}
