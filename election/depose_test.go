package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLeaderIsDeposed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, two := elector(w.Client(), "one"), elector(w.Client(), "two")
		l := w.campaign(one)
		next := w.startWin(w.Ctx, two.Campaign)
		queue, err := two.Candidates(w.Ctx)
		require.NoError(w, err)
		require.ErrorIs(w, two.Depose(w.Ctx, queue[1], "", "wrong"), election.ErrInvalidArgument, "it does not lead")
		require.ErrorIs(w, two.Depose(w.Ctx, queue[0], "", ""), election.ErrInvalidArgument, "without a reason")
		_, ok, err := l.Deposed(w.Ctx)
		require.NoError(w, err)
		require.False(w, ok)
		w.pending(next)

		leader, err := two.Leader(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, two.Depose(w.Ctx, leader, "alice", "it hangs"))
		now := w.leads(next)
		w.Pass(l.Session().Heartbeat() + time.Second)
		require.ErrorIs(w, context.Cause(l.Context()), session.ErrNodeDeleted)
		d, ok, err := l.Deposed(w.Ctx)
		require.NoError(w, err)
		require.True(w, ok)
		want := election.Deposition{Leader: "one", Session: l.Session().ID(), Token: l.Token(), By: "alice", Reason: "it hangs", At: d.At}
		require.Equal(w, want, d)
		all, err := one.Depositions(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, []election.Deposition{want}, all)
		require.ErrorIs(w, two.Depose(w.Ctx, leader, "", "again"), election.ErrNoLeader)
		require.ErrorIs(w, l.Resign(w.Ctx), session.ErrLost)
		w.resign(now)
		w.resign(w.campaign(one)) // a deposed candidate may campaign again
	})
}

func TestDeposeWithoutAnElector(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.ErrorIs(w, (*election.Elector)(nil).Depose(w.Ctx, election.Candidate{}, "", "r"), election.ErrInvalidArgument)
		_, err := (*election.Elector)(nil).Depositions(w.Ctx)
		require.ErrorIs(w, err, election.ErrInvalidArgument)
		_, _, err = (*election.Leadership)(nil).Deposed(w.Ctx)
		require.ErrorIs(w, err, election.ErrInvalidArgument)
	})
}
