package barrier_test

import (
	"context"
	"testing"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestLostSeatDoesNotBlockItsParty(t *testing.T) {
	var parties *barrier.Double // the same for both calls of Enter: see there
	world.LostHolderDoesNotBlockItself(t, func(ctx context.Context, c *session.Client) (world.ExclusiveHold, error) {
		if parties == nil {
			parties = barrier.NewDouble(c, "/double", 1, nil)
		}
		seat, err := parties.Enter(ctx)
		if err != nil {
			return world.ExclusiveHold{}, err
		}
		return world.ExclusiveHold{Held: seat.Context(), GiveBack: seat.Leave}, nil
	})
}
