package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// Callers that give up leave no znode behind.

// P7: an error that is not the context's, in the midst of waiting.
func TestCampaignThatFailsLeavesNoNode_P7(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		out := w.startWin(w.Ctx, elector(w.Client(), "second").Campaign)
		// The path's numbers are used up while it waits, and the leader goes.
		require.NoError(w, w.Server.Create(dir+"/x-latch-2147483647", nil))
		third := w.startWin(w.Ctx, elector(w.Client(), "third").Campaign)
		require.ErrorIs(w, (<-third).err, session.ErrSequenceExhausted)
		w.Settle()
		require.Len(w, w.Children(dir), 3, "the leader, the second, and the stranger")
		w.resign(l)
		require.NoError(w, (<-out).lead.Resign(w.Ctx), "it saw the queue while it was good")
		w.Settle()
		require.Len(w, w.Children(dir), 1)
	})
}

// A candidate that gives up leaves no watch behind, also if it waits and gives up
// repeatedly.
func TestCandidatesThatGiveUpLeaveNoWatch_CH10(t *testing.T) {
	world.Needs(t, world.RemovesWatches)
	inWorld(t, nil, func(w *World) {
		l := w.campaign(elector(w.Client(), "leader"))
		w.Pass(2 * time.Second)
		base := w.Server.Stats().Watches
		e := elector(w.Client(), "second")
		for i := range 100 {
			ctx := w.Within(time.Duration(1+i*20) * time.Millisecond)
			if i%2 == 0 {
				_, err := e.Campaign(ctx)
				require.Error(w, err)
				continue
			}
			k := w.stand(e)
			_, err := k.Await(ctx)
			require.Error(w, err)
			require.NoError(w, k.Withdraw(w.Ctx))
		}
		w.Pass(time.Second)
		require.Equal(w, base, w.Server.Stats().Watches, "%v", w.Server.Watches())
		w.resign(l)
	})
}
