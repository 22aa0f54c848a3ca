package assignor

import (
	"cmp"
	"slices"
	"strings"
)

// Limit returns a step towards target, an assignment to these members. The step
// moves at most the given number of resources from one member to another: 0 means no
// limit, and a negative number allows no moves. Resources without a holder, and
// resources whose holder no longer takes them, are given at once. Resources that are
// not in target are taken away. All other resources stay with their holders.
//
// The first moves are those that close the widest gaps, from members that have much to
// members that have little. If each result becomes the held assignment, repeated calls
// reach the target after the number of moves divided by the limit, rounded up. The
// target may be the same each time, or computed again by [Sticky], [Weighted] or
// [Zones]. Each step passes [Check] if the target does.
func Limit(members []Member, target [][]string, moves int) [][]string {
	s := newStep(members, target)
	if pending := s.pending(); moves != 0 && len(pending) > moves {
		pending = s.widest(pending)
		for _, j := range pending[max(0, moves):] {
			s.to[j] = s.from[j]
		}
	}
	return s.lists()
}

// step is the move from the held assignment to the target; resources are the
// target's.
type step struct {
	members  []Member
	order    []int32
	names    *index
	from, to []int32 // of each resource: the member, by order, or -1
}

func newStep(members []Member, target [][]string) *step {
	s := &step{members: members, order: byKey(members)}
	size := 0
	for _, list := range target {
		size += len(list)
	}
	s.names = newIndex(size)
	s.to = make([]int32, 0, size)
	for i, at := range s.order {
		if int(at) >= len(target) {
			continue
		}
		for _, name := range target[at] {
			if _, fresh := s.names.add(name); fresh {
				s.to = append(s.to, int32(i))
			}
		}
	}
	s.from = make([]int32, len(s.to))
	for j := range s.from {
		s.from[j] = -1
	}
	for i, at := range s.order {
		for _, name := range members[at].Held {
			j := s.names.find(name)
			if j >= 0 && s.from[j] < 0 && (s.to[j] == int32(i) || members[at].takes(name)) {
				s.from[j] = int32(i)
			}
		}
	}
	return s
}

// pending are the resources that one member gives to another.
func (s *step) pending() []int32 {
	var out []int32
	for j, from := range s.from {
		if from >= 0 && from != s.to[j] {
			out = append(out, int32(j))
		}
	}
	return out
}

// move is one resource that is to go from one member to another.
type move struct {
	resource int32
	name     string
	from, to int32
	has      int // the giver's number before the move
	gap      int // by how much has exceeds the taker's number
}

// widest sorts pending moves by the gap that each would close in its turn. A
// giver gives in the order of names; a taker takes first from those that have
// most.
func (s *step) widest(pending []int32) []int32 {
	has := make([]int, len(s.members)) // as long as nothing moves
	for j, i := range s.to {
		if s.from[j] >= 0 {
			i = s.from[j]
		}
		has[i]++
	}
	moves := make([]move, len(pending))
	for n, j := range pending {
		moves[n] = move{resource: j, name: s.names.names[j], from: s.from[j], to: s.to[j]}
	}
	byName := func(a, b move) int { return strings.Compare(a.name, b.name) }
	slices.SortFunc(moves, byName)
	given := make([]int, len(s.members))
	for n := range moves {
		m := &moves[n]
		m.has = has[m.from] - given[m.from]
		given[m.from]++
	}
	slices.SortStableFunc(moves, func(a, b move) int { return cmp.Compare(b.has, a.has) })
	taken := make([]int, len(s.members))
	for n := range moves {
		m := &moves[n]
		m.gap = m.has - has[m.to] - taken[m.to]
		taken[m.to]++
	}
	slices.SortFunc(moves, func(a, b move) int { return cmp.Or(cmp.Compare(b.gap, a.gap), byName(a, b)) })
	for n := range moves {
		pending[n] = moves[n].resource
	}
	return pending
}

// lists writes the step down.
func (s *step) lists() [][]string {
	out := make([][]string, len(s.members))
	for j, i := range s.to {
		at := s.order[i]
		out[at] = append(out[at], s.names.names[j])
	}
	for _, list := range out {
		slices.Sort(list)
	}
	return out
}
