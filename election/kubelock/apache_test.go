package kubelock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election/kubelock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

func TestLockOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, TickTime: 250 * time.Millisecond})
	connect := func() *session.Client {
		c, err := session.Connect(t.Context(), cluster.Connect(), &session.Options{Timeout: 30 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.Background()) })
		return c
	}
	client := connect()
	l := kubelock.New[record](client, "/kubelock/apache", "me", nil)
	other := kubelock.New[record](connect(), "/kubelock/apache", "other", nil)
	err := l.Run(t.Context(), func(ctx context.Context) error {
		require.NoError(t, l.Create(ctx, record{HolderIdentity: "me", LeaderTransitions: 1}))
		require.NoError(t, l.Update(ctx, record{HolderIdentity: "me", LeaderTransitions: 1}))
		r, _, err := other.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, record{HolderIdentity: "me", LeaderTransitions: 1}, *r)
		require.NoError(t, client.Close(t.Context()))
		<-ctx.Done()
		return nil
	})
	require.ErrorIs(t, err, session.ErrLost)
	r, _, err := other.Get(t.Context())
	require.NoError(t, err)
	require.Equal(t, record{LeaderTransitions: 1}, *r)
	require.NoError(t, other.Run(t.Context(), func(ctx context.Context) error {
		return other.Update(ctx, record{HolderIdentity: "other"})
	}))
}
