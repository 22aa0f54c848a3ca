package assignor

import (
	"math/bits"
	"slices"
)

// partition puts names together that have the same zone and match the same subscriptions.
type partition struct {
	words int      // of a set of subscriptions
	rows  []uint64 // of each part: which subscriptions match it
	zone  []int32  // of each part
	of    []int32  // the part of each name
	slots []int32  // a hash table of parts: number + 1, or 0 if empty
}

// triedNames is how many of n names are tried with a pattern one by one at most. A trial
// costs about as much as a fifth of a run of an automaton, or as a hundred patterns in it.
func triedNames(n int, subs []subscription) int {
	patterns := 0
	for s := range subs {
		patterns += len(subs[s].patterns)
	}
	if patterns <= 5 {
		return n
	}
	return n / 128
}

// newPartition makes the partition of sorted names; parts are in the order of their first
// names. If it has to stop, the partition is wrong.
func newPartition(names []string, zoneOf []int32, subs []subscription, stop stopper) *partition {
	p := &partition{words: (len(subs) + 63) / 64, of: make([]int32, len(names)), slots: make([]int32, 64)}
	m := newMatcher(names, subs, triedNames(len(names), subs))
	row := make([]uint64, p.words)
	for j := range names {
		if j%1024 == 1023 && stop.stopped() {
			break // the first part has the other names
		}
		clear(row)
		m.match(j, row)
		if j > 0 && p.is(p.of[j-1], row, zoneOf[j]) {
			p.of[j] = p.of[j-1] // neighbors are often alike
		} else {
			p.of[j] = p.find(row, zoneOf[j])
		}
	}
	return p
}

// row is which subscriptions match a part.
func (p *partition) row(part int32) []uint64 {
	return p.rows[int(part)*p.words : (int(part)+1)*p.words]
}

// is reports whether a part is that of a row and a zone.
func (p *partition) is(part int32, row []uint64, zone int32) bool {
	return p.zone[part] == zone && slices.Equal(p.row(part), row)
}

// find returns the part of a row and a zone, a new one if need be.
func (p *partition) find(row []uint64, zone int32) int32 {
	mask := uint64(len(p.slots) - 1)
	slot := hashOf(row, zone) & mask
	for ; p.slots[slot] != 0; slot = (slot + 1) & mask {
		if part := p.slots[slot] - 1; p.is(part, row, zone) {
			return part
		}
	}
	p.rows = append(p.rows, row...)
	p.zone = append(p.zone, zone)
	p.slots[slot] = int32(len(p.zone))
	if 2*len(p.zone) > len(p.slots) {
		p.grow()
	}
	return int32(len(p.zone) - 1)
}

// grow doubles the hash table.
func (p *partition) grow() {
	p.slots = make([]int32, 2*len(p.slots))
	mask := uint64(len(p.slots) - 1)
	for part, zone := range p.zone {
		slot := hashOf(p.row(int32(part)), zone) & mask
		for p.slots[slot] != 0 {
			slot = (slot + 1) & mask
		}
		p.slots[slot] = int32(part + 1)
	}
}

// hashOf mixes the bits of a row and a zone.
func hashOf(row []uint64, zone int32) uint64 {
	const odd = 0x9e3779b97f4a7c15
	h := uint64(zone)
	for _, w := range row {
		high, low := bits.Mul64(h^w^odd, odd)
		h = high ^ bits.RotateLeft64(low, 29)
	}
	return h ^ h>>32
}
