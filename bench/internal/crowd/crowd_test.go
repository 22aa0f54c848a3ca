package crowd_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/crowd"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestEachTaskIsMeasured(t *testing.T) {
	for _, what := range crowd.Tasks() {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			srv, err := zktest.Start(nil)
			require.NoError(t, err)
			defer func() { require.NoError(t, srv.Close()) }()
			require.NoError(t, srv.Create("/root", nil))
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			figures, err := crowd.Measure(ctx, crowd.Setting{
				Servers: srv.Addr(), Root: "/root", Clients: 20, What: what, Timeout: 10 * time.Second, Tick: 2 * time.Second, Shared: what == "lock",
			})
			require.NoError(t, err)
			require.NotEmpty(t, figures)
			for _, f := range figures {
				assert.Equal(t, 20, f.Clients)
				assert.Greater(t, f.Requests, int64(20))
				assert.Greater(t, f.Read, int64(20*50))
				assert.Greater(t, f.Written, int64(20*50))
				assert.Positive(t, f.Seconds)
			}
		})
	}
}

// A client that is warm has had a turn before what is measured.
func TestWarmClientsHaveHadATurn(t *testing.T) {
	t.Parallel()
	for _, warm := range []bool{false, true} {
		srv, err := zktest.Start(nil)
		require.NoError(t, err)
		require.NoError(t, srv.Create("/root", nil))
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		figures, err := crowd.Measure(ctx, crowd.Setting{
			Servers: srv.Addr(), Root: "/root", Clients: 5, What: "lock", Timeout: 4 * time.Second, Tick: 2 * time.Second, Warm: warm,
		})
		require.NoError(t, err)
		require.Len(t, figures, 1)
		deletions := map[bool]int{false: 5, true: 10}[warm]
		assert.Equal(t, deletions, srv.Stats().Requests["delete"], "one for each turn")
		assert.Less(t, figures[0].Requests, int64(5*9), "of one turn each")
		require.NoError(t, srv.Close())
	}
}

func TestUnknownTaskIsRefused(t *testing.T) {
	_, err := crowd.Measure(context.Background(), crowd.Setting{What: "some"})
	require.ErrorContains(t, err, `"some"`)
}
