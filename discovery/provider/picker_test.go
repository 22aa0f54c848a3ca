package provider_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/discovery/provider"
	"pgregory.net/rapid"
)

// candidates makes candidates of tokens, in the order of a provider.
func candidates(tokens ...int64) []provider.Candidate {
	slices.Sort(tokens)
	out := []provider.Candidate{}
	for _, n := range slices.Compact(tokens) {
		out = append(out, provider.Candidate{Instance: &discovery.Instance{ID: fmt.Sprint(n), Path: fmt.Sprintf("/s/%d", n), Token: n}})
	}
	return out
}

// drawn is a list that is not empty.
func drawn(t *rapid.T) []provider.Candidate {
	out := candidates(rapid.SliceOfN(rapid.Int64Range(1, 12), 1, 10).Draw(t, "list")...)
	for n := range out {
		out[n].InFlight = rapid.IntRange(0, 3).Draw(t, "in flight")
	}
	return out
}

// weight of a candidate is its token, but for every fifth.
func weight(i discovery.Instance) int { return int(i.Token % 5) }

func pickers() map[string]func() provider.Picker {
	return map[string]func() provider.Picker{
		"RoundRobin":     provider.RoundRobin,
		"Random":         provider.Random,
		"Sticky":         func() provider.Picker { return provider.Sticky(provider.RoundRobin()) },
		"Weighted":       func() provider.Picker { return provider.Weighted(weight) },
		"FewestInFlight": provider.FewestInFlight,
		"Prefer": func() provider.Picker {
			return provider.Prefer(func(i discovery.Instance) bool { return i.Token < 4 }, provider.Random())
		},
	}
}

// CL17: no list, and no history of lists, makes an index outside of the list.
func TestEveryPickIsOneOfTheCandidates_CL17(t *testing.T) {
	for name, picker := range pickers() {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				p := picker()
				for range rapid.IntRange(1, 30).Draw(t, "picks") {
					list := drawn(t)
					if n := p.Pick(list); n < 0 || n >= len(list) {
						t.Fatalf("%d of %d", n, len(list))
					}
				}
			})
		})
	}
}

// The twin of RoundRobin looks for the smallest token above the last one.
func TestRoundRobinTakesTheNextWhateverTheListBecomes_CL17(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, last := provider.RoundRobin(), int64(0)
		for range rapid.IntRange(1, 40).Draw(t, "picks") {
			list := drawn(t)
			want, least := int64(0), list[0].Token
			for _, c := range list {
				if c.Token > last && (want == 0 || c.Token < want) {
					want = c.Token
				}
			}
			if want == 0 {
				want = least
			}
			if last = list[p.Pick(list)].Token; last != want {
				t.Fatalf("took %d, not %d", last, want)
			}
		}
	})
}

func TestRoundRobinTakesEachOnceInARound(t *testing.T) {
	p, list := provider.RoundRobin(), candidates(3, 5, 8, 9)
	for range 3 {
		var took []int64
		for range list {
			took = append(took, list[p.Pick(list)].Token)
		}
		require.Equal(t, []int64{3, 5, 8, 9}, took)
	}
}

func TestRandomTakesAll(t *testing.T) {
	p, list, took := provider.Random(), candidates(1, 2, 3), map[int]int{}
	for range 3000 {
		took[p.Pick(list)]++
	}
	for n := range list { // 1000 each; 700 is over ten standard deviations away
		require.Greater(t, took[n], 700)
	}
}

func TestStickyStaysUntilItsInstanceLeavesAndRegistersAgain(t *testing.T) {
	p := provider.Sticky(provider.RoundRobin())
	one := candidates(1, 2, 3)
	for range 5 {
		require.Equal(t, int64(1), one[p.Pick(one)].Token)
	}
	without := candidates(2, 3)
	for range 5 {
		require.Equal(t, int64(2), without[p.Pick(without)].Token)
	}
	require.Equal(t, int64(2), one[p.Pick(one)].Token, "not back to the first")
	again := candidates(3, 7)
	again[1].Path = "/s/2" // the same name, registered again
	require.Equal(t, int64(3), again[p.Pick(again)].Token)
}

// In as many picks as the weights add up to, each is picked as often as its
// weight says.
func TestWeightedKeepsToTheWeights(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list, p := drawn(t), provider.Weighted(weight)
		total := 0
		for _, c := range list {
			total += weight(*c.Instance)
		}
		if total == 0 {
			return // any will do
		}
		for range rapid.IntRange(1, 3).Draw(t, "rounds") {
			took := map[int64]int{}
			for range total {
				took[list[p.Pick(list)].Token]++
			}
			for _, c := range list {
				if took[c.Token] != weight(*c.Instance) {
					t.Fatalf("%d was picked %d times of %d", c.Token, took[c.Token], total)
				}
			}
		}
	})
}

func TestWeightedSpreadsAndHeedsNoMadWeights(t *testing.T) {
	list := candidates(1, 2)
	p := provider.Weighted(func(i discovery.Instance) int { return int(3 - i.Token) })
	took := ""
	for range 6 {
		took += list[p.Pick(list)].ID
	}
	require.Equal(t, "121121", took)
	for _, mad := range []int{0, -1, -1 << 63} {
		p = provider.Weighted(func(discovery.Instance) int { return mad })
		require.Contains(t, []int{0, 1}, p.Pick(list))
	}
	p = provider.Weighted(func(discovery.Instance) int { return 1<<63 - 1 })
	took = ""
	for range 4 {
		took += list[p.Pick(list)].ID
	}
	require.Equal(t, "1212", took)
}

func TestFewestInFlightTakesOneOfTheLeastInTurn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		list := drawn(t)
		n := provider.FewestInFlight().Pick(list)
		for _, c := range list {
			if c.InFlight < list[n].InFlight {
				t.Fatalf("%d in flight, %d elsewhere", list[n].InFlight, c.InFlight)
			}
		}
	})
	list, p, took := candidates(1, 2, 3, 4), provider.FewestInFlight(), ""
	list[1].InFlight = 1
	for range 6 {
		took += list[p.Pick(list)].ID
	}
	require.Equal(t, "134134", took)
}

func TestPreferTakesOthersOnlyWhereThereAreNone(t *testing.T) {
	near := func(i discovery.Instance) bool { return i.Token%2 == 0 }
	p, list, took := provider.Prefer(near, provider.RoundRobin()), candidates(1, 2, 3, 4), ""
	for range 4 {
		took += list[p.Pick(list)].ID
	}
	require.Equal(t, "2424", took)
	far := candidates(1, 3)
	require.Equal(t, 0, p.Pick(far))
	p = provider.Prefer(near, provider.PickerFunc(func([]provider.Candidate) int { return 7 }))
	require.Equal(t, -1, p.Pick(list), "nonsense stays nonsense")
}
