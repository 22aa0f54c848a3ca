package assignor_test

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// twin knows the same as an assignor, and finds the answer by trying all.
type twin struct {
	members []assignor.Member // in the order of keys
	names   []string          // sorted, each once
	zones   []string
	takers  [][]int // of each resource
	holder  []int   // of each resource, or -1
}

func newTwin(members []assignor.Member, resources []assignor.Resource) *twin {
	t := &twin{members: slices.Clone(members)}
	slices.SortStableFunc(t.members, func(a, b assignor.Member) int { return strings.Compare(a.Key, b.Key) })
	sorted := slices.Clone(resources)
	slices.SortFunc(sorted, func(a, b assignor.Resource) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), strings.Compare(a.Zone, b.Zone))
	})
	for _, r := range sorted {
		if slices.Contains(t.names, r.Name) {
			continue
		}
		t.names = append(t.names, r.Name)
		t.zones = append(t.zones, r.Zone)
		var takers []int
		holder := -1
		for i, m := range t.members {
			if subscribes(m, r.Name) {
				takers = append(takers, i)
				if holder < 0 && slices.Contains(m.Held, r.Name) {
					holder = i
				}
			}
		}
		t.takers = append(t.takers, takers)
		t.holder = append(t.holder, holder)
	}
	return t
}

func subscribes(m assignor.Member, name string) bool {
	for _, p := range m.Subscription {
		if ok, err := path.Match(p, name); ok && err == nil {
			return true
		}
	}
	return len(m.Subscription) == 0
}

// every calls do with every assignment: of each resource the member, or -1.
func (t *twin) every(do func(owner []int)) {
	owner := make([]int, len(t.names))
	var choose func(j int)
	choose = func(j int) {
		if j == len(owner) {
			do(owner)
			return
		}
		owner[j] = -1
		if len(t.takers[j]) == 0 {
			choose(j + 1)
		}
		for _, i := range t.takers[j] {
			owner[j] = i
			choose(j + 1)
		}
	}
	choose(0)
}

// loads counts each member's resources.
func (t *twin) loads(owner []int) []int {
	n := make([]int, len(t.members))
	for _, i := range owner {
		if i >= 0 {
			n[i]++
		}
	}
	return n
}

// spread is the numbers of resources, the largest first.
func (t *twin) spread(owner []int) []int {
	n := t.loads(owner)
	slices.SortFunc(n, func(a, b int) int { return b - a })
	return n
}

// moves counts the resources that left their holders.
func (t *twin) moves(owner []int) int {
	n := 0
	for j, i := range t.holder {
		if i >= 0 && owner[j] != i {
			n++
		}
	}
	return n
}

// abroad counts the resources outside their zones.
func (t *twin) abroad(owner []int) int {
	n := 0
	for j, i := range owner {
		if i >= 0 && t.zones[j] != "" && t.zones[j] != t.members[i].Zone {
			n++
		}
	}
	return n
}

// score is the value to minimize: the first elements first.
type score func(owner []int) []int

func (t *twin) sticky(owner []int) []int {
	return append(t.spread(owner), t.moves(owner))
}

func (t *twin) homely(owner []int) []int {
	return append(t.spread(owner), t.abroad(owner), t.moves(owner))
}

// best is the least score of all assignments.
func (t *twin) best(s score) []int {
	var least []int
	t.every(func(owner []int) {
		if got := s(owner); least == nil || slices.Compare(got, least) < 0 {
			least = got
		}
	})
	return least
}

// owners turns an assignment, for members in their order, into numbers.
func (t *twin) owners(members []assignor.Member, assignment [][]string) []int {
	owner := make([]int, len(t.names))
	for j := range owner {
		owner[j] = -1
	}
	order := make([]int, len(members))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return strings.Compare(members[a].Key, members[b].Key) })
	for i, at := range order {
		for _, name := range assignment[at] {
			j, ok := slices.BinarySearch(t.names, name)
			if !ok || owner[j] >= 0 {
				panic("no such resource, or twice: " + name)
			}
			owner[j] = i
		}
	}
	return owner
}

// fair is the fair share of each member, as a fraction, and its block: blocks
// with the smallest shares come first.
type fair struct {
	block      []int
	share, per []int // of each member: share resources per this weight
	home       []int // of each resource: the block, or -1
}

func weightOf(m assignor.Member) int { return max(1, m.Weight) }

// fair searches repeatedly for the set of members with proportionally the most
// resources accepted by no other member: these resources are the members'
// shares.
func (t *twin) fair() *fair {
	n := len(t.members)
	f := &fair{block: make([]int, n), share: make([]int, n), per: make([]int, n), home: make([]int, len(t.names))}
	for j := range f.home {
		f.home[j] = -1
	}
	gone := 0 // set of members
	for block := 0; gone != 1<<n-1; block++ {
		best, most, weight := 0, 0, 1
		for set := 1; set < 1<<n; set++ {
			if set&gone != 0 {
				continue
			}
			own, w := 0, 0
			for j := range t.names {
				if f.home[j] < 0 && len(t.takers[j]) > 0 && t.within(j, set|gone) {
					own++
				}
			}
			for i, m := range t.members {
				if set>>i&1 != 0 {
					w += weightOf(m)
				}
			}
			if c := cmp.Compare(own*weight, most*w); best == 0 || c > 0 || c == 0 && w > weight {
				best, most, weight = set, own, w
			}
		}
		for j := range t.names {
			if f.home[j] < 0 && len(t.takers[j]) > 0 && t.within(j, best|gone) {
				f.home[j] = block
			}
		}
		gone |= best
		for i, m := range t.members {
			if best>>i&1 != 0 {
				f.block[i], f.share[i], f.per[i] = block, most*weightOf(m), weight
			}
		}
	}
	return f
}

// within reports whether all takers of resource j are in a set.
func (t *twin) within(j, set int) bool {
	return !slices.ContainsFunc(t.takers[j], func(i int) bool { return set>>i&1 == 0 })
}

// weighted scores an assignment: nil if a member does not have its fair share,
// rounded up or down; then by the members rounded up, then by moves.
func (t *twin) weighted(f *fair) score {
	return func(owner []int) []int {
		var up []int // the largest remainders first, by block
		for j, i := range owner {
			if i >= 0 && f.home[j] != f.block[i] {
				return nil
			}
		}
		for i, n := range t.loads(owner) {
			down, rest := f.share[i]/f.per[i], f.share[i]%f.per[i]
			if n < down || n > down+min(rest, 1) {
				return nil
			}
			if n > down {
				up = append(up, f.block[i]*1000-rest)
			}
		}
		slices.Sort(up)
		return append(up, t.moves(owner))
	}
}
