package world

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Away stops all servers until all holds are lost, and starts them again after
// some seconds. The servers then give every known session its whole timeout.
func (w *World) Away(held context.Context) {
	w.Helper()
	servers := strings.Count(w.Server.Addr(), ",") + 1
	for i := range servers {
		require.NoError(w, w.Server.Stop(i+1))
	}
	<-held.Done()
	require.ErrorIs(w, context.Cause(held), session.ErrTrustRanOut)
	w.Pass(3 * time.Second)
	for i := range servers {
		require.NoError(w, w.Server.Restart(i+1))
	}
}

// ExclusiveHold is something held.
type ExclusiveHold struct {
	Held     context.Context
	GiveBack func(context.Context) error
}

// LostHolderDoesNotBlockItself is a test: a holder that lost its session in an
// outage, and whose work has ended, gets its turn again as soon as servers are
// available, without waiting for the expiry of its own former session.
func LostHolderDoesNotBlockItself(t *testing.T, take func(ctx context.Context, c *session.Client) (ExclusiveHold, error)) {
	t.Helper()
	In(t, &zktest.Options{Servers: 3}, func(w *World) {
		c := w.Client()
		turn, err := take(w.Ctx, c)
		require.NoError(w, err)
		w.Away(turn.Held)
		require.ErrorIs(w, turn.GiveBack(w.Ctx), session.ErrLost)
		back := time.Now()
		turn, err = take(w.Within(time.Minute), c)
		require.NoError(w, err)
		require.Less(w, time.Since(back), 5*time.Second, "the timeout of the former session is 10 s")
		require.NoError(w, turn.GiveBack(w.Ctx))
	})
}
