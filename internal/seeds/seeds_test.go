package seeds_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/seeds"
)

func TestNoHistoryIsAnError(t *testing.T) {
	t.Setenv(seeds.OneVariable, "")
	_, err := seeds.List(0)
	require.ErrorContains(t, err, "no history to run")
}

func TestAnInvalidSeedIsAnError(t *testing.T) {
	for _, wrong := range []string{"x", "-1", "1.5"} {
		t.Setenv(seeds.OneVariable, wrong)
		_, err := seeds.List(5)
		require.ErrorContains(t, err, wrong)
	}
}

func TestTheEnvironmentAsksForMoreHistoriesOrForOne(t *testing.T) {
	t.Setenv(seeds.OneVariable, "")
	t.Setenv(seeds.CountVariable, "7")
	require.Equal(t, 7, seeds.Count(5))
	require.Equal(t, 9, seeds.Count(9))
	require.False(t, seeds.One())
	t.Setenv(seeds.OneVariable, "731")
	list, err := seeds.List(5)
	require.NoError(t, err)
	require.Equal(t, []uint64{731}, list)
	require.True(t, seeds.One())
}
