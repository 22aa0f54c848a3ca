package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
)

// A waiter whose znode somebody deletes queues up again, and keeps no watch of before:
// none is left on the holder when it gives up.
func TestWaiterWhoseNodeWasDeletedLeavesNoWatch(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.lock(lock.New(w.Client(), dir, nil))
		c := w.Client()
		ctx, cancel := context.WithCancel(w.Ctx)
		out := w.begin(ctx, lock.New(c, dir, nil))
		w.Pass(2 * time.Second)
		for _, name := range w.Children(dir) {
			if path := dir + "/" + name; path != h.Path() {
				require.NoError(w, w.Server.Delete(path))
			}
		}
		w.Pass(2 * time.Second)
		w.pending(out)
		cancel()
		require.Error(w, (<-out).err)
		w.Settle()
		require.NotContains(w, w.Server.Watches()[h.Path()], w.ID(c))
		w.unlock(h)
	})
}
