package barrierformat

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// numbers is Ranges spelled out.
func numbers(s Ranges) (out []int32) {
	for _, r := range s {
		for n := int64(r.Lo); n <= int64(r.Hi); n++ {
			out = append(out, int32(n))
		}
	}
	return out
}

// drawNumbers draws an ascending list, with rows and with gaps.
func drawNumbers(t *rapid.T, label string) []int32 {
	steps := rapid.SliceOfN(rapid.SampledFrom([]int32{1, 1, 1, 1, 2, 3, 50}), 0, 40).Draw(t, label)
	n, out := rapid.Int32Range(-1, 5).Draw(t, label+" from"), []int32(nil)
	for _, by := range steps {
		n += by
		out = append(out, n)
	}
	return out
}

func fromNumbers(list []int32) (s Ranges) {
	for _, n := range list {
		s = s.Add(n)
	}
	return s
}

func TestRangesAreTheSetThatTheyWereMadeOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawNumbers(t, "numbers")
		s := fromNumbers(list)
		require.Equal(t, list, numbers(s))
		require.Equal(t, int64(len(list)), s.Count())
		back, err := ParseRanges(s.String())
		require.NoError(t, err)
		require.Equal(t, s, back)
		n := rapid.Int32Range(-2, 200).Draw(t, "n")
		require.Equal(t, slices.Contains(list, n), s.Contains(n))
		above := 0
		for _, m := range list {
			if m > n {
				above++
			}
		}
		require.Equal(t, int64(above), s.Above(n))
		skip := rapid.IntRange(0, len(list)).Draw(t, "skip")
		k := rapid.IntRange(0, len(list)-skip).Draw(t, "k")
		want := list[len(list)-skip-k : len(list)-skip]
		require.Equal(t, append([]int32(nil), want...), numbers(s.Slice(int64(skip), int64(k))))
	})
}

func TestRangesAreWrittenAsRanges(t *testing.T) {
	for text, list := range map[string][]int32{
		"": nil, "0": {0}, "0-2": {0, 1, 2}, "1,3-4,9": {1, 3, 4, 9}, "2147483646": {2147483646},
	} {
		require.Equal(t, text, fromNumbers(list).String())
		s, err := ParseRanges(text)
		require.NoError(t, err)
		require.Equal(t, list, numbers(s))
	}
}

func TestRangesThatNoClientWritesAreRefused(t *testing.T) {
	for _, text := range []string{
		",", "1,", "a", "-1", "1-", "-", "2-1", "1-1", "1,2", "3,1", "1-3,2", "1-3,4", "01", "+1", " 1", "1 ",
		"2147483648", "0-2147483648", "99999999999999999999", "1--2", "1,,3",
	} {
		_, err := ParseRanges(text)
		require.ErrorIs(t, err, errRanges, "%q", text)
	}
}

func TestRangesAtTheEndOfTheNumbers(t *testing.T) {
	s, err := ParseRanges("0-2147483647")
	require.NoError(t, err)
	require.Equal(t, int64(1)<<31, s.Count())
	require.Equal(t, int64(1)<<31, s.Above(-1))
	require.Zero(t, s.Above(2147483647))
	require.Equal(t, Ranges{{2147483646, 2147483647}}, s.Slice(0, 2))
}

func FuzzRanges(f *testing.F) {
	for _, seed := range []string{"", "0", "0-31999", "1,3-4,9", "1--1", "9-2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := ParseRanges(text)
		if err == nil {
			require.Equal(t, text, s.String())
			require.GreaterOrEqual(t, s.Count(), int64(len(s)))
		}
	})
}

func TestRangesHaveTheirEnds(t *testing.T) {
	s, err := ParseRanges("0-31,40")
	require.NoError(t, err)
	for n, want := range map[int32]bool{0: true, 31: true, 32: false, 39: false, 40: true, 41: false, -1: false} {
		require.Equal(t, want, s.Contains(n), n)
	}
	require.False(t, Ranges(nil).Contains(0))
}
