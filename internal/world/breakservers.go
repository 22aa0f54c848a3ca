package world

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Patience bounds the wait of tests for an event that must come. A long bound
// costs nothing if the event comes, and machines may be slow or stall.
const Patience = time.Minute

// BreakServers restarts, pauses and kills a real server in turn, blows times in
// all, and brings the server back. Sessions of 2 s are lost during some of the
// pauses. Before each blow and after the last, the workers must make progress,
// counted by done: so even on a slow machine, the workers have met the server
// in all its states, and recovered.
func BreakServers(t testing.TB, cluster *apache.Cluster, r *rand.Rand, blows int, done func() int) {
	t.Helper()
	ctx := t.Context()
	for n, first := 0, r.IntN(3); n < blows; n++ {
		progress(t, n, done)
		SleepContext(ctx, time.Duration(r.Int64N(int64(500*time.Millisecond))))
		pause := time.Duration(r.Int64N(int64(time.Second / 2)))
		if r.IntN(2) == 0 {
			pause += 5 * time.Second / 2 // longer than the workers' sessions
		}
		switch (first + n) % 3 {
		case 0:
			require.NoError(t, cluster.Pause(ctx, 0))
			SleepContext(ctx, pause)
			require.NoError(t, cluster.Resume(ctx, 0))
		case 1:
			require.NoError(t, cluster.Kill(ctx, 0))
			SleepContext(ctx, pause/4)
			require.NoError(t, cluster.Launch(ctx, 0))
		case 2:
			require.NoError(t, cluster.Restart(ctx, 0))
		}
	}
	require.NoError(t, cluster.Await(ctx))
	progress(t, blows, done)
}

func progress(t testing.TB, blows int, done func() int) {
	t.Helper()
	before := done()
	require.Eventually(t, func() bool { return done() > before }, Patience, 10*time.Millisecond,
		"nothing gets done after %d blows", blows)
}

// RetryLost repeats do while it fails because of a lost session: the short
// sessions of stress tests are lost whenever the machine stalls. do must be
// safe to repeat. RetryLost returns the last result of do.
func RetryLost(ctx context.Context, do func() error) error {
	for {
		err := do()
		if ctx.Err() != nil || !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrNodeDeleted) {
			return err
		}
		SleepContext(ctx, 10*time.Millisecond)
	}
}
