package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// The ensemble is recreated empty while a party waits: the path is created
// again with a lower zxid, and other parties pass with the waiting party's
// numbers.
func TestPartyOfAnEarlierEnsembleIsNotCountedInTheNextOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		// Its zxids shall be above those of the new ensemble.
		for range 50 {
			require.NoError(w, w.Server.Create("/x", nil))
			require.NoError(w, w.Server.Delete("/x"))
		}
		first, _ := w.barriers(1, 3, nil)
		early := w.await(w.Ctx, first[0])
		require.NoError(w, w.Server.RestartEmpty())
		all, _ := w.barriers(3, 3, nil)
		for _, out := range []<-chan passed{w.await(w.Ctx, all[0]), w.await(w.Ctx, all[1]), w.await(w.Ctx, all[2])} {
			w.round(out, 1)
		}
		select {
		case got := <-early:
			require.ErrorIs(w, got.err, session.ErrUnknownOutcome)
		case <-time.After(time.Minute):
			w.Fatalf("it waits for what is gone")
		}
	})
}

// A party that leaves a seat of an earlier ensemble does not wait for the parties of the
// next ensemble.
func TestSeatOfAnEarlierEnsembleBlocksNoPartyOfTheNextOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		for range 50 {
			require.NoError(w, w.Server.Create("/x", nil))
			require.NoError(w, w.Server.Delete("/x"))
		}
		first, _ := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, first[0]), w.enter(w.Ctx, first[1]))
		left := w.leave(w.Ctx, seats[0])
		pending(w, left) // the other party is inside
		require.NoError(w, w.Server.RestartEmpty())
		next, _ := w.doubles(2, 2, nil)
		w.seats(1, w.enter(w.Ctx, next[0]), w.enter(w.Ctx, next[1]))
		select {
		case err := <-left:
			require.NoError(w, err)
		case <-time.After(time.Minute):
			w.Fatalf("it waits for strangers")
		}
	})
}
