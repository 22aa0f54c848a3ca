package assignor_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"pgregory.net/rapid"
)

func everyAssignor() []assignor.Assignor {
	var all []assignor.Assignor
	for _, name := range assignor.Names() {
		a, err := assignor.ByName(name)
		if err != nil {
			panic(err)
		}
		all = append(all, a)
	}
	return all
}

// drawn makes a group: keys, names, zones and subscriptions of few letters, so
// they coincide; held resources may be claimed twice, be gone, or not be
// accepted.
func drawn(t *rapid.T, members, resources int, differ bool) ([]assignor.Member, []assignor.Resource) {
	zone := rapid.SampledFrom([]string{"", "x", "y", "z"})
	m := make([]assignor.Member, rapid.IntRange(1, members).Draw(t, "members"))
	r := make([]assignor.Resource, rapid.IntRange(0, resources).Draw(t, "resources"))
	for j := range r {
		r[j] = assignor.Resource{Name: fmt.Sprintf("%c%02d", 'a'+rapid.IntRange(0, 2).Draw(t, "kind"), j), Zone: zone.Draw(t, "zone")}
	}
	pattern := rapid.SampledFrom([]string{"*", "a*", "b*", "c*", "[ab]*", "?*[02468]", "*[13579]", "a00", "b01", "c02", "[", ""})
	for i := range m {
		m[i] = assignor.Member{Key: fmt.Sprintf("m%02d", i), Zone: zone.Draw(t, "home")}
		m[i].Weight = rapid.SampledFrom([]int{0, -1, 1, 1, 2, 3, 10}).Draw(t, "weight")
		if differ && rapid.Bool().Draw(t, "differs") {
			m[i].Subscription = rapid.SliceOfN(pattern, 1, 3).Draw(t, "subscription")
		}
		for j := range r {
			if rapid.IntRange(0, len(m)).Draw(t, "holds") == 0 {
				m[i].Held = append(m[i].Held, r[j].Name)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "gone") == 0 {
			m[i].Held = append(m[i].Held, "gone")
		}
		slices.Sort(m[i].Held)
	}
	return m, r
}

// Balance and moves are proved against a twin that tries all assignments.
func TestStickyIsTheMostBalancedAndThenMovesLeast(t *testing.T) {
	for _, differ := range []bool{false, true} {
		t.Run(fmt.Sprintf("subscriptions differ: %v", differ), rapid.MakeCheck(func(t *rapid.T) {
			members, resources := drawn(t, 4, 6, differ)
			got := assignor.Sticky().Assign(members, resources)
			require.NoError(t, assignor.Check(members, resources, got))
			twin := newTwin(members, resources)
			owner := twin.owners(members, got)
			require.Equal(t, twin.best(twin.sticky), twin.sticky(owner))
			if !differ {
				n := twin.spread(owner)
				require.LessOrEqual(t, n[0]-n[len(n)-1], 1)
			}
		}))
	}
}

func TestZonesCostNoBalanceAndMovesCostNoZones(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 4, 6, rapid.Bool().Draw(t, "differ"))
		got := assignor.Zones().Assign(members, resources)
		require.NoError(t, assignor.Check(members, resources, got))
		twin := newTwin(members, resources)
		require.Equal(t, twin.best(twin.homely), twin.homely(twin.owners(members, got)))
	})
}

func TestWeightedRoundsFairShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 4, 6, rapid.Bool().Draw(t, "differ"))
		got := assignor.Weighted().Assign(members, resources)
		require.NoError(t, assignor.Check(members, resources, got))
		twin := newTwin(members, resources)
		weighted := twin.weighted(twin.fair())
		var best []int
		twin.every(func(owner []int) {
			if s := weighted(owner); s != nil && (best == nil || slices.Compare(s, best) < 0) {
				best = s
			}
		})
		require.Equal(t, best, weighted(twin.owners(members, got)))
	})
}

// With equal weights, only balance matters.
func TestWeightedWithEqualWeightsIsSticky(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 12, 40, false)
		for i := range members {
			members[i].Weight = 7
		}
		twin := newTwin(members, resources)
		sticky := twin.sticky(twin.owners(members, assignor.Sticky().Assign(members, resources)))
		require.Equal(t, sticky, twin.sticky(twin.owners(members, assignor.Weighted().Assign(members, resources))))
	})
}

func TestRangesAreContiguousAndTheFirstAreTheLongest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 12, 40, false)
		got := assignor.Range().Assign(members, resources)
		names := newTwin(members, resources).names
		require.Equal(t, names, slices.Concat(got...), "the ranges, one after the other")
		for i := range got {
			want := len(names) / len(members)
			if i < len(names)%len(members) {
				want++
			}
			require.Len(t, got[i], want)
		}
	})
}

func TestRangeIsBalancedAndCutsEachSetOfEqualResourcesOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 4, 6, true)
		got := assignor.Range().Assign(members, resources)
		require.NoError(t, assignor.Check(members, resources, got))
		twin := newTwin(members, resources)
		owner := twin.owners(members, got)
		require.Equal(t, twin.best(twin.spread), twin.spread(owner))
		last := map[string]int{}
		for j, takers := range twin.takers {
			if set := fmt.Sprint(takers); len(takers) > 0 {
				before, ok := last[set]
				require.True(t, !ok || before <= owner[j], "%q goes back to an earlier member", twin.names[j])
				last[set] = owner[j]
			}
		}
	})
}

func TestRoundRobinDealsLikeCards(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 6, 30, rapid.Bool().Draw(t, "differ"))
		twin := newTwin(members, resources)
		want := make([]int, len(twin.names))
		turn := 0
		for j, takers := range twin.takers {
			want[j] = -1
			for len(takers) > 0 && want[j] < 0 {
				if slices.Contains(takers, turn) {
					want[j] = turn
				}
				turn = (turn + 1) % len(members)
			}
		}
		require.Equal(t, want, twin.owners(members, assignor.RoundRobin().Assign(members, resources)))
	})
}

func TestTheOrderOfTheInputDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 8, 40, true)
		shuffled := rapid.Permutation(members).Draw(t, "members in another order")
		for i := range shuffled {
			shuffled[i].Held = rapid.Permutation(shuffled[i].Held).Draw(t, "held in another order")
			shuffled[i].Subscription = rapid.Permutation(shuffled[i].Subscription).Draw(t, "subscription in another order")
		}
		other := rapid.Permutation(append(slices.Clone(resources), resources...)).Draw(t, "resources in another order, and twice")
		for _, a := range everyAssignor() {
			want := map[string][]string{}
			for i, list := range a.Assign(members, resources) {
				want[members[i].Key] = list
			}
			got := map[string][]string{}
			for i, list := range a.Assign(shuffled, other) {
				got[shuffled[i].Key] = list
			}
			require.Equal(t, want, got, a.Name())
		}
	})
}

// X13: a good assignment does not change. S5, S6: no move without a reason.
func TestAssigningAgainChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 8, 40, true)
		for _, a := range everyAssignor() {
			again := slices.Clone(members)
			got := a.Assign(members, resources)
			hold(again, got)
			require.Equal(t, got, a.Assign(again, resources), a.Name())
		}
	})
}

// X13: a change concerns only the members that give or take resources.
func TestOnlyJoiningAndLeavingMembersMoveResources(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 8, 60, false)
		a := rapid.SampledFrom([]assignor.Assignor{assignor.Sticky(), assignor.Zones()}).Draw(t, "assignor")
		if a.Name() == "zones" { // zones may swap resources of members that had no choice before
			for i := range members {
				members[i].Zone = ""
			}
		}
		hold(members, a.Assign(members, resources))

		joined := append(slices.Clone(members), assignor.Member{Key: rapid.SampledFrom([]string{"a", "m03x", "z"}).Draw(t, "key")})
		got := a.Assign(joined, resources)
		for i := range members {
			require.Subset(t, members[i].Held, got[i], "%s was given something", members[i].Key)
		}
		require.Len(t, got[len(members)], len(resources)/len(joined), "the new member gets its share")

		gone := rapid.IntRange(0, len(members)-1).Draw(t, "leaves")
		left := slices.Delete(slices.Clone(members), gone, gone+1)
		for i, list := range a.Assign(left, resources) {
			require.Subset(t, list, left[i].Held, "%s lost something", left[i].Key)
		}
	})
}

func TestOddGroups(t *testing.T) {
	held := func(key string, names ...string) assignor.Member { return assignor.Member{Key: key, Held: names} }
	named := func(names ...string) (out []assignor.Resource) {
		for _, name := range names {
			out = append(out, assignor.Resource{Name: name})
		}
		return out
	}
	sub := func(key string, patterns ...string) assignor.Member {
		return assignor.Member{Key: key, Subscription: patterns}
	}
	for _, c := range []struct {
		name      string
		members   []assignor.Member
		resources []assignor.Resource
		want      string
	}{
		{"no members", nil, named("r1"), ""},
		{"nothing", []assignor.Member{held("a"), held("b", "r1")}, nil, " | "},
		{"neither", nil, nil, ""},
		{"more members than resources", []assignor.Member{held("a"), held("b", "r1"), held("c")}, named("r1"), " | r1 | "},
		{"two claim the same", []assignor.Member{held("b", "r1", "r2"), held("a", "r1")}, named("r1", "r2"), "r2 | r1"},
		{"a member that does not take it has no claim", []assignor.Member{
			{Key: "a", Held: []string{"r1"}, Subscription: []string{"s*"}}, held("b", "r1"), held("c"),
		}, named("r1", "r2", "s1"), "s1 | r1 | r2"},
		{"held twice by one", []assignor.Member{held("a", "r1", "r1"), held("b")}, named("r1", "r2"), "r1 | r2"},
		{"the same key twice", []assignor.Member{held("a"), held("a", "r1")}, named("r1", "r2"), "r2 | r1"},
		{"the same name twice", []assignor.Member{held("a"), held("b")}, named("r1", "r1", "r2"), "r1 | r2"},
		{"no key, no name", []assignor.Member{held(""), held("", "")}, named("", "r1"), "r1 | "},
		{"a malformed pattern", []assignor.Member{sub("a", "["), sub("b", "[", "r*")}, named("r1", "r2"), " | r1 r2"},
		{"a pattern with nothing in it", []assignor.Member{sub("a", ""), held("b")}, named("r1"), " | r1"},
		{"no member takes it", []assignor.Member{sub("a", "r*")}, named("r1", "s1"), "r1"},
		{"a star stops at a slash", []assignor.Member{sub("a", "*"), sub("b", "*/*")}, named("r1", "r/2"), "r1 | r/2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, a := range everyAssignor() {
				require.NoError(t, assignor.Check(c.members, c.resources, a.Assign(c.members, c.resources)))
			}
			var lists []string
			for _, list := range assignor.Sticky().Assign(c.members, c.resources) {
				lists = append(lists, strings.Join(list, " "))
			}
			require.Equal(t, c.want, strings.Join(lists, " | "))
		})
	}
}

func TestWeights(t *testing.T) {
	for _, c := range []struct {
		name      string
		weights   []int
		resources int
		want      []int
	}{
		{"proportional", []int{1, 2, 3}, 60, []int{10, 20, 30}},
		{"largest remainder", []int{1, 2, 4}, 10, []int{1, 3, 6}},
		{"no weight is one", []int{0, 1, -5, 1}, 8, []int{2, 2, 2, 2}},
		{"the least weight there is", []int{math.MinInt, 3}, 8, []int{2, 6}},
		{"huge", []int{math.MaxInt, math.MaxInt, math.MaxInt}, 9, []int{3, 3, 3}},
		{"huge and proportional", []int{math.MaxInt / 4, math.MaxInt / 2}, 9, []int{3, 6}},
		{"huge beside little", []int{1, math.MaxInt}, 100, []int{0, 100}},
		{"bytes", []int{1 << 40, 3 << 40}, 8, []int{2, 6}},
	} {
		t.Run(c.name, func(t *testing.T) {
			members, resources := group(len(c.weights), c.resources)
			for i, w := range c.weights {
				members[i].Weight = w
			}
			var got []int
			for _, list := range assignor.Weighted().Assign(members, resources) {
				got = append(got, len(list))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestByName(t *testing.T) {
	require.Equal(t, []string{"sticky", "weighted", "zones", "range", "round-robin"}, assignor.Names())
	for _, name := range assignor.Names() {
		a, err := assignor.ByName(name)
		require.NoError(t, err)
		require.Equal(t, name, a.Name())
	}
	_, err := assignor.ByName("fair")
	require.ErrorIs(t, err, assignor.ErrUnknown)
	require.EqualError(t, err, `assignor: unknown assignor "fair": there are sticky, weighted, zones, range, round-robin`)
}
