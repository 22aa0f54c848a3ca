package idle_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/idle"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestIdleSessionsOfEachLibraryAreMeasured(t *testing.T) {
	for _, library := range idle.Libraries() {
		srv, err := zktest.Start(&zktest.Options{TickTime: 100 * time.Millisecond})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		f, err := idle.Measure(ctx, idle.Setting{
			Servers: srv.Addr(), Sessions: 5, Library: library, Timeout: time.Second, Time: 500 * time.Millisecond,
		})
		cancel()
		require.NoError(t, err)
		assert.Equal(t, 5, f.Sessions)
		assert.Equal(t, library, f.Library)
		assert.Greater(t, f.Goroutines, 1.0)
		// At once, but for sessions that were lost on a busy machine: they expire.
		assert.Eventually(t, func() bool { return len(srv.Sessions()) == 0 }, time.Minute, time.Millisecond, "all are closed")
		require.NoError(t, srv.Close())
	}
}

func TestUnknownLibraryIsRefused(t *testing.T) {
	_, err := idle.Measure(context.Background(), idle.Setting{Library: "some"})
	require.ErrorContains(t, err, `"some"`)
}
