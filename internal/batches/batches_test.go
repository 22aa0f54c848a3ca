package batches

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestBatchesKeepOrderAndLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfN(rapid.IntRange(0, 50), 0, 100).Draw(t, "sizes")
		most, bytes := rapid.IntRange(1, 20).Draw(t, "most"), rapid.IntRange(1, 100).Draw(t, "bytes")
		var all []int
		for part := range Of(sizes, most, bytes, func(n int) int { return n }) {
			sum := 0
			for _, n := range part {
				sum += n
			}
			require.NotEmpty(t, part)
			require.LessOrEqual(t, len(part), most)
			require.True(t, sum <= bytes || len(part) == 1)
			all = append(all, part...)
		}
		require.True(t, slices.Equal(sizes, all))
		for range Of(sizes, most, bytes, func(n int) int { return n }) {
			break // it can be left
		}
	})
}
