package world

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// ran collects the seeds run by RunSeeds.
func ran(t *testing.T, n int) []uint64 {
	var mu sync.Mutex
	var seeds []uint64
	t.Run("histories", func(t *testing.T) {
		RunSeeds(t, n, 1, func(_ *World, seed uint64) error {
			mu.Lock()
			defer mu.Unlock()
			seeds = append(seeds, seed)
			return nil
		})
	})
	return seeds
}

func TestAllSeedsRun(t *testing.T) {
	t.Setenv(seedVariable, "")
	t.Setenv(seedsVariable, "")
	require.ElementsMatch(t, []uint64{0, 1, 2, 3, 4}, ran(t, Seeds(5)))
	require.Equal(t, []uint64{0}, ran(t, 1))
}

func TestASoakRunsMoreSeeds(t *testing.T) {
	t.Setenv(seedVariable, "")
	t.Setenv(seedsVariable, "7")
	require.ElementsMatch(t, []uint64{0, 1, 2, 3, 4, 5, 6}, ran(t, Seeds(5)))
}

// A soak prints seeds beyond the default range.
func TestOneSeedRunsWhereverItLies(t *testing.T) {
	t.Setenv(seedsVariable, "")
	for only, seed := range map[string]uint64{"2": 2, "731": 731, "18446744073709551615": 1<<64 - 1} {
		t.Setenv(seedVariable, only)
		require.Equal(t, []uint64{seed}, ran(t, Seeds(5)))
		require.True(t, OneSeed())
	}
}

func TestNoHistoryIsAnError(t *testing.T) {
	_, err := seedList(0, "")
	require.ErrorContains(t, err, "no history to run")
	for _, wrong := range []string{"x", "-1", "1.5"} {
		_, err := seedList(5, wrong)
		require.ErrorContains(t, err, wrong)
	}
}
