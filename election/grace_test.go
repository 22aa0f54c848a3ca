package election_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLeaderMayFinishInTheGrace(t *testing.T) {
	world.Graceful{
		Dir: dir, Confirms: true,
		Do: func(ctx context.Context, c *session.Client, grace time.Duration, fn func(context.Context) error) error {
			return election.New(c, dir, &election.Options{Grace: grace}).Run(ctx, func(ctx context.Context, _ *election.Leadership) error { return fn(ctx) })
		},
	}.Test(t)
}

// The context's own error is another one than the function's when the grace is over.
func TestRunEndsWithNilAfterADeadlineAndTheGrace(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		began := time.Now()
		e := election.New(w.Client(), dir, &election.Options{Grace: time.Second})
		require.NoError(w, e.Run(w.Within(time.Minute), func(ctx context.Context, _ *election.Leadership) error {
			<-ctx.Done()
			require.Equal(w, 61*time.Second, time.Since(began).Truncate(time.Second))
			require.ErrorIs(w, context.Cause(ctx), context.DeadlineExceeded)
			return ctx.Err()
		}))
	})
}
