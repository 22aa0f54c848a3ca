package locktable_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers denies no lock that a majority has
// confirmed: the listing fails, or waits for another leader.
func TestALeaderWithoutFollowersCannotReportATableAsEmpty(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		alone := w.Server.Leader()
		mine := locktable.New(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), dir, nil)
		other := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
		entries, err := mine.Entries(w.Ctx)
		require.NoError(w, err)
		require.Empty(w, entries)
		w.Settle()
		w.Server.IsolateServer(alone)
		for w.Server.Leader() == alone {
			w.Pass(10 * time.Millisecond)
		}
		w.try(w.join(other, nil), "a")
		require.NotEqual(w, alone, w.Server.Leader())
		entries, err = mine.Entries(w.Within(time.Minute))
		require.False(w, err == nil && len(entries) == 0, "a lock is held")
	})
}
