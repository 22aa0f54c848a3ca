package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The dead do not stay in the way: a reader that dies, a writer that dies while
// it waits, and one that holds.
func TestQueueOfReadersAndWritersClosesUpOverTheDead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first, waiter := w.new(), w.new()
		h := w.get(first.RLock)
		ctx, stop := context.WithCancel(w.Ctx)
		defer stop()
		w.startTake(ctx, waiter.Lock)
		reader := w.startTake(w.Ctx, w.new().RLock)
		w.Server.BlackHole(zktest.Link{Client: "c2"}, zktest.Both) // dies while it waits
		w.Pass(30 * time.Second)
		second := w.granted(reader)
		require.NoError(w, h.Context().Err(), "both read")
		writer := w.startTake(w.Ctx, w.new().Lock)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both) // dies while it reads
		w.unlock(second)
		w.pending(writer)
		w.Pass(30 * time.Second)
		last := w.granted(writer)
		require.Error(w, h.Context().Err())
		stop()
		w.Server.Heal()
		w.unlock(last)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(dir))
	})
}
