package barrier

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"pgregory.net/rapid"
)

// people are members whose IDs are letters, numbered from first; a dash is a
// party that has left.
func people(first int32, ids string) (out []member) {
	for i, id := range ids {
		if id != '-' {
			out = append(out, member{seq: first + int32(i), id: string(id), name: string(id)})
		}
	}
	return out
}

func ids(members []member) (out string) {
	for _, m := range members {
		out += m.id
	}
	return out
}

func TestDecisions(t *testing.T) {
	fresh := func(kind string, k int) record { return record{Kind: kind, Parties: k} }
	once := func(kind string) record { return fresh(kind, 3).next([]int32{0, 1, 2}) }
	for name, c := range map[string]struct {
		v                    observation
		want                 action
		round                int64
		chosen, stale, seats string
	}{
		"alone":                             {v: observation{record: fresh(kindBarrier, 2), count: 1, self: 0, arrival: true}, want: actWait},
		"the last":                          {v: observation{record: fresh(kindBarrier, 2), count: 2, self: 1, arrival: true}, want: actList},
		"others come behind":                {v: observation{record: fresh(kindBarrier, 2), count: 2, self: 0, arrival: true}, want: actWait},
		"they may be gone by now":           {v: observation{record: fresh(kindBarrier, 2), count: 2, self: 0}, want: actList},
		"strangers only":                    {v: observation{record: fresh(kindBarrier, 2), count: 9, self: 0, arrival: true}, want: actWait},
		"passed":                            {v: observation{record: once(kindBarrier), self: 2}, want: actPassed, round: 1},
		"passed, znode known to be gone":    {v: observation{record: once(kindBarrier), self: 2, gone: true}, want: actPassed, round: 1},
		"gone before its turn":              {v: observation{record: once(kindBarrier), self: 3, gone: true}, want: actGone},
		"not among those released":          {v: observation{record: fresh(kindBarrier, 2).next([]int32{0, 2}), self: 1}, want: actGone},
		"before all that is known":          {v: observation{record: record{Kind: kindBarrier, Parties: 2, Round: 9, Released: ranges{{Lo: 6, Hi: 7}}}, self: 5}, want: actUnknown},
		"not in the listing":                {v: observation{record: fresh(kindBarrier, 2), self: 7, listed: true, members: people(0, "ab")}, want: actMissing},
		"enough":                            {v: observation{record: fresh(kindBarrier, 2), self: 1, listed: true, members: people(0, "ab")}, want: actRelease, chosen: "ab"},
		"helps others":                      {v: observation{record: fresh(kindBarrier, 2), self: 2, listed: true, members: people(0, "abc")}, want: actRelease, chosen: "ab"},
		"one of them twice":                 {v: observation{record: fresh(kindBarrier, 3), self: 2, listed: true, members: people(0, "aba")}, want: actWait},
		"the stale one goes":                {v: observation{record: fresh(kindBarrier, 3), self: 3, listed: true, members: people(0, "abac")}, want: actRelease, chosen: "bac", stale: "a"},
		"stale, its newer one not chosen":   {v: observation{record: fresh(kindBarrier, 2), self: 3, listed: true, members: people(0, "abca")}, want: actRelease, chosen: "bc", stale: "a"},
		"stale one comes after":             {v: observation{record: fresh(kindBarrier, 2), self: 4, listed: true, members: people(0, "abcdc")}, want: actRelease, chosen: "ab"},
		"room inside, one has died":         {v: observation{record: once(kindDouble), self: 3, id: "c", listed: true, members: people(0, "ab-c")}, want: actWait},
		"own old seat is still there":       {v: observation{record: once(kindDouble), self: 3, id: "c", listed: true, members: people(0, "abcc")}, want: actWait},
		"one too many":                      {v: observation{record: once(kindDouble), self: 3, id: "d", listed: true, members: people(0, "abcd")}, want: actTooMany},
		"a round waits for the last inside": {v: observation{record: once(kindDouble), self: 5, id: "e", listed: true, members: people(0, "--cabe")}, want: actSeats, seats: "c"},
		"no party inside any more":          {v: observation{record: once(kindDouble), self: 5, id: "c", listed: true, members: people(0, "---abc")}, want: actRelease, chosen: "abc"},
		"all may be inside":                 {v: observation{record: once(kindDouble), self: 3, count: 4, arrival: true}, want: actList},
		"first of the next round":           {v: observation{record: once(kindDouble), self: 3, count: 3, arrival: true}, want: actWait},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(c.v)
			require.Equal(t, c.want, d.act)
			require.Equal(t, c.round, d.round)
			require.Equal(t, c.chosen, ids(d.chosen))
			require.Equal(t, c.stale, ids(d.stale))
			require.Equal(t, c.seats, ids(d.seats))
		})
	}
}

// dumb is a literal version of decide: one rule at a time, with all lists
// spelled out.
func dumb(v observation) (act action, chosen []int32, gone []int32) {
	all, k := numbers(v.record.Released), v.record.Parties
	if slices.Contains(all, v.self) {
		return actPassed, nil, nil
	}
	if len(all) > 0 && v.self < all[len(all)-1] {
		if v.self > all[0] || len(all) == k*int(v.record.Round) {
			return actGone, nil, nil
		}
		return actUnknown, nil, nil
	}
	if v.gone {
		return actGone, nil, nil
	}
	present, seats, mySeat, ids := false, 0, false, map[string][]int32{}
	for _, m := range v.members {
		if m.seq == v.self {
			present = true
		}
		if slices.Contains(all, m.seq) {
			seats++
			mySeat = mySeat || m.id == v.id
		} else {
			ids[m.id] = append(ids[m.id], m.seq)
		}
	}
	var counts []int32
	for _, seqs := range ids {
		counts = append(counts, slices.Max(seqs))
	}
	slices.Sort(counts)
	switch {
	case !present:
		return actMissing, nil, nil
	case seats == k && !mySeat:
		return actTooMany, nil, nil
	case len(counts) < k:
		return actWait, nil, nil
	case seats > 0:
		return actSeats, nil, nil
	}
	chosen = counts[:k]
	for _, m := range v.members {
		if m.seq < chosen[k-1] && !slices.Contains(chosen, m.seq) {
			gone = append(gone, m.seq)
		}
	}
	slices.Sort(gone)
	return actRelease, chosen, gone
}

func seqsOf(members []member) (out []int32) {
	for _, m := range members {
		out = append(out, m.seq)
	}
	return out
}

func drawObservation(t *rapid.T) observation {
	k := rapid.IntRange(1, 4).Draw(t, "k")
	r, _ := history(t, k)
	r.Kind = rapid.SampledFrom([]string{kindBarrier, kindDouble}).Draw(t, "kind")
	v := observation{record: r, listed: true, gone: rapid.IntRange(0, 9).Draw(t, "gone") == 0}
	if r.Kind == kindDouble && r.Round > 0 {
		for _, n := range numbers(r.members(r.Round)) {
			if rapid.Bool().Draw(t, "inside") {
				v.members = append(v.members, member{seq: n, id: rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "id")})
			}
		}
	}
	for i := range int32(rapid.IntRange(0, 8).Draw(t, "waiting")) {
		if rapid.IntRange(0, 3).Draw(t, "left") > 0 {
			v.members = append(v.members, member{seq: r.lastReleased() + 1 + i, id: rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}).Draw(t, "id")})
		}
	}
	v.self, v.id = rapid.Int32Range(max(0, r.lastReleased()-20), r.lastReleased()+9).Draw(t, "self"), "a"
	for _, m := range v.members {
		if m.seq == v.self {
			v.id = m.id
		}
	}
	return v
}

func TestDecideAgreesWithItsDumbTwin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObservation(t)
		act, chosen, gone := dumb(v)
		d := decide(v)
		require.Equal(t, act, d.act)
		require.Equal(t, chosen, seqsOf(d.chosen))
		require.Equal(t, gone, seqsOf(d.stale))
	})
}

// The record keeps its invariants over any release: its ranges grow, and no
// earlier party that is still waiting is left behind.
func TestReleaseKeepsTheInvariantsOfTheRecord(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObservation(t)
		d := decide(v)
		if d.act != actRelease {
			return
		}
		next := v.record.next(seqsOf(d.chosen))
		require.True(t, barrierformat.Record(next).Plausible())
		require.Equal(t, seqsOf(d.chosen), numbers(next.members(next.Round)))
		for _, m := range v.members {
			if m.seq <= next.lastReleased() && !slices.Contains(d.chosen, m) && !slices.Contains(d.stale, m) {
				t.Fatalf("%d is left behind", m.seq)
			}
		}
		distinct := map[string]bool{}
		for _, m := range d.chosen {
			distinct[m.id] = true
		}
		require.Len(t, distinct, v.record.Parties)
	})
}

// A party that leaves the listing to others never completes the round.
func TestArrivalThatDoesNotListCannotCompleteARound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := drawObservation(t)
		v.members = slices.DeleteFunc(v.members, func(m member) bool { return m.seq > v.self })
		v.count, v.listed, v.arrival = len(v.members), false, true
		act := decide(v).act
		if act != actWait {
			return
		}
		v.listed = true
		if full := decide(v).act; full == actRelease || full == actTooMany {
			t.Fatalf("%v with the listing", full)
		}
	})
}
