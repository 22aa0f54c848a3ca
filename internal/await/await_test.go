package await_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/internal/await"
)

var errStop = errors.New("stop")

func TestClosedPrefersTheEventToTheContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errStop)
	done := make(chan struct{})
	require.ErrorIs(t, await.Closed(ctx, done), errStop)
	close(done)
	for range 1000 {
		require.NoError(t, await.Closed(ctx, done))
	}
}

func TestClosedWaitsForWhicheverIsFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		require.NoError(t, await.Closed(t.Context(), done))
		require.Equal(t, time.Second, time.Since(began))
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, errStop)
		defer cancel()
		require.ErrorIs(t, await.Closed(ctx, make(chan struct{})), errStop)
		require.Equal(t, 2*time.Second, time.Since(began))
	})
}
