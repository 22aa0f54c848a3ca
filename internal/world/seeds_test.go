package world

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/seeds"
)

// ran collects the seeds run by RunSeeds.
func ran(t *testing.T, n int) []uint64 {
	var mu sync.Mutex
	var list []uint64
	t.Run("histories", func(t *testing.T) {
		RunSeeds(t, n, 1, func(_ *World, seed uint64) error {
			mu.Lock()
			defer mu.Unlock()
			list = append(list, seed)
			return nil
		})
	})
	return list
}

func TestAllSeedsRun(t *testing.T) {
	t.Setenv(seeds.OneVariable, "")
	t.Setenv(seeds.CountVariable, "")
	require.ElementsMatch(t, []uint64{0, 1, 2, 3, 4}, ran(t, 5))
	require.Equal(t, []uint64{0}, ran(t, 1))
	want := []int{0, 1, 2, 40}
	if testing.Short() {
		want = []int{0, 1, 2, 4}
	}
	require.Equal(t, want, []int{Seeds(0), Seeds(1), Seeds(2), Seeds(40)})
}

func TestASoakRunsMoreSeeds(t *testing.T) {
	t.Setenv(seeds.OneVariable, "")
	t.Setenv(seeds.CountVariable, "7")
	require.ElementsMatch(t, []uint64{0, 1, 2, 3, 4, 5, 6}, ran(t, Seeds(5)))
}

// A soak prints seeds beyond the default range.
func TestOneSeedRunsWhereverItLies(t *testing.T) {
	t.Setenv(seeds.CountVariable, "")
	for only, seed := range map[string]uint64{"2": 2, "731": 731, "18446744073709551615": 1<<64 - 1} {
		t.Setenv(seeds.OneVariable, only)
		require.Equal(t, []uint64{seed}, ran(t, Seeds(5)))
		require.True(t, OneSeed())
	}
}
