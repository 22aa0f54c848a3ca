package barrier_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	_, stateAt := barrier.StateAt(t.Context(), nil, "/b")
	world.Misuse{
		Invalid: barrier.ErrInvalidArgument,
		Zero: map[string]any{
			"Barrier": new(barrier.Barrier), "Double": new(barrier.Double), "Gate": new(barrier.Gate), "Seat": new(barrier.Seat),
		},
		NoClient: map[string]any{
			"New": barrier.New(nil, "/b", 2, nil), "NewDouble": barrier.NewDouble(nil, "/d", 2, nil),
			"NewGate": barrier.NewGate(nil, "/g", nil), "StateAt": stateAt,
		},
	}.Check(t)
}
