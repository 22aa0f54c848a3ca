package lock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLostHolderDoesNotBlockItself(t *testing.T) {
	permits := func(o *lock.Options) func(context.Context, *session.Client) (world.ExclusiveHold, error) {
		return func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
			p, err := lock.NewSemaphore(c, dir, 3, o).Acquire(ctx, 2)
			if err != nil {
				return world.ExclusiveHold{}, err
			}
			return world.ExclusiveHold{Held: p.Context(), GiveBack: p.Release}, nil
		}
	}
	for name, take := range map[string]func(context.Context, *session.Client) (world.ExclusiveHold, error){
		"mutex": func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
			h, err := lock.New(c, dir, nil).Lock(ctx)
			if err != nil {
				return world.ExclusiveHold{}, err
			}
			return world.ExclusiveHold{Held: h.Context(), GiveBack: h.Unlock}, nil
		},
		"semaphore":         permits(nil),
		"Curator semaphore": permits(&lock.Options{CuratorV2: true}),
		"several locks": func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
			g, err := lock.All(lock.New(c, dir, nil), lock.New(c, dir+"2", nil)).Lock(ctx)
			if err != nil {
				return world.ExclusiveHold{}, err
			}
			return world.ExclusiveHold{Held: g.Context(), GiveBack: g.Unlock}, nil
		},
	} {
		t.Run(name, func(t *testing.T) { world.LostHolderDoesNotBlockItself(t, take) })
	}
}
