package assignor

import (
	"cmp"
	"hash/maphash"
	"math/bits"
	"slices"
	"strings"
)

// sortedNames returns the names in order, each once. place says where each
// stands among the resources; it is nil when they were in order already.
func sortedNames(resources []Resource) (names []string, place []int32) {
	names = make([]string, len(resources))
	inOrder := true
	first := resources[0].Name
	common := len(first) // how much of it all names begin with
	for i := range resources {
		name := resources[i].Name
		names[i] = name
		inOrder = inOrder && (i == 0 || names[i-1] < name)
		common = min(common, len(name))
		for name[:common] != first[:common] {
			common--
		}
	}
	if inOrder {
		return names, nil
	}
	place = make([]int32, 0, len(resources))
	before := head{place: -1}
	for _, h := range sortedHeads(resources, common) {
		name := resources[h.place].Name
		if before.place >= 0 && h.eight == before.eight && name == resources[before.place].Name {
			continue
		}
		before = h
		names[len(place)] = name
		place = append(place, h.place)
	}
	return names[:len(place)], place
}

// head is the beginning of a name as a number. To compare numbers that lie side
// by side takes a fraction of the time that strings all over the memory take.
type head struct {
	eight uint64 // bytes behind the common prefix of all names
	place int32
}

// sortedHeads sorts the names, and the zones of equal names.
func sortedHeads(resources []Resource, common int) []head {
	heads := make([]head, len(resources))
	for i := range resources {
		name := resources[i].Name[common:]
		for b := range min(8, len(name)) {
			heads[i].eight |= uint64(name[b]) << (56 - 8*b)
		}
		heads[i].place = int32(i)
	}
	heads = radixSort(heads)
	for first := 0; first < len(heads); {
		last := first + 1
		for last < len(heads) && heads[last].eight == heads[first].eight {
			last++
		}
		if last > first+1 {
			slices.SortFunc(heads[first:last], func(a, b head) int {
				x, y := &resources[a.place], &resources[b.place]
				return cmp.Or(strings.Compare(x.Name, y.Name), strings.Compare(x.Zone, y.Zone))
			})
		}
		first = last
	}
	return heads
}

// radixSort sorts by one byte after the other, the last one first.
func radixSort(heads []head) []head {
	other := make([]head, len(heads))
	for shift := 0; shift < 64; shift += 8 {
		var at [256]int
		for i := range heads {
			at[byte(heads[i].eight>>shift)]++
		}
		if at[byte(heads[0].eight>>shift)] == len(heads) {
			continue // all have the same
		}
		sum := 0
		for b, n := range at {
			at[b] = sum
			sum += n
		}
		for i := range heads {
			b := byte(heads[i].eight >> shift)
			other[at[b]] = heads[i]
			at[b]++
		}
		heads, other = other, heads
	}
	return heads
}

// index numbers names. It is a hash table without pointers, a third of the size
// of a map, for a million names.
type index struct {
	seed  maphash.Seed
	slots []uint64 // upper half: of the hash; lower: number + 1, or 0 if empty
	names []string
}

// newIndex returns an index with room for n names.
func newIndex(n int) *index {
	return &index{seed: maphash.MakeSeed(), slots: make([]uint64, 1<<bits.Len(uint(2*n)))}
}

// indexOf numbers names by their places; no name may occur twice.
func indexOf(names []string) *index {
	x := newIndex(len(names))
	x.names = names
	for i, name := range names {
		slot, tag, _ := x.findSlot(name)
		x.slots[slot] = tag | uint64(i+1)
	}
	return x
}

// add gives a new name the next number. For one that is there it returns the
// number that it has, and false.
func (x *index) add(name string) (int32, bool) {
	slot, tag, number := x.findSlot(name)
	if number >= 0 {
		return number, false
	}
	x.names = append(x.names, name)
	x.slots[slot] = tag | uint64(len(x.names))
	return int32(len(x.names) - 1), true
}

// find returns the number of a name, or -1.
func (x *index) find(name string) int32 {
	_, _, number := x.findSlot(name)
	return number
}

// findAll sets numbers to those of names, or -1. It goes over some names several times, one
// step of a search each time: the memory then fetches for several names at once what is in
// no cache.
func (x *index) findAll(names []string, numbers []int32) {
	const some = 64
	mask := uint64(len(x.slots) - 1)
	for len(names) > 0 {
		n := min(some, len(names))
		var hashes, slots [some]uint64
		var known [some]string
		for i, name := range names[:n] {
			hashes[i] = maphash.String(x.seed, name)
		}
		for i, hash := range hashes[:n] {
			slots[i] = x.slots[hash&mask]
		}
		for i, slot := range slots[:n] {
			if slot != 0 {
				known[i] = x.names[uint32(slot)-1]
			}
		}
		for i, name := range names[:n] {
			switch slot := slots[i]; {
			case slot == 0:
				numbers[i] = -1
			case slot>>32 == hashes[i]>>32 && known[i] == name:
				numbers[i] = int32(uint32(slot) - 1)
			default:
				numbers[i] = x.find(name)
			}
		}
		names, numbers = names[n:], numbers[n:]
	}
}

// findSlot returns the slot where the name is, or would be, the upper half of its
// hash, and its number or -1.
func (x *index) findSlot(name string) (slot, tag uint64, number int32) {
	const upper = 0xffffffff_00000000
	mask := uint64(len(x.slots) - 1)
	hash := maphash.String(x.seed, name)
	tag = hash & upper
	for slot = hash & mask; x.slots[slot] != 0; slot = (slot + 1) & mask {
		if s := x.slots[slot]; s&upper == tag && x.names[uint32(s)-1] == name {
			return slot, tag, int32(uint32(s) - 1)
		}
	}
	return slot, tag, -1
}
