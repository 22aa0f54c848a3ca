package lockformat_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/znode"
)

func TestRanksAreReadAsTheyAreWritten(t *testing.T) {
	for _, r := range []lockformat.Rank{{1, 0}, {7, 12}, {lockformat.MaxPriority, 1<<31 - 2}} {
		for marker, before := range map[string]string{
			lockformat.CuratorLatch: znode.Protected(r.RankText() + "-"), lockformat.CuratorMutex: znode.Protected(r.RankText() + "-"),
			lockformat.KazooLock: znode.Hex("-" + r.RankText()),
		} {
			name := before + marker + "0000000003"
			require.Equal(t, r, lockformat.RankOf(name, marker), name)
			require.Len(t, znode.Parse([]string{name}, lockformat.ElectionMarkers()...).Entries, 1)
			rest, _ := lockformat.CutRank(before)
			require.Len(t, rest, len(before)-len(r.RankText())-1, "only the rank is cut: %q of %q", rest, before)
		}
	}
	for _, name := range []string{
		znode.Protected(lockformat.CuratorLatch), znode.Hex(lockformat.KazooLock), "latch-", "_c_x-0.1-latch-", "_c_x-01.1-latch-", "_c_x-1.-latch-",
		"_c_x-1000001.1-latch-", "_c_x-1.2147483647-latch-", "_c_x-+1.1-latch-", "_c_x-1-latch-",
	} {
		require.Zero(t, lockformat.RankOf(name+"0000000003", lockformat.CuratorLatch), name)
	}
	r, ok := lockformat.ParsePlace(lockformat.PlaceName(7) + "0000000012")
	require.True(t, ok)
	require.Equal(t, lockformat.Rank{Priority: 7, Number: 12}, r)
	for _, name := range []string{"", "x", "_c_x-7-rank-", "_c_x-0-rank-0000000001", "_c_x-07-rank-0000000001", "_c_x-7-rank-2147483647", "_c_x-rank-0000000001", "_c_x-7-lock-0000000001"} {
		_, ok := lockformat.ParsePlace(name)
		require.False(t, ok, name)
	}
}

func TestHigherPrioritiesComeFirstAndThenTheEarlier(t *testing.T) {
	order := []lockformat.Rank{{9, 5}, {7, 1}, {7, 2}, {1, 0}, {}}
	for i, a := range order {
		for j, b := range order {
			require.Equal(t, i < j, a.Better(b), "%v, %v", a, b)
		}
	}
}
