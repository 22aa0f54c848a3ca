package barrier_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestStateOfABarrierThatNobodyHasUsed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		state, err := barrier.StateAt(w.Ctx, w.Client(), dir)
		require.NoError(w, err)
		require.Zero(w, state)
		require.NoError(w, w.Server.Create(dir[:strings.LastIndex(dir, "/")], nil))
		require.NoError(w, w.Server.Create(dir, nil))
		state, err = barrier.StateAt(w.Ctx, w.Client(), dir)
		require.NoError(w, err)
		require.Equal(w, barrier.State{Exists: true}, state)
	})
}

func TestStateTellsKindRoundAndParties(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		b := barrier.New(c, dir, 2, nil)
		one, two := w.await(w.Ctx, b), w.await(w.Ctx, b)
		require.NoError(w, (<-one).err)
		require.NoError(w, (<-two).err)
		late := w.await(w.Ctx, b)
		state, err := barrier.StateAt(w.Ctx, c, dir)
		require.NoError(w, err)
		require.Len(w, state.Present, 1)
		require.False(w, state.Present[0].Inside)
		state.Present = nil
		require.Equal(w, barrier.State{Exists: true, Parties: 2, Round: 1}, state)
		last := w.await(w.Ctx, b)
		require.NoError(w, (<-late).err)
		require.NoError(w, (<-last).err)

		other := dir + "-double"
		d := barrier.NewDouble(c, other, 2, nil)
		seats := w.seats(1, w.enter(w.Ctx, d), w.enter(w.Ctx, d))
		state, err = barrier.StateAt(w.Ctx, c, other)
		require.NoError(w, err)
		require.Len(w, state.Present, len(seats))
		require.True(w, state.Present[0].Inside)
		state.Present = nil
		require.Equal(w, barrier.State{Exists: true, Double: true, Parties: 2, Round: 1}, state)
	})
}

// The reply to each of the reads is lost, once.
func TestStateIsReadAgainAfterALostReply(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, look := w.Client(), w.Client()
		waiting := w.await(w.Ctx, barrier.New(c, dir, 2, nil))
		lost := map[string]bool{}
		remove := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Client == "c2" && (strings.HasPrefix(r.Op, "getData") || strings.HasPrefix(r.Op, "getChildren")) && !lost[r.Op+r.Path] {
				lost[r.Op+r.Path] = true
				return zktest.Action{Do: zktest.DropReplyCut}
			}
			return zktest.Action{}
		})
		defer remove()
		state, err := barrier.StateAt(w.Within(time.Minute), look, dir)
		require.NoError(w, err)
		require.Len(w, state.Present, 1)
		require.GreaterOrEqual(w, len(lost), 2)
		remove()
		last := w.await(w.Ctx, barrier.New(c, dir, 2, nil))
		require.NoError(w, (<-waiting).err)
		require.NoError(w, (<-last).err)
	})
}

func TestStateOfSomethingElseIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		require.NoError(w, w.Server.Create("/text", []byte("text")))
		_, err := barrier.StateAt(w.Ctx, c, "/text")
		require.ErrorIs(w, err, barrier.ErrRecord)
		require.ErrorContains(w, err, "barrier: read /text")
		_, err = barrier.StateAt(w.Ctx, nil, dir)
		require.ErrorIs(w, err, barrier.ErrInvalidArgument)
		_, err = barrier.StateAt(w.Ctx, c, "/")
		require.ErrorIs(w, err, barrier.ErrInvalidArgument)
	})
}
