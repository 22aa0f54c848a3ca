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

// Patience is how long tests wait for an event that must come. It costs nothing where
// it comes, and machines may be slow, and stall.
const Patience = time.Minute

// BreakServers restarts, pauses and kills a real server in turn, so many times in all, and
// brings it back. Sessions of 2 s are lost over some of the pauses. Before each blow and
// after the last those who work must get something done, as done counts: however slow
// the machine is, they have met the server in all its states, and got over it.
func BreakServers(t testing.TB, cluster *apache.Cluster, r *rand.Rand, blows int, done func() int) {
	t.Helper()
	ctx := t.Context()
	for n, first := 0, r.IntN(3); n < blows; n++ {
		progress(t, n, done)
		SleepContext(ctx, time.Duration(r.Int64N(int64(500*time.Millisecond))))
		pause := time.Duration(r.Int64N(int64(time.Second / 2)))
		if r.IntN(2) == 0 {
			pause += 5 * time.Second / 2 // longer than the sessions of who works
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

// RetryLost repeats do, which is nothing to repeat, for as long as it fails because the
// session is lost: sessions as short as those of stress tests are lost whenever the
// machine stalls. It returns what do says in the end.
func RetryLost(ctx context.Context, do func() error) error {
	for {
		err := do()
		if ctx.Err() != nil || !errors.Is(err, session.ErrLost) && !errors.Is(err, session.ErrNodeDeleted) {
			return err
		}
		SleepContext(ctx, 10*time.Millisecond)
	}
}
