package assignor

import "math/bits"

// reprice raises the prices to the costs of the cheapest paths from the classes with
// resources left (Dijkstra's algorithm, with the present prices as potentials).
// Without costs, or without a way to the sink, it returns false.
func (f *network) reprice() bool {
	if f.moved == 0 && f.remote == 0 {
		return false
	}
	d := distances{of: make([]int64, len(f.price))}
	for v := range d.of {
		d.of[v] = unreachable
	}
	for c, left := range f.left {
		if v := f.classNode(int32(c)); left > 0 {
			d.lower(v, -f.price[v])
		}
	}
	sink := int64(unreachable)
	for len(d.heap) > 0 {
		v, dist := d.pop()
		if dist >= sink {
			break
		}
		if dist > d.of[v] {
			continue // there was a shorter way
		}
		if f.relax(&d, v) {
			sink = min(sink, dist+f.price[v]-f.sink)
		}
	}
	if sink == unreachable {
		return false
	}
	// A vertex further away than the sink is on no shortest path to the sink.
	f.sink += sink
	f.dearest = 0
	for v := range f.price {
		f.price[v] += min(sink, d.of[v])
		if v < int(f.members) {
			f.dearest = max(f.dearest, f.price[v])
		}
	}
	return true
}

// relax measures the ways through v, and reports whether one leads to the sink.
func (f *network) relax(d *distances, v int32) bool {
	step := func(w int32, cost int64) { d.lower(w, d.of[v]+cost+f.price[v]-f.price[w]) }
	switch {
	case v < f.members:
		if f.pool[v] >= 0 && !f.extra[v] {
			step(f.members+f.pool[v], 0)
		}
		for at := f.first[v]; at >= 0; at = f.cells[at].ofMember {
			x := &f.cells[at]
			if units, saved := f.back(x); units > 0 {
				step(f.classNode(x.class), -saved)
			}
		}
		return f.room[v] > 0
	case v < f.members+f.pools:
		pool := v - f.members
		for i, extra := range f.extra {
			if extra && f.pool[i] == pool {
				step(int32(i), 0)
			}
		}
		return f.spare[pool] > 0
	}
	c := v - f.members - f.pools
	for at := f.first[v]; at >= 0; at = f.cells[at].inClass {
		if x := &f.cells[at]; x.flow < x.held {
			step(x.member, f.remoteCost(c, x.member))
		}
	}
	row, mask := f.row(c), f.mask(f.part[c])
	for w := range row {
		for rest := row[w] & mask[w]; rest != 0; rest &= rest - 1 {
			i := int32(w<<6 + bits.TrailingZeros64(rest))
			step(i, f.moved+f.remoteCost(c, i))
		}
	}
	return false
}

// distances of nodes, and a heap of those that were lowered.
type distances struct {
	of   []int64
	heap []distance
}

type distance struct {
	far  int64
	node int32
}

// lower takes note of a way to v.
func (d *distances) lower(v int32, far int64) {
	if far >= d.of[v] {
		return
	}
	d.of[v] = far
	d.heap = append(d.heap, distance{far, v})
	for at := len(d.heap) - 1; at > 0; {
		up := (at - 1) / 2
		if d.heap[up].far <= d.heap[at].far {
			break
		}
		d.heap[up], d.heap[at] = d.heap[at], d.heap[up]
		at = up
	}
}

// pop removes the nearest.
func (d *distances) pop() (v int32, far int64) {
	top, last := d.heap[0], len(d.heap)-1
	d.heap[0] = d.heap[last]
	d.heap = d.heap[:last]
	for at := 0; ; {
		down := 2*at + 1
		if down >= last {
			break
		}
		if down+1 < last && d.heap[down+1].far < d.heap[down].far {
			down++
		}
		if d.heap[at].far <= d.heap[down].far {
			break
		}
		d.heap[at], d.heap[down] = d.heap[down], d.heap[at]
		at = down
	}
	return top.node, top.far
}
