package znode

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlacesAreReadAsTheyAreWritten(t *testing.T) {
	e, own, ok := ParsePlace(PlaceData("_c_x-lock-", []byte("a\nb")), "latch-", "lock-")
	require.True(t, ok)
	require.Equal(t, Entry{Name: "_c_x-lock-", Marker: "lock-"}, e)
	require.Equal(t, "a\nb", string(own))
	for _, data := range []string{"", "_c_x-lock-", "other\nme", "\nme"} {
		_, _, ok := ParsePlace([]byte(data), "latch-", "lock-")
		require.False(t, ok, "%q", data)
	}
	require.Equal(t, []string{"place-0000000000", "place-2147483647", "place-2147483648", "place-4294967295"},
		[]string{PlaceName(0), PlaceName(math.MaxInt32), PlaceName(math.MinInt32), PlaceName(-1)})
	require.Equal(t, "_c_x-lock-", Unnumbered("_c_x-lock-0000000007"))
	require.Empty(t, Unnumbered("7"))
}
