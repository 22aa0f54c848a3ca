package provider

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// TestGetWaitsForTheListAndForNothingElse: the list is loaded in the moment in which
// Run ends, or the connection does.
func TestGetWaitsForTheListAndForNothingElse(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/s", nil))
		require.NoError(w, w.Server.Create("/s/one", nil))
		c := w.Client()
		p := New(discovery.NewRegistry(c, "/", nil), "s", RoundRobin(), nil)
		for range 50 {
			ctx, cancel := context.WithCancel(w.Ctx)
			p.view = cache.NewChildren(c, "/s", func(session.Node) (discovery.Instance, error) {
				cancel()
				return discovery.Instance{ID: "one"}, nil
			}, nil)
			got := make(chan error, 1)
			// Waited for below; ends with the list.
			go func() { _, err := p.Get(w.Ctx); got <- err }()
			w.Settle()
			require.NoError(w, p.Run(ctx))
			require.NoError(w, <-got)
			cancel()
		}
	})
}
