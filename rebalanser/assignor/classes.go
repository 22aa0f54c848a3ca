package assignor

import (
	"math/bits"
	"slices"
)

// classes groups the resources by the members that take them: resources of one class
// are interchangeable. The assignor decides how many resources of each class a member
// gets, so that the work grows with the number of different subscriptions rather than
// with the number of resources.
type classes struct {
	words  int      // of a set of members
	takers []uint64 // of each class a set of members
	size   []int64  // of each class: its resources; 0 if no member takes them
	zone   []int32  // of each class; 0: no zone
	of     []int32  // the class of each resource

	stop stopper // of the whole computation

	hits []int64         // of each class, within refine
	into map[group]int32 // the same
}

// newClasses puts resources into classes by their zones, which are numbered
// below zones. So far only some take them, all of them, of many members.
func newClasses(of []int32, zones, members int, takers []int32) *classes {
	k := &classes{words: (members + 63) / 64, of: of, into: map[group]int32{}}
	row := make([]uint64, k.words)
	for _, i := range takers {
		put(row, i)
	}
	for z := range zones {
		k.add(row, int32(z))
	}
	k.count()
	return k
}

// reserve makes room for n more classes.
func (k *classes) reserve(n int) {
	k.takers, k.size = slices.Grow(k.takers, n*k.words), slices.Grow(k.size, n)
	k.zone, k.hits = slices.Grow(k.zone, n), slices.Grow(k.hits, n)
}

func (k *classes) add(takers []uint64, zone int32) int32 {
	k.takers = append(k.takers, takers...)
	k.size = append(k.size, 0)
	k.zone = append(k.zone, zone)
	k.hits = append(k.hits, 0)
	return int32(len(k.size) - 1)
}

// row is the set of members that take class c.
func (k *classes) row(c int32) []uint64 {
	return k.takers[int(c)*k.words : (int(c)+1)*k.words]
}

// takes reports whether member i takes class c.
func (k *classes) takes(c, i int32) bool { return has(k.row(c), i) }

// batch is how many subscriptions are told apart at a time.
const batch = 64

// group has the resources of a class with the same takes.
type group struct {
	class int32
	takes uint64
}

// refine splits the classes by up to [batch] subscriptions: bit b of takes[j]
// says that the members of subs[b] take resource j.
func (k *classes) refine(takes []uint64, subs []subscription) {
	for j, c := range k.of {
		if takes[j] != 0 {
			k.hits[c]++
		}
	}
	clear(k.into)
	var groups []group // in the order of their first resources: classes have to be
	for j, c := range k.of {
		if takes[j] == 0 {
			continue
		}
		if k.size[c] == 1 {
			groups = append(groups, group{c, takes[j]})
			k.hits[c] = 0
			continue
		}
		g := group{c, takes[j]}
		to, ok := k.into[g]
		if !ok {
			to = c
			if k.hits[c] < k.size[c] {
				to = k.add(k.row(c), k.zone[c])
			}
			k.hits[c] = 0 // only the first group of a class that is hit as a whole stays in it
			k.into[g] = to
			groups = append(groups, group{to, g.takes})
		}
		k.of[j] = to
	}
	for _, g := range groups {
		row := k.row(g.class)
		for rest := g.takes; rest != 0; rest &= rest - 1 {
			for _, i := range subs[bits.TrailingZeros64(rest)].members {
				put(row, i)
			}
		}
	}
	k.count()
}

// count counts the resources of each class.
func (k *classes) count() {
	clear(k.size)
	for _, c := range k.of {
		k.size[c]++
	}
}

// close says that all is allowed that will be.
func (k *classes) close() {
	for c := range k.size {
		if isEmpty(k.row(int32(c))) {
			k.size[c] = 0
		}
	}
}

// has reports whether i is in a set.
func has(set []uint64, i int32) bool { return set[i>>6]>>(i&63)&1 != 0 }

// put puts i into a set.
func put(set []uint64, i int32) { set[i>>6] |= 1 << (i & 63) }

// isEmpty reports whether nothing is in a set.
func isEmpty(set []uint64) bool {
	for _, w := range set {
		if w != 0 {
			return false
		}
	}
	return true
}
