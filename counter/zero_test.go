package counter_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid: counter.ErrInvalidArgument,
		Zero: map[string]any{
			"Counter": new(counter.Counter), "Latch": new(counter.Latch), "Sequence": new(counter.Sequence), "Shared": new(counter.Shared),
		},
		NoClient: map[string]any{
			"New": counter.New(nil, "/c", nil), "NewLatch": counter.NewLatch(nil, "/l", nil), "NewSequence": counter.NewSequence(nil, "/q", nil),
			"NewShared": counter.NewShared(nil, "/s", 0, nil),
		},
	}.Check(t)
}
