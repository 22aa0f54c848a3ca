package world

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Connect makes a client of real servers; the client is closed with the test. Its events
// must add up.
func Connect(t testing.TB, servers string, o session.Options) *session.Client {
	t.Helper()
	l := NewLedger()
	o.Observer = observe.Join(o.Observer, l)
	c, err := session.Connect(t.Context(), servers, &o)
	require.NoError(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		require.NoError(t, c.Close(ctx))
		if !t.Failed() {
			// Losses are reported by goroutines of their own.
			require.Eventually(t, func() bool { return l.Check() == nil }, 10*time.Second, time.Millisecond, "%v", l)
		}
	})
	return c
}

// LastSeen waits for d after from, or until ctx ends, and returns the last
// moment at which ctx was known to be alive, or from: up to this moment the
// holder certainly had the hold of ctx. The moment of noticing the end would
// not do: on a machine that stalls, it may be much later.
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

// OwnAddress returns an address for a test's server that is stopped and started
// again. No other process takes the port in between: on Linux the address is a
// random loopback address of this machine.
func OwnAddress() string {
	if runtime.GOOS != "linux" {
		return "127.0.0.1:0"
	}
	return fmt.Sprintf("127.%d.%d.%d:0", 1+rand.IntN(254), rand.IntN(256), 1+rand.IntN(254))
}
