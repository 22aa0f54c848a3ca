package assignor_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// group makes the given numbers of members and resources.
func group(members, resources int) ([]assignor.Member, []assignor.Resource) {
	m := make([]assignor.Member, members)
	for i := range m {
		m[i].Key = fmt.Sprintf("member-%05d", i)
	}
	r := make([]assignor.Resource, resources)
	for j := range r {
		r[j].Name = fmt.Sprintf("resource-%07d", j)
	}
	return m, r
}

// hold makes the members hold their assignments.
func hold(members []assignor.Member, assignment [][]string) {
	for i := range members {
		members[i].Held = assignment[i]
	}
}

// large is a change of a large group. least is the necessary number of moves
// between remaining members.
type large struct {
	name      string
	members   []assignor.Member
	resources []assignor.Resource
	least     int
}

// largeGroups are n members and r resources, a multiple of n.
func largeGroups(n, r int) []large {
	fresh, resources := group(n, r)
	members := slices.Clone(fresh)
	hold(members, assignor.Sticky().Assign(members, resources))
	each := r / n

	mixed := slices.Clone(resources)
	rng := rand.New(rand.NewPCG(1, 2))
	rng.Shuffle(r, func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })

	odd := func(members []assignor.Member) []assignor.Member {
		members = slices.Clone(members)
		members[n/2].Subscription = []string{"*[02468]"}
		return members
	}
	return []large{
		{"fresh", fresh, resources, 0},
		{"fresh, resources in no order", fresh, mixed, 0},
		{"fresh, one subscription differs", odd(fresh), resources, 0},
		{"nothing changes", members, resources, 0},
		{"one joins", append(slices.Clone(members), assignor.Member{Key: "joins"}), resources, r / (n + 1)},
		{"one leaves", slices.Delete(slices.Clone(members), n/3, n/3+1), resources, 0},
		// The member keeps every other resource, and gets as many from others.
		{"one subscription differs", odd(members), resources, each / 2},
	}
}

func TestALargeGroupIsBalancedWithTheFewestMoves(t *testing.T) {
	const n, r = 200, 20_000
	for _, c := range largeGroups(n, r) {
		got := assignor.Sticky().Assign(c.members, c.resources)
		require.NoError(t, assignor.Check(c.members, c.resources, got), c.name)
		fewest, most := r, 0
		for _, list := range got {
			fewest, most = min(fewest, len(list)), max(most, len(list))
		}
		require.LessOrEqual(t, most-fewest, 1, c.name)
		require.Equal(t, c.least, given(c.members, got), c.name)
	}
}

// The bound is generous, and in processor time, because the machine may be
// busy. BenchmarkMillion has the real times.
func TestAMillionResourcesTakeAMoment(t *testing.T) {
	n, r := 2000, 1_000_000
	if raced || testing.Short() {
		n, r = 200, 20_000
	}
	for _, c := range largeGroups(n, r) {
		started := world.ProcessorTime()
		got := assignor.Sticky().Assign(c.members, c.resources)
		took := world.ProcessorTime() - started
		t.Logf("%s: %v", c.name, took.Round(time.Millisecond))
		require.Less(t, took, 5*time.Second, c.name)
		total := 0
		for _, list := range got {
			total += len(list)
		}
		require.Equal(t, r, total)
	}
}

// given counts the resources taken from a holder that would still accept them.
func given(members []assignor.Member, assignment [][]string) int {
	holder := map[string]int{}
	for i, m := range members {
		for _, name := range m.Held {
			if subscribes(m, name) {
				holder[name] = i
			}
		}
	}
	moves := 0
	for i, list := range assignment {
		for _, name := range list {
			if h, ok := holder[name]; ok && h != i {
				moves++
			}
		}
	}
	return moves
}

// Hundreds of members with as many different subscriptions overlapping in all
// ways: most resources are a class of their own.
func TestAllSubscriptionsDiffer(t *testing.T) {
	n, r := 400, 8000
	if raced || testing.Short() {
		n, r = 60, 2000
	}
	for _, kind := range []string{"names", "prefixes", "a third"} {
		members, resources := group(n, r)
		odd(members, r, kind)
		a := assignor.Sticky()
		started := world.ProcessorTime()
		got := a.Assign(members, resources)
		require.NoError(t, assignor.Check(members, resources, got), kind)
		hold(members, got)
		require.Equal(t, got, a.Assign(members, resources), kind)
		left := members[1:]
		got = a.Assign(left, resources)
		require.NoError(t, assignor.Check(left, resources, got), kind)
		took := world.ProcessorTime() - started
		require.Less(t, took, 10*time.Second, kind)
		t.Logf("%s: %v", kind, took.Round(time.Millisecond))
	}
}

// odd gives each member a subscription of its own to some of r resources.
func odd(members []assignor.Member, r int, kind string) {
	rng := rand.New(rand.NewPCG(3, 4))
	digits := func(n int) string {
		var b []byte
		for _, d := range rng.Perm(10)[:n] {
			b = append(b, byte('0'+d))
		}
		return "[" + string(b) + "]"
	}
	for i := range members {
		var s []string
		switch kind {
		case "names":
			for range 500 {
				s = append(s, fmt.Sprintf("resource-%07d", rng.IntN(r)))
			}
		case "prefixes":
			for range 5 {
				s = append(s, fmt.Sprintf("resource-%05d*", rng.IntN(r/100)))
			}
		case "a third":
			s = []string{"*" + digits(8) + digits(8) + digits(8) + digits(8) + digits(8)}
		}
		members[i].Subscription = s
	}
}
