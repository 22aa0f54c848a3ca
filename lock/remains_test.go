package lock_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLostHolderOfSeveralDoesNotBlockItself(t *testing.T) {
	for name, take := range map[string]func(context.Context, *session.Client) (world.ExclusiveHold, error){
		"leases": func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
			p, err := curatorSemaphore(c).Acquire(ctx, 2)
			if err != nil {
				return world.ExclusiveHold{}, err
			}
			return world.ExclusiveHold{Held: p.Context(), GiveBack: p.Release}, nil
		},
		"locks": func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
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
