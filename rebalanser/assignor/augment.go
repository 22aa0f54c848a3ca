package assignor

import "math/bits"

// search numbers the nodes by the number of steps on the cheapest paths from the
// classes with resources left, up to the first path to the sink. If no path exists,
// it returns false, and has reached all reachable nodes.
func (f *network) search() bool {
	for v := range f.level {
		f.level[v] = -1
	}
	clear(f.seen)
	clear(f.bit)
	copy(f.next, f.first)
	clear(f.next[f.members : f.members+f.pools])
	f.queue = f.queue[:0]
	for c, left := range f.left {
		if v := f.classNode(int32(c)); left > 0 && f.price[v] == 0 {
			f.level[v] = 0
			f.queue = append(f.queue, v)
		}
	}
	for head := 0; head < len(f.queue); head++ {
		if head%1024 == 1023 && f.stop.stopped() {
			return false
		}
		if f.expand(f.queue[head]) {
			return true
		}
	}
	return false
}

// reached reports whether the last search reached a node.
func (f *network) reached(v int32) bool { return f.level[v] >= 0 }

// noteStep takes note that w is one step from v at that cost, if that is one of
// the cheapest ways to w.
func (f *network) noteStep(v, w int32, cost int64) {
	if f.level[w] >= 0 || f.price[w] != f.price[v]+cost {
		return
	}
	f.level[w] = f.level[v] + 1
	f.queue = append(f.queue, w)
	if w < f.members {
		put(f.seen, w)
	}
}

// expand visits what is a step from v, and reports whether the sink is.
func (f *network) expand(v int32) bool {
	switch {
	case v < f.members:
		return f.expandMember(v)
	case v < f.members+f.pools:
		return f.expandPool(v)
	default:
		f.expandClass(v)
		return false
	}
}

func (f *network) expandMember(i int32) bool {
	if f.room[i] > 0 && f.price[i] == f.sink {
		return true
	}
	if f.pool[i] >= 0 && !f.extra[i] {
		f.noteStep(i, f.members+f.pool[i], 0)
	}
	for at := f.first[i]; at >= 0; at = f.cells[at].ofMember {
		x := &f.cells[at]
		if units, saved := f.back(x); units > 0 {
			f.noteStep(i, f.classNode(x.class), -saved)
		}
	}
	return false
}

func (f *network) expandPool(v int32) bool {
	pool := v - f.members
	if f.spare[pool] > 0 && f.price[v] == f.sink {
		return true
	}
	for i, extra := range f.extra {
		if extra && f.pool[i] == pool {
			f.noteStep(v, int32(i), 0)
		}
	}
	return false
}

func (f *network) expandClass(v int32) {
	c := v - f.members - f.pools
	if f.moved > 0 {
		for at := f.first[v]; at >= 0; at = f.cells[at].inClass {
			if x := &f.cells[at]; x.flow < x.held {
				f.noteStep(v, x.member, f.remoteCost(c, x.member))
			}
		}
	}
	if f.price[v]+f.moved > f.dearest {
		return
	}
	row, mask := f.row(c), f.mask(f.part[c])
	for w := range row {
		for rest := row[w] & mask[w] &^ f.seen[w]; rest != 0; rest &= rest - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(rest))
			f.noteStep(v, i, f.moved+f.remoteCost(c, i))
		}
	}
}

// leads reports whether the last search found w one step from v at that cost.
func (f *network) leads(v, w int32, cost int64) bool {
	return f.level[w] == f.level[v]+1 && f.price[w] == f.price[v]+cost
}

// fromClass sends up to want units of class c to members, and on to the sink,
// one level further at each step. It returns how many units arrived. A dead end
// is not tried again until the next search: f.next and f.bit have advanced past
// it, and a member that is a dead end is no longer seen.
func (f *network) fromClass(c int32, want int64) int64 {
	v, sent := f.classNode(c), int64(0)
	if f.moved > 0 {
		for ; f.next[v] >= 0; f.next[v] = f.cells[f.next[v]].inClass {
			at := f.next[v]
			x := f.cells[at]
			if x.flow < x.held && f.leads(v, x.member, f.remoteCost(c, x.member)) {
				n := f.fromMember(x.member, min(want-sent, x.held-x.flow))
				f.cells[at].flow += n // others may have been added meanwhile
				if sent += n; sent == want {
					return sent
				}
			}
		}
	}
	if f.price[v]+f.moved > f.dearest {
		return sent
	}
	row, mask := f.row(c), f.mask(f.part[c])
	for w := int(f.bit[c] >> 6); w < len(row); w++ {
		rest := row[w] & mask[w] & f.seen[w]
		if w == int(f.bit[c]>>6) {
			rest &= ^uint64(0) << (f.bit[c] & 63)
		}
		for ; rest != 0; rest &= rest - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(rest))
			if !f.leads(v, i, f.moved+f.remoteCost(c, i)) {
				continue
			}
			if n := f.fromMember(i, want-sent); n > 0 {
				f.cells[f.cellOf(c, i)].flow += n
				if sent += n; sent == want {
					f.bit[c] = i
					return sent
				}
			}
		}
	}
	f.bit[c] = int32(len(row) << 6)
	return sent
}

// fromMember passes up to want units on from member i: to the sink, by way of
// the pool, or in place of units of other classes.
func (f *network) fromMember(i int32, want int64) int64 {
	sent := int64(0)
	if f.price[i] == f.sink {
		sent = min(want, f.room[i])
		f.room[i] -= sent
	}
	if sent < want && f.pool[i] >= 0 && !f.extra[i] {
		if v := f.members + f.pool[i]; f.leads(i, v, 0) && f.fromPool(v) {
			f.extra[i] = true
			sent++
		}
	}
	for ; sent < want && f.next[i] >= 0; f.next[i] = f.cells[f.next[i]].ofMember {
		at := f.next[i]
		x := f.cells[at]
		units, saved := f.back(&x)
		if units == 0 || !f.leads(i, f.classNode(x.class), -saved) {
			continue
		}
		n := f.fromClass(x.class, min(want-sent, units))
		f.cells[at].flow -= n
		if sent += n; sent == want {
			return sent // the cell may have more
		}
	}
	if sent < want {
		f.seen[i>>6] &^= 1 << (i & 63)
	}
	return sent
}

// fromPool passes one unit on: to the sink, or in place of that of a member,
// which passes on another.
func (f *network) fromPool(v int32) bool {
	pool := v - f.members
	if f.spare[pool] > 0 && f.price[v] == f.sink {
		f.spare[pool]--
		return true
	}
	for ; f.next[v] < f.members; f.next[v]++ {
		if i := f.next[v]; f.extra[i] && f.pool[i] == pool && f.leads(v, i, 0) && f.fromMember(i, 1) == 1 {
			f.extra[i] = false
			return true
		}
	}
	return false
}
