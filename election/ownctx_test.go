package election_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
)

// A candidacy ends the context that it is withdrawn with, and Run's work may resign.
func TestLeaderResignsWithItsOwnContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		e := elector(w.Client(), "me")
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
