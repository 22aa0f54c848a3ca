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

func TestNamesOfAContenderTellThatItIsOne(t *testing.T) {
	for _, fresh := range []func() string{
		func() string { return Protected("lock-") },
		func() string { return Protected("3-lease-") },
		func() string { return Hex("__lock__") },
	} {
		first, other := fresh(), fresh()
		second := Renamed(first+"0000000007", other)
		require.Len(t, second, len(other))
		require.NotEqual(t, first, second)
		require.NotEqual(t, other, second)
		require.Equal(t, OwnerOf(first), OwnerOf(second))
		require.Equal(t, OwnerOf(first), OwnerOf(first+"0000000007"))
		require.NotEqual(t, OwnerOf(first), OwnerOf(other))
		id, base, ok := Protection(second)
		_, want, was := Protection(other)
		require.Equal(t, was, ok)
		require.Equal(t, want, base)
		require.True(t, !ok || IsUUID(id), id)
	}
	for _, name := range []string{"", "lock-", "lock-0000000004", "a-long-name-of-a-stranger-lock-0000000004", "_c_short-lock-0000000001"} {
		require.Empty(t, OwnerOf(name), name)
		require.Equal(t, "fresh", Renamed(name, "fresh"))
	}
	require.Equal(t, "fresh", Renamed(Protected("lock-"), "fresh"))
}
