package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestFunctionUnderAMutexMayFinishInTheGrace(t *testing.T) {
	world.Graceful{
		Dir: dir,
		Do: func(ctx context.Context, c *session.Client, grace time.Duration, fn func(context.Context) error) error {
			return lock.New(c, dir, &lock.Options{Grace: grace}).Do(ctx, func(ctx context.Context, _ *lock.Held) error { return fn(ctx) })
		},
	}.Test(t)
}

func TestFunctionUnderPermitsMayFinishInTheGrace(t *testing.T) {
	world.Graceful{
		Dir: dir,
		Do: func(ctx context.Context, c *session.Client, grace time.Duration, fn func(context.Context) error) error {
			return lock.NewSemaphore(c, dir, 3, &lock.Options{Grace: grace}).Do(ctx, 2, func(ctx context.Context, p *lock.Permits) error {
				if p.Count() != 2 {
					return world.ErrBroken
				}
				return fn(ctx)
			})
		},
	}.Test(t)
}

func TestSemaphoreDoesNothingWithoutAFunction(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := lock.NewSemaphore(w.Client(), dir, 3, nil)
		require.ErrorIs(w, s.Do(w.Ctx, 1, nil), lock.ErrInvalidArgument)
		require.ErrorIs(w, s.Do(w.Ctx, 4, nil), lock.ErrPermits)
		require.ErrorIs(w, s.Do(w.Ctx, 4, func(context.Context, *lock.Permits) error { return nil }), lock.ErrPermits)
		require.Empty(w, w.Children(dir))
	})
}
