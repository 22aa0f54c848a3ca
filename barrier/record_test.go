package barrier

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"pgregory.net/rapid"
)

func TestRecordIsReadAsItWasWritten(t *testing.T) {
	for _, r := range []record{
		{Kind: kindBarrier, Czxid: 1<<32 + 5, Parties: 3},
		{Kind: kindDouble, Parties: 2, Round: 2, Released: ranges{{Lo: 0, Hi: 1}, {Lo: 4, Hi: 5}}},
		{Kind: kindBarrier, Parties: 2, Round: 100, Released: ranges{{Lo: 7, Hi: 9}}},
	} {
		back, err := parseRecord(r.encode())
		require.NoError(t, err)
		require.Equal(t, r, back)
	}
}

func TestForeignDataIsNoRecord(t *testing.T) {
	for _, data := range []string{
		"", "x", "10.0.0.1", "null", "[]", "{}", `{"kind":"barrier"}`,
		`{"kind":"barrier","parties":0,"round":0,"released":""}`,
		`{"kind":"gate","parties":1,"round":0,"released":""}`,
		`{"kind":"barrier","parties":2,"round":0,"released":"0-1"}`,
		`{"kind":"barrier","parties":2,"round":1,"released":""}`,
		`{"kind":"barrier","parties":2,"round":1,"released":"0"}`,
		`{"kind":"barrier","parties":2,"round":1,"released":"0-2"}`,
		`{"kind":"barrier","parties":2,"round":-1,"released":""}`,
		`{"kind":"barrier","parties":1,"round":1,"released":"1-0"}`,
		`{"kind":"barrier","parties":1,"round":0,"released":"","more":1}`,
		`{"kind":"barrier","parties":1,"round":0,"released":""} {}`,
		`{"kind":"barrier","parties":9999999999,"round":0,"released":""}`,
		`{"kind":"barrier","parties":1.5,"round":0,"released":""}`,
	} {
		_, err := parseRecord([]byte(data))
		require.ErrorIs(t, err, ErrRecord, "%s", data)
	}
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte(`{"kind":"barrier","czxid":4294967301,"parties":3,"round":7,"released":"0-20"}`))
	f.Add([]byte(`{"kind":"double","parties":1,"round":9,"released":"3,5-7"}`))
	f.Add([]byte(`10.0.0.1`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := parseRecord(data)
		if err != nil {
			require.ErrorIs(t, err, ErrRecord)
			return
		}
		back, err := parseRecord(r.encode())
		require.NoError(t, err)
		require.Equal(t, r, back)
		r.fateOf(0)
		if r.Round > 0 {
			require.Equal(t, int64(r.Parties), r.members(r.Round).Count())
		}
	})
}

// history releases rounds of k parties, some of whose predecessors have left
// without being released, and returns the record and the truth.
func history(t *rapid.T, k int) (record, map[int32]int64) {
	r, truth, n := record{Kind: kindBarrier, Parties: k}, map[int32]int64{}, int32(0)
	for round := range int64(rapid.IntRange(0, 300).Draw(t, "rounds")) {
		var seqs []int32
		for len(seqs) < k {
			if rapid.IntRange(0, 5).Draw(t, "left") == 0 {
				n++
			}
			seqs = append(seqs, n)
			truth[n] = round + 1
			n++
		}
		r = r.next(seqs)
	}
	return r, truth
}

// A record tells the truth about every number, and does not forget the newest rounds.
func TestRecordTellsWhatBecameOfANumber(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		k := rapid.IntRange(1, 5).Draw(t, "k")
		r, truth := history(t, k)
		back, err := parseRecord(r.encode())
		require.NoError(t, err)
		require.True(t, slices.Equal(r.Released, back.Released) && r.Round == back.Round)
		for n := int32(0); n <= r.lastReleased()+2; n++ {
			fate, round := r.fateOf(n)
			switch fate {
			case pending:
				require.Greater(t, n, r.lastReleased())
			case released:
				require.Equal(t, truth[n], round)
			case skipped:
				require.Zero(t, truth[n])
			case forgotten:
				require.Less(t, n, r.Released[0].Lo)
			}
			if truth[n] > max(0, r.Round-int64(maxHistory/k)) {
				require.Equal(t, released, fate, "number %d of round %d of %d: %s", n, truth[n], r.Round, r.Released)
			}
		}
		if r.Round > 0 {
			for _, n := range numbers(r.members(r.Round)) {
				require.Equal(t, r.Round, truth[n])
			}
			require.Equal(t, int64(k), r.members(r.Round).Count())
		}
	})
}

// A record stays small after any number of rounds, and has the smallest
// possible size while no party leaves.
func TestRecordStaysSmall(t *testing.T) {
	r := record{Kind: kindBarrier, Parties: 1000}
	seqs := make([]int32, 1000)
	next := func(gap int32) {
		from := r.lastReleased() + gap
		for i := range seqs {
			seqs[i] = from + int32(i)*gap
		}
		r = r.next(seqs)
	}
	for range 100 {
		next(1)
	}
	require.Equal(t, `{"kind":"barrier","czxid":0,"parties":1000,"round":100,"released":"0-99999"}`, string(r.encode()))
	for range 100 {
		next(3)
	}
	require.Less(t, len(r.encode()), 1100*len("1234567,"))
	require.Len(t, r.Released, 1000+maxHistory)
}

func TestAnotherBarriersRecordIsRefused(t *testing.T) {
	r := record{Kind: kindDouble, Czxid: 7, Parties: 3}
	require.NoError(t, r.accepts(kindDouble, 3, 7))
	require.ErrorIs(t, r.accepts(kindBarrier, 3, 7), ErrRecord)
	require.ErrorIs(t, r.accepts(kindDouble, 4, 7), ErrParties)
	require.ErrorIs(t, r.accepts(kindDouble, 3, 8), ErrRecord, "a copy")
}

func TestNamesCarryTheID(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := rapid.StringMatching(`[a-zA-Z0-9:._ü-]{1,40}`).Draw(t, "id")
		seq := rapid.Int32Range(0, 1<<31-2).Draw(t, "seq")
		require.NoError(t, validateID(id))
		name := fmt.Sprintf("%s%010d", barrierformat.PartyName(id), seq)
		members, exhausted := parseMembers([]string{name, "config", "_c_x-party-0000000001", "_c_6f0a2f6e-4c52-4a2f-8f0e 0d1c8f4c2a10-a-party-0000000001", id + partyMarker + "0000000001"})
		require.False(t, exhausted)
		require.Equal(t, []member{{seq, id, name}}, members)
	})
}

func TestIDsThatDoNotFitAreRefused(t *testing.T) {
	for _, id := range []string{"a/b", strings.Repeat("x", barrierformat.MaxID+1), "a\x00", "\xff"} {
		require.ErrorIs(t, validateID(id), ErrInvalidArgument, "%q", id)
	}
	require.NoError(t, validateID(strings.Repeat("x", barrierformat.MaxID)))
}

func FuzzNames(f *testing.F) {
	f.Add("_c_6f0a2f6e-4c52-4a2f-8f0e-0d1c8f4c2a10-a:1-party-0000000003")
	f.Add("_c_-party-0000000003")
	f.Add("-party--1000000000")
	f.Fuzz(func(t *testing.T, name string) {
		members, _ := parseMembers([]string{name})
		for _, m := range members {
			require.True(t, m.id != "" && len(m.id) <= barrierformat.MaxID && m.seq >= 0 && m.name == name)
		}
	})
}

// numbers is ranges spelled out.
func numbers(s ranges) (out []int32) {
	for _, r := range s {
		for n := int64(r.Lo); n <= int64(r.Hi); n++ {
			out = append(out, int32(n))
		}
	}
	return out
}
