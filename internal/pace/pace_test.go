package pace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPaceGrowsWithLossesAndIsBounded(t *testing.T) {
	var p Pace
	require.False(t, p.Contended())
	require.Zero(t, p.Lost(), "the first loss costs nothing")
	require.True(t, p.Contended())
	last := p.Lost()
	require.Equal(t, shortest, last)
	for range 100 {
		now := p.Lost()
		require.GreaterOrEqual(t, now, last)
		last = now
	}
	require.Equal(t, growth*shortest, last)
	p.Won(longest) // a slow server
	require.True(t, p.Contended())
	require.Equal(t, longest, p.Lost())
	p.Won(0)
	p.Won(0)
	require.False(t, p.Contended())
}
