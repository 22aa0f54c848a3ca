package assignor_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
	"pgregory.net/rapid"
)

// For groups too large for a trial of all assignments, a certificate exists: an
// assignment is optimal if no chain or circle of moves improves it.

// certify returns the defect of an assignment, or "". cost is the cost of a
// resource at a member.
func (t *twin) certify(owner []int, cost func(j, i int) int) string {
	n := len(t.members)
	loads := t.loads(owner)
	const never = math.MaxInt / 4
	way := make([][]int, n) // the cheapest single move, then chain of moves
	for i := range way {
		way[i] = slices.Repeat([]int{never}, n)
	}
	for j, i := range owner {
		for _, k := range t.takers[j] {
			if k != i {
				way[i][k] = min(way[i][k], cost(j, k)-cost(j, i))
			}
		}
	}
	// Reachability first: a chain from a member with two more.
	reach := make([][]bool, n)
	for i := range reach {
		reach[i] = make([]bool, n)
		for k := range reach[i] {
			reach[i][k] = way[i][k] < never
		}
	}
	for via := range n {
		for i := range n {
			for k := range n {
				reach[i][k] = reach[i][k] || reach[i][via] && reach[via][k]
			}
		}
	}
	for i := range n {
		for k := range n {
			if reach[i][k] && loads[i] >= loads[k]+2 {
				return fmt.Sprintf("a chain of moves from %d, which has %d, to %d, which has %d", i, loads[i], k, loads[k])
			}
			if loads[i] == loads[k]+1 {
				way[k][i] = min(way[k][i], 0) // a member with one more may swap roles with the other
			}
		}
	}
	for via := range n {
		for i := range n {
			for k := range n {
				if way[i][via] < never && way[via][k] < never {
					way[i][k] = max(min(way[i][k], way[i][via]+way[via][k]), -never)
				}
			}
		}
	}
	for i := range n {
		if way[i][i] < 0 {
			return fmt.Sprintf("a circle of moves through %d saves something", i)
		}
	}
	return ""
}

func (t *twin) stickyCost(j, i int) int {
	if t.holder[j] >= 0 && t.holder[j] != i {
		return 1
	}
	return 0
}

func (t *twin) zonesCost(j, i int) int {
	if t.zones[j] != "" && t.zones[j] != t.members[i].Zone {
		return 1000 + t.stickyCost(j, i)
	}
	return t.stickyCost(j, i)
}

func TestNoChainOfMovesMakesItBetter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members, resources := drawn(t, 15, 120, true)
		twin := newTwin(members, resources)
		sticky := twin.owners(members, assignor.Sticky().Assign(members, resources))
		require.Empty(t, twin.certify(sticky, twin.stickyCost))
		zones := twin.owners(members, assignor.Zones().Assign(members, resources))
		require.Empty(t, twin.certify(zones, twin.zonesCost))
		ranges := twin.owners(members, assignor.Range().Assign(members, resources))
		require.Empty(t, twin.certify(ranges, func(int, int) int { return 0 }))
	})
}

func TestTheCertificateIsRefused(t *testing.T) {
	sub := func(key, pattern string, held ...string) assignor.Member {
		return assignor.Member{Key: key, Subscription: []string{pattern}, Held: held}
	}
	members := []assignor.Member{sub("a", "[xy]*", "x1"), sub("b", "[xyz]*", "y1", "y2"), sub("c", "[yz]*", "z1")}
	twin := newTwin(members, []assignor.Resource{{Name: "x1"}, {Name: "y1"}, {Name: "y2"}, {Name: "z1"}})
	for _, c := range []struct {
		owner []int
		want  string
	}{
		{[]int{0, 1, 1, 2}, ""},
		{[]int{1, 0, 1, 2}, "saves something"},  // x1 and y1 changed places
		{[]int{0, 0, 1, 2}, "saves something"},  // the spare resource is at a
		{[]int{1, 1, 1, 2}, "a chain of moves"}, // three, none, one
		{[]int{1, 2, 2, 2}, "a chain of moves"},
	} {
		got := twin.certify(c.owner, twin.stickyCost)
		require.Contains(t, got, c.want)
		require.Equal(t, c.want == "", got == "", got)
	}
}
