package assignor

import (
	"cmp"
	"slices"
)

// quota is how many resources each member gets: as many as it has room for, and one
// more of the spare resources of its pool. Members may only take classes of their
// part.
type quota struct {
	member, class []int32 // the part of each
	room          []int64 // of each member
	pool          []int32 // of each member, or -1
	spare         []int64 // of each pool
}

// exactly is a quota of nothing, in which the blocks are the parts.
func (d *division) exactly() *quota {
	q := &quota{
		member: d.member, class: d.class,
		room: make([]int64, len(d.member)), pool: make([]int32, len(d.member)),
	}
	for i := range q.pool {
		q.pool[i] = -1
	}
	return q
}

// balanced allows all assignments that are as balanced as possible: those where
// a member has its share of the block, rounded up or down. Blocks that round to
// the same two numbers are one part, since a resource that may change over from
// one to the other does not make the whole less balanced.
func (d *division) balanced() *quota {
	most := make([]int64, len(d.total)) // of each block: its share, rounded up
	part := map[int64]int32{}
	for b := range most {
		most[b] = (d.total[b] + d.weight[b] - 1) / d.weight[b]
		if _, ok := part[most[b]]; !ok {
			part[most[b]] = int32(len(part))
		}
	}
	q := &quota{
		member: make([]int32, len(d.member)), class: make([]int32, len(d.class)),
		room: make([]int64, len(d.member)), pool: make([]int32, len(d.member)),
		spare: make([]int64, len(part)),
	}
	for b, n := range d.total {
		q.spare[part[most[b]]] += n
	}
	for i, b := range d.member {
		q.member[i] = part[most[b]]
		q.pool[i] = q.member[i]
		q.room[i] = max(0, most[b]-1)
		q.spare[q.pool[i]] -= q.room[i]
	}
	for c, b := range d.class {
		q.class[c] = part[most[b]]
	}
	return q
}

// remainder is the remainder of rounding a member's share down.
type remainder struct {
	member, block int32
	left          int64 // in pieces, as many to a resource as the block has weight
}

// rounded allows all assignments that round the shares by largest remainders,
// as far as subscriptions allow. The sets of members that can be rounded up
// together are a matroid: to take the members with the largest remainders first is
// never a mistake, and the number of rounded members with the same remainder is
// always the same. A pool for these members leaves the choice among them open.
func (d *division) rounded(k *classes, weight []int64) *quota {
	q := d.exactly()
	var rest []remainder
	for i, b := range d.member {
		share := d.total[b] * weight[i]
		q.room[i] = share / d.weight[b]
		if left := share % d.weight[b]; left > 0 {
			rest = append(rest, remainder{int32(i), b, left})
		}
	}
	better := func(a, b remainder) int {
		return cmp.Or(cmp.Compare(a.block, b.block), cmp.Compare(b.left, a.left))
	}
	slices.SortStableFunc(rest, better)
	f := newNetwork(k, q)
	copy(f.left, k.size)
	f.sendUnits()
	for len(rest) > 0 {
		same := 1
		for same < len(rest) && better(rest[0], rest[same]) == 0 {
			same++
		}
		f.roundUp(q, rest[:same])
		rest = rest[same:]
	}
	return q
}

// roundUp raises the quota of the members with the same remainder, as far as f has
// resources left for them.
func (f *network) roundUp(q *quota, same []remainder) {
	for _, r := range same {
		f.room[r.member] = 1
	}
	f.sendUnits()
	up := int64(len(same))
	for _, r := range same {
		up -= f.room[r.member]
		f.room[r.member] = 0
	}
	if up == int64(len(same)) {
		for _, r := range same {
			q.room[r.member]++
		}
	} else if up > 0 {
		for _, r := range same {
			q.pool[r.member] = int32(len(q.spare))
		}
		q.spare = append(q.spare, up)
	}
}
