package ensemble

import (
	"cmp"
	"slices"

	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// withIdentity returns ids with id in the order of Apache's server: the order
// of a Java ConcurrentHashMap, whose table has 16 places and doubles when three
// quarters full. whoAmI shows the order, and so do ACLs made from the scheme
// "auth".
func withIdentity(ids []proto.ID, id proto.ID) []proto.ID {
	if slices.Contains(ids, id) {
		return ids
	}
	out := append(slices.Clone(ids), id)
	table := uint32(16)
	for uint32(len(out)) >= table/4*3 {
		table *= 2
	}
	place := func(id proto.ID) uint32 {
		h := 37*(37*17+javaHash(id.Scheme)) + javaHash(id.ID)
		return (h ^ h>>16) & (table - 1)
	}
	slices.SortStableFunc(out, func(a, b proto.ID) int { return cmp.Compare(place(a), place(b)) })
	return out
}

// javaHash is String.hashCode of a text without characters beyond the basic plane.
func javaHash(s string) uint32 {
	h := uint32(0)
	for _, r := range s {
		h = 31*h + uint32(r)
	}
	return h
}
