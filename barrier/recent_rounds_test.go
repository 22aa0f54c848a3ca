package barrier

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// The recent rounds tell the round of each party, as far back as they go, and tell their
// range.
func TestRecentRoundsTellThePartiesLetThrough(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 40).Draw(t, "k")
		n := int64(rapid.IntRange(0, 30).Draw(t, "rounds"))
		var r recentRounds
		truth := map[string]int64{}
		for round := int64(1); round <= n; round++ {
			var chosen []member
			for range k {
				name := barrierformat.PartyName("x") + "0000000000"
				truth[barrierformat.UUIDOf(name)] = round
				chosen = append(chosen, member{name: name})
			}
			r = r.next(round, chosen)
		}
		oldest := n + 1
		for uuid, want := range truth {
			if got, ok := r.round(uuid); ok {
				require.Equal(t, want, got)
				oldest = min(oldest, got)
			}
		}
		require.Equal(t, n, r.newest())
		back, err := parseRecentRounds(r)
		require.NoError(t, err)
		require.Equal(t, string(r), string(back))
		for uuid, round := range truth {
			_, ok := r.round(uuid)
			require.Equal(t, round >= oldest, ok, "whole rounds are kept, the newest ones")
		}
		if n > 0 {
			require.LessOrEqual(t, oldest, n, "the newest always")
		}
		for from := int64(0); from <= n; from++ {
			require.Equal(t, from+1 >= oldest, r.covers(from, n))
		}
		require.Less(t, len(r), maxRoll+k*40+20)
		_, ok := r.round(session.NewID())
		require.False(t, ok)
	})
}

func TestRecentRoundsOfAnEarlierPathCoverNothing(t *testing.T) {
	r := recentRounds("2 a b\n1 c d\n50 e f\n49 g h\n")
	require.True(t, r.covers(0, 2))
	require.False(t, r.covers(-1, 2))
	require.False(t, r.covers(0, 3))
	require.True(t, r.covers(7, 7))
	n, ok := r.round("f")
	require.True(t, ok)
	require.EqualValues(t, 50, n)
}

func FuzzRoll(f *testing.F) {
	f.Add([]byte("2 a b\n1 c d\n"), "c")
	f.Add([]byte("x a\n\n 9\n"), "a")
	f.Add([]byte("10.0.0.1"), "10.0.0.1")
	f.Fuzz(func(t *testing.T, data []byte, uuid string) {
		r := recentRounds(data)
		if n, ok := r.round(uuid); ok {
			require.Contains(t, string(data), uuid)
			require.Contains(t, string(data), strings.TrimPrefix(fmt.Sprint(n), "-"))
		}
		r.covers(0, r.newest())
		next := r.next(7, []member{{name: barrierformat.PartyName("x") + "0000000000"}})
		require.Less(t, len(next), maxRoll+100)
		require.True(t, next.covers(6, 7))
	})
}

// Data accepted as recent rounds can be extended.
func FuzzParseRoll(f *testing.F) {
	f.Add([]byte("7 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10\n6 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a11\n"))
	for _, data := range []string{"", "\n", "10.0.0.1", "7\n", "0 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10\n", "7 6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10"} {
		f.Add([]byte(data))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecentRounds(data)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		chosen := []member{{name: barrierformat.PartyName("x") + "0000000000"}}
		next, err := parseRecentRounds(r.next(9, chosen))
		require.NoError(t, err)
		round, ok := next.round(barrierformat.UUIDOf(chosen[0].name))
		require.True(t, ok)
		require.EqualValues(t, 9, round)
	})
}

func TestDataThatIsNoListOfRecentRoundsIsReported(t *testing.T) {
	const uuid = "6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10"
	for data, ok := range map[string]bool{
		"": true, "1 " + uuid + "\n": true, "2 " + uuid + "\n1 " + uuid + " " + uuid + "\n": true,
		"\n": false, "1\n": false, "x " + uuid + "\n": false, "0 " + uuid + "\n": false, "1 " + uuid: false, "1 " + uuid + "0\n": false, "10.0.0.1": false,
	} {
		_, err := parseRecentRounds([]byte(data))
		require.Equal(t, ok, err == nil, "%q", data)
	}
}
