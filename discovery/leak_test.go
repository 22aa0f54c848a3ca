package discovery_test

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
)

// CH48, P24: thousands of registrations that came, changed and went leave no watch
// on the server, no goroutine, and no memory in the client.
func TestThousandsOfRegistrationsLeaveNothing_CH48_P24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const warm, cycles = 200, 3000
		c := w.Client()
		r, group := registry(c), discovery.NewGroup(c, "/members", nil)
		var heap runtime.MemStats
		var before uint64
		var goroutines int
		for n := range warm + cycles {
			if n == warm {
				w.Settle()
				runtime.GC()
				runtime.ReadMemStats(&heap)
				before, goroutines = heap.HeapAlloc, runtime.NumGoroutine()
			}
			if n%4 == 3 {
				m, err := group.Join(w.Ctx, "one", nil)
				require.NoError(w, err)
				_, err = group.Join(w.Ctx, "one", nil)
				require.ErrorIs(w, err, discovery.ErrConflict)
				require.NoError(w, m.Leave(w.Ctx))
				continue
			}
			g, err := r.Register(w.Ctx, typed("one", types[n%len(types)]))
			require.NoError(w, err)
			i := g.Instance()
			i.Port = n % 1000
			require.NoError(w, g.Update(w.Ctx, i))
			require.NoError(w, g.Move(w.Ctx, "api", i))
			require.NoError(w, g.Unregister(w.Ctx))
		}
		w.Settle()
		runtime.GC()
		runtime.ReadMemStats(&heap)
		require.LessOrEqual(w, runtime.NumGoroutine(), goroutines)
		require.Zero(w, w.Server.Stats().Watches, "%v", w.Server.Watches())
		require.Less(w, int64(heap.HeapAlloc)-int64(before), int64(cycles*200), "bytes")
	})
}
