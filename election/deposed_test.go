package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers every sync, without knowing the
// candidate that a majority has confirmed.
func TestCandidateExistsThoughALeaderWithoutFollowersDoesNotKnowIt(t *testing.T) {
	for name, empty := range map[string]func(w *World, e *election.Elector) bool{
		"Leader": func(w *World, e *election.Elector) bool {
			_, err := e.Leader(w.Within(time.Minute))
			require.NotErrorIs(w, err, election.ErrNoLeader)
			return false
		},
		"Candidates": func(w *World, e *election.Elector) bool {
			list, err := e.Candidates(w.Within(time.Minute))
			return err == nil && len(list) == 0
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := elector(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), "mine")
				other := elector(w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{}), "other")
				w.resign(w.campaign(other))
				_, err := mine.Leader(w.Ctx)
				require.ErrorIs(w, err, election.ErrNoLeader)
				w.Settle()
				w.Server.IsolateServer(alone)
				w.campaign(other)
				require.NotEqual(w, alone, w.Server.Leader())
				require.False(w, empty(w, mine), "a candidate leads")
			})
		})
	}
}
