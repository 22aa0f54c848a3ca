package election_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/session"
)

// This file tests other programs that touch the znodes, and mistakes of callers.

// PD1: children that are not candidates make no difference to observers.
func TestForeignChildrenAreNotObserved_PD1(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/election", nil))
		require.NoError(w, w.Server.Create(dir, nil))
		strangers := []string{
			"config", "latch", "latch-", "latch-123", "x", "_c_", "0000000000", "-0000000001", "n_0000000000", "c_0000000000",
			"_c_1-lease-0000000000", "latch-00000000x0", "a__lock__", "patch-0000000000", "latch-+000000001", "latch-9999999999",
		}
		for _, name := range strangers {
			require.NoError(w, w.Server.Create(dir+"/"+name, nil))
		}
		v := w.observe(w.Ctx, elector(w.Client(), ""))
		q := w.line(2)
		list, err := elector(q.clients[0], "").Candidates(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 2)
		w.resign(w.leads(q.outs[0]))
		w.Settle()
		w.resign(w.leads(q.outs[1]))
		w.Settle()
		require.Equal(w, []string{"-", "c1", "c2", "-"}, v.ids())
		require.Len(w, w.Children(dir), len(strangers))
	})
}

// A stranger's candidate is waited for like any other, and never deleted.
func TestStrangersCandidatesAreHonored(t *testing.T) {
	for _, name := range []string{"_c_x-latch-", "_c_0f-lock-", "0f__lock__"} {
		inWorld(t, nil, func(w *World) {
			require.NoError(w, w.Server.Create("/election", nil))
			require.NoError(w, w.Server.Create(dir, nil))
			path, err := w.Server.CreateSequential(dir+"/"+name, []byte("stranger"))
			require.NoError(w, err)
			out := w.startWin(w.Ctx, elector(w.Client(), "me").Campaign)
			w.Pass(time.Minute)
			w.pending(out)
			require.Equal(w, "stranger", w.leaderID(elector(w.Client(), "")))
			require.NoError(w, w.Server.Delete(path))
			w.resign(w.leads(out))
		})
	}
}

// The data is too long for the servers: it is said so, and nothing is left.
func TestDataThatIsTooLongIsRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := election.New(w.Client(), dir, &election.Options{Data: []byte(strings.Repeat("x", 2<<20))})
		_, err := e.Campaign(w.Within(time.Minute))
		require.ErrorIs(w, err, session.ErrTooLarge)
		require.Contains(w, err.Error(), "election: campaign "+dir)
		require.ErrorIs(w, e.Run(w.Within(time.Minute), neverLeads(w)), session.ErrTooLarge)
		require.Empty(w, w.Children(dir))
	})
}
