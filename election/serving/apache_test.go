package serving_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/election/serving"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// On a real server: a request in progress keeps the next instance from serving, and the end
// of a session ends the request.
func TestNextLeaderServesAfterTheFormerOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96, TickTime: 250 * time.Millisecond})
	type instance struct {
		*serving.Leader
		client *session.Client
		stop   context.CancelFunc
		out    chan error
	}
	start := func(id string) instance {
		client, err := session.Connect(t.Context(), cluster.Connect(), &session.Options{Timeout: 30 * time.Second})
		require.NoError(t, err)
		t.Cleanup(func() { _ = client.Close(context.Background()) })
		i := instance{client: client, out: make(chan error, 1)}
		i.Leader = serving.New(election.New(client, "/serving/apache", &election.Options{ID: id}), nil)
		ctx, stop := context.WithCancel(t.Context())
		i.stop = stop
		// Waited for through out; ends with ctx.
		go func() { i.out <- i.Run(ctx) }()
		return i
	}
	a := start("a")
	admitted(t, a.Leader, true)
	b := start("b")
	ctx, done, err := a.Admit(t.Context())
	require.NoError(t, err)
	a.stop()
	admitted(t, a.Leader, false)
	require.NoError(t, ctx.Err())
	_, _, err = b.Admit(t.Context())
	require.ErrorIs(t, err, serving.ErrNotLeading)
	require.Empty(t, a.out)
	done()
	require.NoError(t, <-a.out)
	admitted(t, b.Leader, true)

	ctx, done, err = b.Admit(t.Context())
	require.NoError(t, err)
	require.NoError(t, b.client.Close(t.Context()))
	<-ctx.Done()
	require.ErrorIs(t, context.Cause(ctx), session.ErrLost)
	done()
	err = <-b.out
	require.True(t, errors.Is(err, session.ErrClosed), "%v", err)
}
