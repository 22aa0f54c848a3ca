package backoff

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBackoffGrowsWithLossesAndIsBounded(t *testing.T) {
	var b Backoff
	require.False(t, b.Contended())
	require.Zero(t, b.Lost(), "the first loss costs nothing")
	require.True(t, b.Contended())
	last := b.Lost()
	require.Equal(t, shortest, last)
	for range 100 {
		now := b.Lost()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.Equal(t, growth*shortest, last)
	b.Won(longest) // a slow server
	require.True(t, b.Contended())
	require.Equal(t, longest, b.Lost())
	b.Won(0)
	b.Won(0)
	require.False(t, b.Contended())
}
