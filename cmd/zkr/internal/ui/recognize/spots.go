package recognize

import (
	"iter"
	"slices"
	"strings"
)

// spots are the children of a spot, in the order of their names. They do not change: a list
// made from another one shares what is equal with it, so that a change among many children
// costs little.
type spots struct {
	few  []*spot // all of them, or
	many *manySpots
}

// manySpots are spots in parts, each of which is in order and not empty.
type manySpots struct {
	size  int
	parts []*[]*spot
}

const (
	// fewSpots are kept in one part.
	fewSpots = 256
	// partSpots is the size of the parts that are made. They grow to twice of it, and
	// neighbors that have together less than half of it are joined.
	partSpots = 128
)

// placed is a change of spots: what is at a name then; nil for nothing.
type placed struct {
	name string
	spot *spot
}

func compareName(s *spot, name string) int { return strings.Compare(s.name, name) }

// size is the number of spots.
func (l spots) size() int {
	if l.many != nil {
		return l.many.size
	}
	return len(l.few)
}

// find finds a spot; nil if there is none.
func (l spots) find(name string) *spot {
	in := l.few
	if l.many != nil {
		in = *l.many.parts[l.many.part(name)]
	}
	if i, ok := slices.BinarySearchFunc(in, name, compareName); ok {
		return in[i]
	}
	return nil
}

// part is the part in which a name is, or would be.
func (m *manySpots) part(name string) int {
	i, exact := slices.BinarySearchFunc(m.parts, name, func(p *[]*spot, name string) int { return compareName((*p)[0], name) })
	if exact {
		return i
	}
	return max(0, i-1)
}

// all are the spots.
func (l spots) all() iter.Seq[*spot] { return l.from("") }

// from are the spots from a name on.
func (l spots) from(name string) iter.Seq[*spot] {
	return func(yield func(*spot) bool) {
		if l.many == nil {
			yieldFrom(l.few, name, yield)
			return
		}
		for _, p := range l.many.parts[l.many.part(name):] {
			if !yieldFrom(*p, name, yield) {
				return
			}
		}
	}
}

func yieldFrom(in []*spot, name string, yield func(*spot) bool) bool {
	if name != "" {
		i, _ := slices.BinarySearchFunc(in, name, compareName)
		in = in[i:]
	}
	for _, s := range in {
		if !yield(s) {
			return false
		}
	}
	return true
}

// contains reports whether one of the spots is so.
func (l spots) contains(is func(*spot) bool) bool {
	for s := range l.all() {
		if is(s) {
			return true
		}
	}
	return false
}

// each are the spots that change makes of the spots, under their names.
func (l spots) each(change func(*spot) *spot) spots {
	changed := func(in []*spot) []*spot {
		if len(in) == 0 {
			return nil
		}
		out := make([]*spot, len(in))
		for i, s := range in {
			out[i] = change(s)
		}
		return out
	}
	if l.many == nil {
		return spots{few: changed(l.few)}
	}
	out := &manySpots{l.many.size, make([]*[]*spot, len(l.many.parts))}
	for i, p := range l.many.parts {
		part := changed(*p)
		out.parts[i] = &part
	}
	return spots{many: out}
}

// with are the spots after changes, which are in the order of their names.
func (l spots) with(changes ...placed) spots {
	if l.many == nil {
		all := applyPlaced(l.few, changes)
		if len(all) <= fewSpots {
			return spots{few: all}
		}
		return spots{many: &manySpots{len(all), splitSpots(nil, all)}}
	}
	out := &manySpots{parts: make([]*[]*spot, 0, len(l.many.parts)+1)}
	before := false // the part before was changed
	for i, p := range l.many.parts {
		n := len(changes)
		if i+1 < len(l.many.parts) {
			next := (*l.many.parts[i+1])[0].name
			n, _ = slices.BinarySearchFunc(changes, next, func(c placed, name string) int { return strings.Compare(c.name, name) })
		}
		part := *p
		if n > 0 {
			part = applyPlaced(part, changes[:n])
			changes = changes[n:]
		}
		last := len(out.parts) - 1
		joined := (n > 0 || before) && last >= 0 && len(*out.parts[last])+len(part) < partSpots/2
		if before = n > 0 || joined; !before {
			out.parts = append(out.parts, p)
			continue
		}
		if joined {
			part = append(slices.Clip(*out.parts[last]), part...)
			out.parts = out.parts[:last]
		}
		out.parts = splitSpots(out.parts, part)
	}
	for _, p := range out.parts {
		out.size += len(*p)
	}
	if out.size > fewSpots/2 {
		return spots{many: out}
	}
	var few []*spot
	for _, p := range out.parts {
		few = append(few, *p...)
	}
	return spots{few: few}
}

// splitSpots appends spots to parts.
func splitSpots(parts []*[]*spot, in []*spot) []*[]*spot {
	for len(in) > 2*partSpots {
		p := slices.Clip(in[:partSpots])
		parts, in = append(parts, &p), in[partSpots:]
	}
	if len(in) > 0 {
		parts = append(parts, &in)
	}
	return parts
}

// applyPlaced applies changes to spots in a slice.
func applyPlaced(in []*spot, changes []placed) []*spot {
	if len(in)+len(changes) == 0 {
		return nil
	}
	out := make([]*spot, 0, len(in)+len(changes))
	for _, c := range changes {
		i, there := slices.BinarySearchFunc(in, c.name, compareName)
		if out, in = append(out, in[:i]...), in[i:]; there {
			in = in[1:]
		}
		if c.spot != nil {
			out = append(out, c.spot)
		}
	}
	return append(out, in...)
}
