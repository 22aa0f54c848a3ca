package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// Leave with the seat's own context, which ends with the leave, still waits for
// the other parties.
func TestSeatIsLeftWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		first := w.leave(seats[0].Context(), seats[0])
		w.Pass(time.Minute)
		pending(w, first)
		second := w.leave(seats[1].Context(), seats[1])
		require.NoError(w, <-first)
		require.NoError(w, <-second)
		w.clean()
	})
}

// A foreign znode with the name of a deleted seat stays.
func TestSeatThatWasDeletedIsNotDeletedAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.doubles(2, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
		path := seats[0].Path()
		w.Pass(time.Minute) // so the znode is watched
		require.NoError(w, w.Server.Delete(path))
		_, err := w.Session(w.Client()).Create(w.Ctx, path, nil, session.Ephemeral, nil)
		require.NoError(w, err)
		w.Settle()
		require.ErrorIs(w, seats[0].Leave(w.Ctx), session.ErrLost)
		w.Settle()
		_, err = w.Server.Get(path)
		require.NoError(w, err)
		require.NoError(w, w.Server.Delete(path))
		require.NoError(w, seats[1].Leave(w.Ctx))
	})
}
