package rwlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rwlock"
)

// P24, CH10: a long life leaves no watches on the server, no goroutines and no
// memory.
func TestNothingGrowsWithTheNumberOfLocks_P24_CH10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ma, mb := w.new(), w.new()
		w.CyclesLeaveNothing(3000, func(i int) {
			switch i % 5 {
			case 0: // a reader, then a writer, that wait
				h := w.get(ma.Lock)
				reader, writer := w.startTake(w.Ctx, mb.RLock), w.startTake(w.Ctx, mb.Lock)
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
		})
		require.Empty(w, w.Children(dir))
	})
}
