package chance_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/chance"
)

// draw draws some numbers of each kind.
func draw(s *chance.Source) []float64 {
	list := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	chance.Shuffle(s, list)
	return append(list, float64(s.Int64N(1<<50)), s.Float64())
}

func TestASeedDecidesAllNumbers(t *testing.T) {
	require.Equal(t, draw(chance.New(3)), draw(chance.New(3)))
	require.NotEqual(t, draw(chance.New(3)), draw(chance.New(4)))
}

func TestTheNilSourceIsTheGlobalGenerator(t *testing.T) {
	require.NotEqual(t, draw(nil), draw(nil))
	require.Nil(t, chance.From(t.Context()))
}

func TestAContextCarriesASource(t *testing.T) {
	s := chance.New(1)
	require.Same(t, s, chance.From(chance.With(t.Context(), s)))
}

func TestShuffleKeepsTheElements(t *testing.T) {
	for _, s := range []*chance.Source{nil, chance.New(7)} {
		list := []int{3, 1, 2}
		seen := map[int]bool{}
		for range 100 {
			chance.Shuffle(s, list)
			seen[list[0]] = true
			require.Equal(t, []int{1, 2, 3}, slices.Sorted(slices.Values(list)))
		}
		require.Len(t, seen, 3, "each comes first now and then")
	}
}
