package election_test

import (
	"context"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
)

// The path of a candidate that waits beside the queue is that of its place; any goroutine
// may ask for it meanwhile.
func TestPathOfACandidateFollowsIt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o := &election.Options{MaxQueue: 1}
		leader, err := election.New(w.Client(), dir, o).Campaign(w.Ctx)
		require.NoError(w, err)
		second, err := election.New(w.Client(), dir, o).Stand(w.Ctx)
		require.NoError(w, err)
		short := w.Within(time.Second)
		_, err = second.Await(short)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		e := election.New(w.Client(), dir, o)
		k, err := e.Stand(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, dir+".waiting", path.Dir(k.Path()), "behind those that came before, and ahead of all that come later")
		done := make(chan error, 1)
		// Waited for below; ends with its turn.
		go func() {
			_, err := k.Await(w.Ctx)
			done <- err
		}()
		w.Settle()
		ahead, err := k.Ahead(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, 2, ahead, "also those in the queue")
		list, err := e.Candidates(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 3)
		require.Equal(w, []string{leader.Path(), second.Path(), k.Path()}, []string{list[0].Path, list[1].Path, list[2].Path})
		require.Equal(w, []bool{false, false, true}, []bool{list[0].Outside, list[1].Outside, list[2].Outside})
		require.Empty(w, list[2].Watches)
		require.ErrorIs(w, e.Depose(w.Ctx, list[2], "", "it only waits"), election.ErrInvalidArgument)
		require.NoError(w, second.Withdraw(w.Ctx))
		require.NoError(w, leader.Resign(w.Ctx))
		require.NoError(w, <-done)
		require.Equal(w, dir, path.Dir(k.Path()))
		require.NoError(w, k.Withdraw(w.Ctx))
		require.ErrorIs(w, e.Depose(w.Ctx, list[2], "", "it has gone"), election.ErrNoLeader)
	})
}
