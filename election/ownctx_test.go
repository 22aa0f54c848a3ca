package election_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
)

// Resigning with the context that ends with that.
func TestLeaderResignsWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
		l := w.campaign(e)
		require.NoError(w, l.Resign(l.Context()))
		require.Empty(w, w.Children(dir))
		k := w.stand(e)
		l, err := k.Await(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, k.Withdraw(l.Context()))
		require.Empty(w, w.Children(dir))
		require.NoError(w, e.Run(w.Ctx, func(ctx context.Context, l *election.Leadership) error {
			return l.Resign(ctx)
		}))
		require.Empty(w, w.Children(dir))
	})
}
