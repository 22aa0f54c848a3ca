package assignor

import (
	"context"
	"math/bits"
)

// roundRobin deals the resources out in turns.
type roundRobin struct{}

func (roundRobin) Name() string { return "round-robin" }

func (r roundRobin) Assign(members []Member, resources []Resource) [][]string {
	out, _ := r.assign(members, resources, nil)
	return out
}

func (r roundRobin) AssignContext(ctx context.Context, members []Member, resources []Resource) ([][]string, error) {
	return assignUntil(ctx, func(stop stopper) ([][]string, bool) { return r.assign(members, resources, stop) })
}

// assign returns false if it has stopped.
func (roundRobin) assign(members []Member, resources []Resource, stop stopper) ([][]string, bool) {
	if len(members) == 0 || len(resources) == 0 {
		return make([][]string, len(members)), true
	}
	p := newProblem(members, resources, false, stop)
	if stop.stopped() {
		return nil, false // the classes may be wrong
	}
	owner := make([]int32, len(p.names))
	turn := int32(0)
	for j, c := range p.of {
		owner[j] = -1
		if p.size[c] == 0 {
			continue // no member takes it
		}
		i := nextIn(p.row(c), turn)
		if i < 0 {
			i = nextIn(p.row(c), 0)
		}
		owner[j] = i
		turn = i + 1
	}
	return p.lists(owner), true
}

// nextIn returns the first in a set that is not below i, or -1.
func nextIn(set []uint64, i int32) int32 {
	for w := int(i >> 6); w < len(set); w++ {
		word := set[w]
		if w == int(i>>6) {
			word &= ^uint64(0) << (i & 63)
		}
		if word != 0 {
			return int32(w<<6 + bits.TrailingZeros64(word))
		}
	}
	return -1
}
