package shareformat_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/shareformat"
	"pgregory.net/rapid"
)

// The difference between two lists, applied to the first one, is the second one.
func TestADifferenceAndItsBaseMakeTheShard(t *testing.T) {
	names := rapid.SliceOfDistinct(rapid.StringMatching(`[a-d]{1,3}`), rapid.ID[string])
	rapid.Check(t, func(t *rapid.T) {
		base, now := slices.Sorted(slices.Values(names.Draw(t, "base"))), slices.Sorted(slices.Values(names.Draw(t, "now")))
		added, removed := shareformat.Difference(base, now)
		s := shareformat.Shard{Format: shareformat.FormatDelta, Count: len(now), Resources: added, Removed: removed, Sum: shareformat.Sum(now)}
		got := s.Assemble(base)
		require.True(t, slices.Equal(now, got), "%q", got)
		require.NoError(t, s.CheckResources(got))
		other := names.Draw(t, "other")
		slices.Sort(other)
		if got := s.Assemble(other); !slices.Equal(got, now) {
			require.Error(t, s.CheckResources(got), "%q", got)
		}
	})
}

func TestTheChecksumIsThatOfTheDocumentation(t *testing.T) {
	require.Equal(t, "cbf29ce484222325", shareformat.Sum(nil))
	require.NotEqual(t, shareformat.Sum([]string{"ab", "c"}), shareformat.Sum([]string{"a", "bc"}))
}
