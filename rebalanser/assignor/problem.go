package assignor

import (
	"math"
	"slices"
)

// problem is the input of an assignment, in numbers: members are numbered in the
// order of their keys, resources in the order of their names.
type problem struct {
	*classes
	members []Member // the caller's
	order   []int32  // the caller's places of the members
	names   []string
	zoneOf  []int32 // of each member; nil if zones do not matter

	holder []int32 // of each resource, or -1
	spoils []int32 // the held resources, by holder
}

// newProblem numbers members and resources, and computes which members take
// which resources. If it has to stop, the classes may be wrong.
func newProblem(members []Member, resources []Resource, zones bool, stop stopper) *problem {
	p := &problem{members: members, order: byKey(members)}
	var place []int32
	p.names, place = sortedNames(resources)
	of, n := make([]int32, len(p.names)), 1
	if zones {
		n = p.numberZones(resources, place, of)
	}
	subs := subscriptions(members, p.order)
	if len(subs) == 1 {
		p.classes = newClasses(of, n, len(members), subs[0].members)
	} else {
		p.tellApart(of, n, subs, stop)
	}
	p.stop = stop
	p.close()
	return p
}

// tellApart makes the classes of resources by their zones, which are numbered below zones,
// and by subscriptions. It tells parts apart in place of resources: resources in a part are in
// one class.
func (p *problem) tellApart(zoneOf []int32, zones int, subs []subscription, stop stopper) {
	everything, subs := subs[0].members, subs[1:]
	parts := newPartition(p.names, zoneOf, subs, stop)
	p.classes = newClasses(parts.zone, zones, len(p.members), everything)
	p.reserve(len(parts.zone))
	takes := make([]uint64, len(parts.zone)) // of each part: which of the batch
	batches := 0
	for some := range slices.Chunk(subs, batch) {
		if stop.stopped() {
			break
		}
		for part := range takes {
			takes[part] = parts.row(int32(part))[batches]
		}
		p.refine(takes, some)
		batches++
	}
	for j, part := range parts.of {
		parts.of[j] = p.of[part]
	}
	p.of = parts.of
	p.count()
}

// numberZones numbers the zones of the members into place, and of the resources into
// of; it returns the number of zones for the resources. 0 stands for no zone, and -1
// for a zone without resources.
func (p *problem) numberZones(resources []Resource, place, of []int32) int {
	number := map[string]int32{"": 0}
	last, z := "", int32(0) // neighbors often live together
	for j := range of {
		at := j
		if place != nil {
			at = int(place[j])
		}
		if zone := resources[at].Zone; zone != last {
			var ok bool
			if z, ok = number[zone]; !ok {
				z = int32(len(number))
				number[zone] = z
			}
			last = zone
		}
		of[j] = z
	}
	p.zoneOf = make([]int32, len(p.members))
	for i, at := range p.order {
		z, ok := number[p.members[at].Zone]
		if !ok {
			z = -1
		}
		p.zoneOf[i] = z
	}
	return len(number)
}

// hold computes the holder of each resource. A member's claim counts if the
// resource exists, the member takes it, and no earlier member holds it. If it has to stop,
// the other members hold nothing.
func (p *problem) hold() {
	p.holder = make([]int32, len(p.names))
	for j := range p.holder {
		p.holder[j] = -1
	}
	claims := 0
	for i := range p.members {
		claims += len(p.members[i].Held)
	}
	if claims == 0 {
		return
	}
	p.spoils = make([]int32, 0, min(claims, len(p.names)))
	x := indexOf(p.names)
	var claimed []int32
	for i, at := range p.order {
		if p.stop.stopped() {
			return
		}
		first, held := len(p.spoils), p.members[at].Held
		claimed = slices.Grow(claimed[:0], len(held))[:len(held)]
		x.findAll(held, claimed)
		for _, j := range claimed {
			if j < 0 || p.holder[j] >= 0 || !p.takes(p.of[j], int32(i)) {
				continue
			}
			p.holder[j] = int32(i)
			p.spoils = append(p.spoils, j)
		}
		slices.Sort(p.spoils[first:]) // whatever the order of Held
	}
}

// weights returns what the shares of the members are proportional to, small
// enough that a weight times all resources times all members fits.
func (p *problem) weights(heed bool) []int64 {
	weights := make([]int64, len(p.members))
	largest := int64(1)
	for i, at := range p.order {
		weights[i] = 1
		if w := p.members[at].Weight; heed && w > 1 {
			weights[i] = int64(w)
			largest = max(largest, weights[i])
		}
	}
	limit := int64(1) << 62 / int64(max(1, len(p.members))) / int64(max(1, len(p.names)))
	shift := 0
	for largest>>shift > limit && largest>>shift > 1 {
		shift++
	}
	if shift > 0 {
		for i := range weights {
			weights[i] = max(1, weights[i]>>shift)
		}
	}
	return weights
}

// unreachable is further than any distance.
const unreachable = math.MaxInt64
