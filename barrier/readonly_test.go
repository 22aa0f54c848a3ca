package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A gate lets its waiters through for certain news only: a server without a quorum has none.
func TestGateWaitsWithoutAQuorum(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		require.NoError(w, w.Server.Create("/g", nil))
		w.Pass(time.Second)
		g := barrier.NewGate(w.ClientWith(session.Options{ReadOnly: true}), "/g", nil)
		ended := make(chan error, 1)
		ctx, cancel := context.WithCancel(w.Ctx)
		defer cancel()
		// Waited for below; ends with the gate.
		go func() { ended <- g.Wait(ctx) }()
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, w.Server.Stop(3))
		w.Pass(10 * time.Minute)
		require.Empty(w, ended)
		require.NoError(w, w.Server.Restart(2))
		w.Pass(10 * time.Second)
		require.NoError(w, w.Server.Delete("/g"))
		require.NoError(w, <-ended)
	})
}
