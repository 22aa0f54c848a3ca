package rebalanser

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// An acknowledgment is taken back while the request that watches it is in flight. The
// deletion of the znode frees its watch: no request removes it.
func TestWatchOfAZnodeAboutToBeDeletedCostsNoRequest(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		p := &memberNode{s: w.Session(c)}
		over := session.ErrReleased
		for _, there := range []bool{true, false} {
			ctx, end := context.WithCancelCause(w.Ctx)
			if there {
				_, err := p.s.Create(w.Ctx, "/ack", nil, session.Ephemeral, nil)
				require.NoError(w, err)
			}
			end(over)
			require.ErrorIs(w, p.awaitRemoval(ctx, "/ack"), over)
			if there {
				w.Settle()
				require.NoError(w, p.s.Delete(w.Ctx, "/ack", -1))
			}
			w.Settle()
			w.RequireNoWatches()
			require.Equal(w, !there && world.Has(world.RemovesWatches), w.Server.Stats().Requests["removeWatches"] > 0, "there: %v", there)
		}
	})
}

func TestAwaitRemovalEndsWithTheZnode(t *testing.T) {
	world.Needs(t, world.RemovesWatches)
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		p := &memberNode{s: w.Session(c)}
		require.NoError(w, p.awaitRemoval(w.Ctx, "/ack"), "there is no such znode")
		w.Settle() // the watch for the creation is removed
		require.NoError(w, w.Server.Create("/ack", nil))
		// The bubble waits for the goroutine, which ends after the pause.
		go func() {
			world.Pause(time.Second)
			_ = w.Server.DeleteAll("/ack")
		}()
		begin := time.Now()
		require.NoError(w, p.awaitRemoval(w.Ctx, "/ack"))
		require.Equal(w, time.Second, time.Since(begin).Truncate(time.Second))
		w.Settle()
		w.RequireNoWatches()
	})
}
