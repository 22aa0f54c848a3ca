package election_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLostLeaderDoesNotBlockItself(t *testing.T) {
	world.LostHolderDoesNotBlockItself(t, func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
		l, err := elector(c, "").Campaign(ctx)
		if err != nil {
			return world.ExclusiveHold{}, err
		}
		return world.ExclusiveHold{Held: l.Context(), GiveBack: l.Resign}, nil
	})
}
