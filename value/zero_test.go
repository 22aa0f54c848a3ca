package value_test

import (
	"testing"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/value"
)

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid:  value.ErrInvalidArgument,
		Zero:     map[string]any{"Value": new(value.Value)},
		NoClient: map[string]any{"New": value.New(nil, "/v", nil)},
	}.Check(t)
}
