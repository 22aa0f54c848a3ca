package assignor_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"pgregory.net/rapid"
)

// shapes are ways in which subscriptions to n kinds of resources can overlap:
// the kinds taken by member i of n. Each is hard in its own way: many levels of
// load, long chains of moves, no kinds in common.
func shapes(n int) map[string]func(i int) (kinds []int) {
	span := func(from, to int) (out []int) {
		for k := max(0, from); k < min(n, to); k++ {
			out = append(out, k)
		}
		return out
	}
	return map[string]func(i int) []int{
		"alone":       func(i int) []int { return span(i, i+1) },
		"a chain":     func(i int) []int { return span(i, i+2) },
		"a circle":    func(i int) []int { return []int{i, (i + 1) % n} },
		"wide chain":  func(i int) []int { return span(i-2, i+3) },
		"nested":      func(i int) []int { return span(0, i+1) },
		"two halves":  func(i int) []int { return span(i*2/n*n/2, i*2/n*n/2+n/2) },
		"one for all": func(i int) []int { return append(span(0, 1), i) },
	}
}

// shaped makes a group of a shape, with some resources of each kind.
func shaped(t *rapid.T, n int, kinds func(i int) []int) ([]assignor.Member, []assignor.Resource) {
	members, resources := group(n, 0)
	for k := range n {
		for r := range rapid.IntRange(0, 12).Draw(t, "resources of a kind") {
			zone := rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "zone")
			resources = append(resources, assignor.Resource{Name: fmt.Sprintf("%02d-%02d", k, r), Zone: zone})
		}
	}
	for i := range members {
		members[i].Zone = rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "home")
		for _, k := range kinds(i) {
			members[i].Subscription = append(members[i].Subscription, fmt.Sprintf("%02d-*", k))
		}
	}
	return members, resources
}

// In a group of each shape, members join, leave and change their subscriptions,
// and resources are added and removed. After each change the assignment is
// certified as optimal.
func TestNoChainOfMovesMakesItBetterWhateverHappened(t *testing.T) {
	const n = 8
	for name, kinds := range shapes(n) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			members, resources := shaped(t, n, kinds)
			a := assignor.Sticky()
			if rapid.Bool().Draw(t, "zones") {
				a = assignor.Zones()
			}
			var away []assignor.Member
			for range 4 {
				got := a.Assign(members, resources)
				require.NoError(t, assignor.Check(members, resources, got))
				twin := newTwin(members, resources)
				cost := twin.stickyCost
				if a.Name() == "zones" {
					cost = twin.zonesCost
				}
				require.Empty(t, twin.certify(twin.owners(members, got), cost))
				hold(members, got)
				members, away, resources = changed(t, members, away, resources)
			}
		}))
	}
}

// changed makes a random change of a group; away are members that have left.
func changed(t *rapid.T, members, away []assignor.Member, resources []assignor.Resource) (_, _ []assignor.Member, _ []assignor.Resource) {
	members, resources = slices.Clone(members), slices.Clone(resources)
	i := rapid.IntRange(0, len(members)-1).Draw(t, "member")
	switch what := rapid.SampledFrom([]string{"leave", "leave", "join", "subscribe", "add", "remove"}).Draw(t, "what"); {
	case what == "leave" && len(members) > 2:
		away = append(away, members[i])
		members = slices.Delete(members, i, i+1)
	case what == "join" && len(away) > 0:
		back := away[0] // back still claims its former resources, like other members possibly
		members, away = append(members, back), away[1:]
	case what == "subscribe":
		members[i].Subscription = []string{fmt.Sprintf("%02d-*", rapid.IntRange(0, 7).Draw(t, "kind")), "*[05]"}
	case what == "remove" && len(resources) > 0:
		resources = slices.Delete(resources, 0, (len(resources)+1)/2)
	default:
		resources = append(resources, assignor.Resource{Name: fmt.Sprintf("%02d-new%d", i, len(resources))})
	}
	return members, away, resources
}

// Every member has its fair share according to the twin, rounded up or down, in
// groups too large for a trial of all assignments.
func TestWeightedSharesAreFairWhateverTheShape(t *testing.T) {
	const n = 6
	for name, kinds := range shapes(n) {
		t.Run(name, rapid.MakeCheck(func(t *rapid.T) {
			members, resources := shaped(t, n, kinds)
			for i := range members {
				members[i].Weight = rapid.SampledFrom([]int{1, 2, 3, 5}).Draw(t, "weight")
			}
			twin := newTwin(members, resources)
			fair := twin.fair()
			for i, list := range assignor.Weighted().Assign(members, resources) {
				down := fair.share[i] / fair.per[i]
				up := (fair.share[i] + fair.per[i] - 1) / fair.per[i]
				require.Contains(t, []int{down, up}, len(list), "member %d, share %d/%d", i, fair.share[i], fair.per[i])
			}
		}))
	}
}

// A zone fails and comes back: its resources move elsewhere, no other resource
// moves, and afterwards the assignment is as before.
func TestAZoneGoesAndComesBack(t *testing.T) {
	members, resources := group(9, 90)
	for i := range members {
		members[i].Zone = string(rune('a' + i%3))
	}
	for j := range resources {
		resources[j].Zone = string(rune('a' + j%3))
	}
	home := func(members []assignor.Member, assignment [][]string) int {
		twin := newTwin(members, resources)
		return len(resources) - twin.abroad(twin.owners(members, assignment))
	}
	a := assignor.Zones()
	got := a.Assign(members, resources)
	require.Equal(t, 90, home(members, got), "all are at home")
	hold(members, got)

	left := slices.DeleteFunc(slices.Clone(members), func(m assignor.Member) bool { return m.Zone == "c" })
	step := a.Assign(left, resources)
	require.Equal(t, 60, home(left, step))
	require.Zero(t, given(left, step))
	hold(left, step)

	for i := range left {
		require.Len(t, step[i], 15)
	}
	back := slices.Clone(left)
	for _, m := range members {
		if m.Zone == "c" {
			back = append(back, assignor.Member{Key: m.Key, Zone: "c"})
		}
	}
	again := a.Assign(back, resources)
	require.Equal(t, 90, home(back, again))
	require.Equal(t, 30, given(back, again), "only the resources of zone c move")
}
