package assignor

// division splits members and classes into blocks. The members of a block share
// its classes, each in proportion to its weight: no assignment is fairer, even
// if resources could be cut into pieces. A class may have takers outside its
// block, which have more than the takers inside.
type division struct {
	member, class []int32 // the block of each
	total         []int64 // of each block: resources
	weight        []int64 // of each block: the weights of its members
}

// divide finds the blocks. It begins with one for all, and tries to give each
// member its share of it by a maximum flow. If that fails, some classes are
// left over whose takers have all they should; then these classes, their takers
// and all that could move over to make room have to share among themselves, and
// have more, in proportion, than the rest. This is the decomposition algorithm
// of Groenevelt and of Fujishige for a lexicographically optimal base.
//
// Flows are in pieces, as many for each resource as the block has weight, so
// that all shares are whole numbers. If it has to stop, the blocks may be wrong.
func divide(k *classes, weight []int64) *division {
	d := &division{member: make([]int32, len(weight)), class: make([]int32, len(k.size))}
	d.total, d.weight = []int64{0}, []int64{0}
	for open := []bool{true}; ; {
		d.count(k, weight)
		f := newNetwork(k, d.exactly())
		for c, b := range d.class {
			if open[b] {
				f.left[c] = k.size[c] * d.weight[b]
			}
		}
		for i, b := range d.member {
			if open[b] {
				f.room[i] = d.total[b] * weight[i]
			}
		}
		f.sendUnits()
		if k.stop.stopped() {
			return d
		}
		was := len(open)
		if open = d.split(f, open); len(open) == was {
			return d
		}
	}
}

// count sums up what is in each block.
func (d *division) count(k *classes, weight []int64) {
	clear(d.total)
	clear(d.weight)
	for c, b := range d.class {
		d.total[b] += k.size[c]
	}
	for i, b := range d.member {
		d.weight[b] += weight[i]
	}
}

// split moves what the last search of f for room reached into new blocks. It
// returns which blocks may still have to be split.
func (d *division) split(f *network, open []bool) []bool {
	into := make([]int32, len(open))
	blocks := int32(len(open))
	still := make([]bool, len(open), 2*len(open))
	for c, left := range f.left {
		if b := d.class[c]; left > 0 && into[b] == 0 {
			into[b] = blocks
			blocks++
			still[b] = true
			still = append(still, true)
		}
	}
	for c := range d.class {
		if to := into[d.class[c]]; to > 0 && f.reached(f.classNode(int32(c))) {
			d.class[c] = to
		}
	}
	for i := range d.member {
		if to := into[d.member[i]]; to > 0 && f.reached(int32(i)) {
			d.member[i] = to
		}
	}
	d.total = append(d.total, make([]int64, len(still)-len(open))...)
	d.weight = append(d.weight, make([]int64, len(still)-len(open))...)
	return still
}
