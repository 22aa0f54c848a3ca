package assignor

import "slices"

// network is a flow of resources: each class is a source of its resources,
// members pass them on to the sink as far as they have room, and pools pass on
// what is spare, at most one from each of their members.
//
// Nodes are numbered: members, then pools, then classes.
type network struct {
	*classes
	members, pools int32
	part           []int32  // of each class: the part, the set of members that may take it at all
	masks          []uint64 // of each part a set of its members

	left  []int64 // of each class: the number of resources without a place
	room  []int64 // of each member: how many it takes yet, besides one from the pool
	pool  []int32 // of each member, or -1
	extra []bool  // of each member: it has one that the pool passes on
	spare []int64 // of each pool: how many it passes on yet

	cells []cell
	first []int32         // of each class and member node: its first cell, or -1
	at    map[int64]int32 // where the cell of a class and a member is

	// A unit costs moved if its member did not hold it, and remote if it is
	// not at home there. price is the cost of the cheapest path to a node from the
	// classes with resources left, and sink the cost of the path to the sink, as
	// reprice found them.
	moved, remote int64
	zoneOf        []int32
	price         []int64
	sink, dearest int64

	level []int32 // of each node: steps from the classes with resources left, or -1
	seen  []uint64
	queue []int32
	next  []int32 // of each node: the cell, or member of the pool, that is tried next
	bit   []int32 // of each class: the member that is tried next
}

// cell is how many resources of a class a member gets.
type cell struct {
	class, member     int32
	inClass, ofMember int32 // the next cell of the same class, and member, or -1
	flow, held        int64 // how many it gets, how many it has
}

// newNetwork returns a network for a quota, in which nothing costs anything,
// and nothing is left.
func newNetwork(k *classes, q *quota) *network {
	members, pools := len(q.member), len(q.spare)
	parts := 1 + int(max(slices.Max(q.member), slices.Max(q.class)))
	f := &network{
		classes: k, members: int32(members), pools: int32(pools), part: q.class,
		masks: make([]uint64, parts*k.words), seen: make([]uint64, k.words),
		left: make([]int64, len(q.class)), room: slices.Clone(q.room),
		pool: q.pool, extra: make([]bool, members), spare: slices.Clone(q.spare),
		at: map[int64]int32{}, bit: make([]int32, len(q.class)),
	}
	nodes := members + pools + len(q.class)
	f.first, f.next, f.level = make([]int32, nodes), make([]int32, nodes), make([]int32, nodes)
	f.price = make([]int64, nodes)
	for v := range f.first {
		f.first[v] = -1
	}
	for i, part := range q.member {
		put(f.mask(part), int32(i))
	}
	return f
}

func (f *network) mask(part int32) []uint64 {
	return f.masks[int(part)*f.words : (int(part)+1)*f.words]
}

func (f *network) classNode(c int32) int32 { return f.members + f.pools + c }

// cellOf returns the cell of a class and a member, a new one if need be.
func (f *network) cellOf(c, i int32) int32 {
	key := int64(c)*int64(f.members) + int64(i)
	if at, ok := f.at[key]; ok {
		return at
	}
	at := int32(len(f.cells))
	v := f.classNode(c)
	f.cells = append(f.cells, cell{class: c, member: i, inClass: f.first[v], ofMember: f.first[i]})
	f.first[v], f.first[i] = at, at
	f.at[key] = at
	return at
}

// remoteCost is the cost of a resource of class c that is not at home at member i.
func (f *network) remoteCost(c, i int32) int64 {
	if f.remote == 0 || f.zone[c] == 0 || f.zone[c] == f.zoneOf[i] {
		return 0
	}
	return f.remote
}

// back says how many units a cell can give back for the same price, and how
// much each of them saves. Those that were not held go first: they save more.
func (f *network) back(x *cell) (units, saved int64) {
	if x.flow > x.held {
		return x.flow - x.held, f.moved + f.remoteCost(x.class, x.member)
	}
	return x.flow, f.remoteCost(x.class, x.member)
}

// findCheapestFlow finds a place for all that is left, for the least cost: it sends all
// that it can along the cheapest ways, raises the price, and goes on
// (successive shortest paths, all of a length at a time). It has to begin with
// an empty network: of that, price 0 is right everywhere.
func (f *network) findCheapestFlow() {
	f.sendUnits()
	for !f.stop.stopped() && f.reprice() {
		f.sendUnits()
	}
}

// sendUnits sends as many of the remaining units as possible along the paths that
// the present prices allow: Dinic's maximum flow. Without costs these are all
// paths. Flow never leaves the sink again: a member whose room was filled stays
// filled. If it has to stop, units are left.
func (f *network) sendUnits() {
	for !f.stop.stopped() && f.search() {
		for c, left := range f.left {
			if c%1024 == 1023 && f.stop.stopped() {
				return
			}
			if v := f.classNode(int32(c)); left > 0 && f.level[v] == 0 {
				f.left[c] -= f.fromClass(int32(c), left)
			}
		}
	}
}
