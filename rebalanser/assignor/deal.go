package assignor

import (
	"cmp"
	"slices"
)

// deal assigns the resources by name, given the number of each class in the
// flow. A member keeps the first, by name, of the resources that it holds; the
// rest of a class goes to its members in order, in contiguous ranges.
func (p *problem) deal(f *network, cellOf []int32) [][]string {
	owner := make([]int32, len(p.names))
	keeps := make([]int64, len(f.cells)) // of each cell: how many it keeps yet
	for at := range f.cells {
		keeps[at] = min(f.cells[at].flow, f.cells[at].held)
		f.cells[at].flow -= keeps[at]
	}
	for j, at := range cellOf {
		owner[j] = -1
		if at >= 0 && keeps[at] > 0 {
			keeps[at]--
			owner[j] = f.cells[at].member
		}
	}
	slices.SortFunc(f.cells, func(a, b cell) int {
		return cmp.Or(cmp.Compare(a.class, b.class), cmp.Compare(a.member, b.member))
	})
	next := make([]int, len(p.size)) // of each class: the cell that gets the next one
	for at := len(f.cells) - 1; at >= 0; at-- {
		next[f.cells[at].class] = at
	}
	for j, c := range p.of {
		if owner[j] >= 0 || p.size[c] == 0 {
			continue
		}
		for f.cells[next[c]].flow == 0 {
			next[c]++
		}
		f.cells[next[c]].flow--
		owner[j] = f.cells[next[c]].member
	}
	return p.lists(owner)
}

// lists writes down what each member got, for the caller's order of members.
func (p *problem) lists(owner []int32) [][]string {
	count := make([]int, len(p.members))
	total := 0
	for _, i := range owner {
		if i >= 0 {
			count[i]++
			total++
		}
	}
	lists := make([][]string, len(p.members))
	room := make([]string, total)
	for i, n := range count {
		if n > 0 {
			lists[i], room = room[:0:n], room[n:]
		}
	}
	for j, i := range owner {
		if i >= 0 {
			lists[i] = append(lists[i], p.names[j])
		}
	}
	out := make([][]string, len(p.members))
	for i, at := range p.order {
		out[at] = lists[i]
	}
	return out
}
