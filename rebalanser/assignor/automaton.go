package assignor

import (
	"cmp"
	"slices"
)

// automaton matches a name against many specs at once. Its state is a set of pairs of a
// spec and a number of elements that have been matched so far, as bits: level k has a bit
// for each spec that has at least k elements. A byte moves all pairs at once, 64 per
// machine word.
type automaton struct {
	slots  []int32  // of each bit: the spec, those with the most elements first
	first  []int    // of each level: its first word; and the number of all words
	row    [256]int // of each byte: the row of moves
	moves  [][]uint64
	byteOf []int32  // of each row: one of its bytes
	stays  []uint64 // pairs that stay, as a star follows
	drags  []uint64 // pairs that stay at bytes beyond ASCII
	ends   []uint64 // pairs in which all elements are matched
	final  []int    // the levels with ends
}

// newAutomaton makes an automaton for specs.
func newAutomaton(specs []*spec) *automaton {
	a := &automaton{slots: make([]int32, len(specs))}
	for s := range specs {
		a.slots[s] = int32(s)
	}
	slices.SortStableFunc(a.slots, func(s, t int32) int {
		return cmp.Compare(len(specs[t].elements), len(specs[s].elements))
	})
	levels := 1
	if len(specs) > 0 {
		levels += len(specs[a.slots[0]].elements)
	}
	words, wide := 0, len(specs)
	for k := range levels {
		for wide > 0 && len(specs[a.slots[wide-1]].elements) < k {
			wide--
		}
		a.first = append(a.first, words)
		words += (wide + 63) / 64
	}
	a.first = append(a.first, words)
	a.stays, a.drags, a.ends = make([]uint64, words), make([]uint64, words), make([]uint64, words)
	a.numberRows(specs)
	for bit, s := range a.slots {
		a.addSpec(int32(bit), specs[s])
	}
	for k := range levels {
		if !isEmpty(a.ends[a.first[k]:a.first[k+1]]) {
			a.final = append(a.final, k)
		}
	}
	return a
}

// numberRows makes a row of moves for each byte, the same for bytes that no element tells
// apart.
func (a *automaton) numberRows(specs []*spec) {
	seen, rows := map[byteSet]bool{}, 1
	for _, s := range specs {
		for _, set := range s.elements {
			if !seen[set] {
				seen[set] = true
				rows = a.splitRows(&set)
			}
		}
	}
	a.moves, a.byteOf = make([][]uint64, rows), make([]int32, rows)
	for r := range a.moves {
		a.moves[r] = make([]uint64, len(a.ends))
	}
	for b, r := range a.row {
		a.byteOf[r] = int32(b)
	}
}

// splitRows tells bytes within a set from bytes outside, and returns the number of rows.
func (a *automaton) splitRows(set *byteSet) int {
	var number [2][256]int // of a row, within the set or not: the new row + 1
	rows := 0
	for b, r := range a.row {
		to := &number[set[b>>6]>>(b&63)&1][r]
		if *to == 0 {
			rows++
			*to = rows
		}
		a.row[b] = *to - 1
	}
	return rows
}

func (a *automaton) addSpec(bit int32, s *spec) {
	for k, set := range s.elements {
		for r, b := range a.byteOf {
			if has(set[:], b) {
				put(a.moves[r][a.first[k+1]:], bit)
			}
		}
		if s.wide[k] {
			put(a.drags[a.first[k+1]:], bit)
		}
	}
	for k, star := range s.stars {
		if star {
			put(a.stays[a.first[k]:], bit)
			put(a.drags[a.first[k]:], bit)
		}
	}
	put(a.ends[a.first[len(s.elements)]:], bit)
}

// state is a state of an automaton. The words of levels above top have no meaning: no pair
// is at these levels.
type state struct {
	words []uint64
	top   int
}

// beginSpec adds a spec, by its bit, that begins here.
func (s *state) beginSpec(bit int32) { put(s.words, bit) }

// read sets to to the state behind from and a byte.
func (a *automaton) read(from, to *state, b byte) {
	moves, stays := a.moves[a.row[b]], a.stays
	if b >= 0x80 {
		stays = a.drags
	}
	to.top = 0
	for w := range a.first[1] {
		to.words[w] = from.words[w] & stays[w]
	}
	for k := 1; k <= from.top+1 && k+1 < len(a.first); k++ {
		at, end := a.first[k], a.first[k+1]
		below := from.words[a.first[k-1]:]
		out, move := to.words[at:end], moves[at:end]
		below = below[:len(out)]
		move = move[:len(out)]
		any := uint64(0)
		if k > from.top {
			for w := range out {
				x := below[w] & move[w]
				out[w] = x
				any |= x
			}
		} else {
			here, stay := from.words[at:end], stays[at:end]
			here, stay = here[:len(out)], stay[:len(out)]
			for w := range out {
				x := below[w]&move[w] | here[w]&stay[w]
				out[w] = x
				any |= x
			}
		}
		if any != 0 {
			to.top = k
		}
	}
}

// matched adds the bits of the specs that match what was read.
func (a *automaton) matched(s *state, out []uint64) {
	for _, k := range a.final {
		if k > s.top {
			return
		}
		at := a.first[k]
		for w, ends := range a.ends[at:a.first[k+1]] {
			out[w] |= s.words[at+w] & ends
		}
	}
}
