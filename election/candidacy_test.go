package election_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
)

// The suite of the queue recipes has the scenarios of a place in the queue.

func TestQueueClosesUpBehindAWithdrawnCandidate_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(3)
		l := w.leads(q.outs[0])
		require.NoError(w, q.stands[1].Withdraw(w.Ctx))
		g := <-q.outs[1]
		require.ErrorIs(w, g.err, election.ErrWithdrawn, "an Await that is in progress ends")
		require.Len(w, w.Children(dir), 2)
		require.Empty(w, q.stands[1].Watching())
		w.Settle()
		require.Equal(w, q.name(0), q.stands[2].Watching(), "the queue closes up")
		_, err := q.stands[1].Await(w.Ctx)
		require.ErrorIs(w, err, election.ErrWithdrawn)
		require.ErrorIs(w, q.stands[1].Withdraw(w.Ctx), election.ErrWithdrawn)
		require.NoError(w, l.Context().Err(), "no other candidate is affected")
		w.resign(l)
		w.resign(w.leads(q.outs[2]))
	})
}
