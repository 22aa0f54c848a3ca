package assignor

import "context"

// policy is an assignor that solves the problem as a flow: how many each member
// gets is decided first, by fair shares, and then of which classes, for the
// least cost.
type policy struct {
	name                 string
	keep, weights, zones bool // whether it heeds held resources, weights, zones
}

func (p policy) Name() string { return p.name }

func (p policy) Assign(members []Member, resources []Resource) [][]string {
	out, _ := p.assign(members, resources, nil)
	return out
}

func (p policy) AssignContext(ctx context.Context, members []Member, resources []Resource) ([][]string, error) {
	return assignUntil(ctx, func(stop stopper) ([][]string, bool) { return p.assign(members, resources, stop) })
}

// assign returns false if it has stopped.
func (p policy) assign(members []Member, resources []Resource, stop stopper) ([][]string, bool) {
	if len(members) == 0 || len(resources) == 0 {
		return make([][]string, len(members)), true
	}
	pr := newProblem(members, resources, p.zones, stop)
	if p.keep && !stop.stopped() {
		pr.hold()
	}
	weight := pr.weights(p.weights)
	d := divide(pr.classes, weight)
	if stop.stopped() {
		return nil, false // the blocks may be wrong
	}
	if p.weights {
		return pr.flow(d.rounded(pr.classes, weight), p.zones)
	}
	return pr.flow(d.balanced(), p.zones)
}

// flow returns the resources of each member, and false if it has stopped.
func (p *problem) flow(q *quota, zones bool) ([][]string, bool) {
	f := newNetwork(p.classes, q)
	copy(f.left, p.size)
	cellOf := p.cells(f)
	if len(p.spoils) > 0 {
		f.moved = 1
	}
	if zones {
		// More than all moves on a way, or around a circle, can cost.
		f.remote = 4 * int64(len(p.members)+1)
		f.zoneOf = p.zoneOf
	}
	f.findCheapestFlow()
	if p.stop.stopped() {
		return nil, false // not all resources may have a place
	}
	return p.deal(f, cellOf), true
}

// cells makes the cells of held resources that the quota allows. It returns the cell
// of each resource, or -1.
func (p *problem) cells(f *network) []int32 {
	of := make([]int32, len(p.names))
	for j := range of {
		of[j] = -1
	}
	last := make([]int32, len(p.size)) // of each class: the newest cell + 1
	for _, j := range p.spoils {
		c, i := p.of[j], p.holder[j]
		if !has(f.mask(f.part[c]), i) {
			continue
		}
		if at := last[c]; at == 0 || f.cells[at-1].member != i {
			last[c] = f.cellOf(c, i) + 1
		}
		of[j] = last[c] - 1
		f.cells[of[j]].held++
	}
	return of
}
