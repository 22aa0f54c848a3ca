package barrier_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
)

// N15
func TestNoPartyPassesBeforeAllHaveArrivedAndThenAllDo_N15(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(3, 3, nil)
		for n := int64(1); n <= 5; n++ { // T22: any number of rounds
			a := w.await(w.Ctx, all[0])
			b := w.await(w.Ctx, all[1])
			pending(w, a)
			pending(w, b)
			c := w.await(w.Ctx, all[2])
			w.round(a, n)
			w.round(b, n)
			w.round(c, n)
			w.clean()
		}
	})
}

func TestAllEnterAndLeaveTogether(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(3, 3, nil)
		for n := int64(1); n <= 5; n++ {
			a, b := w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1])
			pending(w, a)
			pending(w, b)
			seats := w.seats(n, a, b, w.enter(w.Ctx, all[2]))
			x, y := w.leave(w.Ctx, seats[0]), w.leave(w.Ctx, seats[1])
			pending(w, x)
			pending(w, y)
			w.left(x, y, w.leave(w.Ctx, seats[2]))
			w.clean()
		}
	})
}

func TestGateOpensForAllWaiters(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := barrier.NewGate(w.Client(), dir, nil)
		require.NoError(w, g.Wait(w.Ctx), "open from the start")
		require.NoError(w, g.Set(w.Ctx))
		require.NoError(w, g.Set(w.Ctx), "closed already")
		out := make(chan error, 1)
		// Waited for below; ends when the gate opens.
		go func() { out <- g.Wait(w.Ctx) }()
		w.Settle()
		pending(w, out)
		require.NoError(w, g.Remove(w.Ctx))
		require.NoError(w, <-out)
		require.NoError(w, g.Remove(w.Ctx), "open already")
		w.Settle()
		w.RequireNoWatches()
	})
}
