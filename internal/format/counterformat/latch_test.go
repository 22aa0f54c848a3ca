package counterformat_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/counterformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestLatchHasRoundAndCountInOneNumber(t *testing.T) {
	for _, c := range []struct{ round, count int32 }{{0, 0}, {1, 0}, {1, 5}, {counterformat.MaxCount, counterformat.MaxCount}} {
		round, count, ok := counterformat.SplitLatch(counterformat.JoinLatch(c.round, c.count))
		require.True(t, ok)
		require.Equal(t, c, struct{ round, count int32 }{round, count})
	}
	require.Equal(t, []byte{0, 0, 0, 2, 0, 0, 0, 3}, counterformat.Long.Encode(counterformat.JoinLatch(2, 3)))
	for _, v := range []int64{-1, math.MinInt64, 1, counterformat.MaxCount, 1 << 31, 1<<32 + 1<<31} {
		_, _, ok := counterformat.SplitLatch(v)
		require.False(t, ok, "%d", v)
	}
	require.Equal(t, int32(1), counterformat.NextRound(0))
	require.Equal(t, int32(1), counterformat.NextRound(counterformat.MaxCount))
}

func TestMarksOfLatchesAreTheirOwn(t *testing.T) {
	name := znode.Protected(counterformat.LatchBase)
	require.True(t, counterformat.IsLatch(name))
	require.False(t, counterformat.IsWriter(name))
	require.True(t, counterformat.IsMark(name))
	require.True(t, counterformat.IsMark(znode.Protected(counterformat.WriterBase)))
	require.False(t, counterformat.IsMark("x"))
	require.False(t, counterformat.IsLatch(znode.Protected(counterformat.WriterBase)))
	require.False(t, counterformat.IsLatch("countdown"))
}
