package world

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// Connect makes a client of real servers, which is closed with the test.
func Connect(t testing.TB, servers string, o session.Options) *session.Client {
	t.Helper()
	c, err := session.Connect(t.Context(), servers, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, c.Close(ctx))
	})
	return c
}

// LastSeen rests for d after from, or until ctx ends, and returns the last moment at
// which ctx was seen to last, from if there is none: up to then a holder surely had
// what ctx stands for. When it notices that ctx has ended would not do: on a machine
// that stalls that is any time later.
func LastSeen(ctx context.Context, from time.Time, d time.Duration) time.Time {
	for seen := from; ; SleepContext(ctx, time.Millisecond) {
		now := time.Now()
		if ctx.Err() != nil {
			return seen
		}
		if seen = now; now.Sub(from) >= d {
			return seen
		}
	}
}
