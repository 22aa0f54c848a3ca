package election_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
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

// Whatever is lost, the leader is deposed with a record, or neither.
func TestDeposeUnderEveryFault(t *testing.T) {
	world.Trial{
		Name: "Depose", Paths: []string{dir}, Next: nextLeads,
		Setup: func(_ *matrix.Env, p *world.Party) error {
			l, err := other(p)
			p.State = l
			return err
		},
		Op: func(ctx context.Context, p *world.Party) error {
			l := p.State.(*election.Leadership)
			e := elector(p.Tested, "op")
			leader, err := e.Leader(ctx)
			if err == nil {
				err = e.Depose(ctx, leader, "op", "it hangs")
			}
			world.Pause(l.Session().Heartbeat() + 2*time.Second)
			lost := l.Context().Err() != nil
			d, ok, readErr := l.Deposed(context.Background())
			switch {
			case readErr != nil:
				return fmt.Errorf("deposed: %w", readErr)
			case lost != ok || ok && d.Token != l.Token():
				return fmt.Errorf("lost: %v, with a record: %v, %+v", lost, ok, d)
			case err == nil && !lost:
				return errors.New("done, and it still leads")
			case err != nil && lost && !errors.Is(err, session.ErrUnknownOutcome):
				return fmt.Errorf("deposed, and the error does not say that it is possible: %w", err)
			}
			_ = l.Resign(context.Background()) // may report the loss
			return err
		},
	}.Run(t)
}
