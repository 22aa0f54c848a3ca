package recognize

import (
	"maps"
	"slices"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// plantChanges puts changes into the tree: new and changed nodes, nil for removed
// nodes. Spots of other worlds do not change: changed spots, and all their
// ancestors, are copied.
func (u *revision) plantChanges() {
	if u.top == nil {
		u.top = &spot{Node: &Node{Path: "/"}, ghost: true, plain: true, gen: u.gen}
	}
	if n, changed := u.changes["/"]; changed {
		top := u.editSpot("/")
		if top.ghost = n == nil; n != nil {
			top.Node = n
		}
	}
	parents := map[string][]string{}
	for path := range u.changes {
		if path != "/" {
			parents[znode.Parent(path)] = append(parents[znode.Parent(path)], path)
		}
	}
	sorted := slices.Sorted(maps.Keys(parents)) // parents before their children
	for _, parent := range sorted {
		paths := parents[parent]
		come := func(path string) bool { return u.changes[path] != nil }
		if u.top.at(parent) == nil && !slices.ContainsFunc(paths, come) {
			continue // they have gone with their parent
		}
		slices.Sort(paths)
		u.mergeChildren(u.editSpot(parent), paths)
	}
	for _, parent := range slices.Backward(sorted) {
		u.removeGhosts(parent)
	}
}

// editSpot finds a node for a change, or makes a ghost.
func (u *revision) editSpot(path string) *spot {
	if path == "/" {
		if u.top.gen != u.gen {
			u.top = u.copySpot(u.top)
		}
		return u.top
	}
	parent, name := u.editSpot(znode.Parent(path)), znode.Base(path)
	s := parent.child(name)
	if s != nil && s.gen == u.gen {
		return s
	}
	if s == nil {
		s = &spot{Node: &Node{Path: path}, name: name, ghost: true, plain: true, gen: u.gen}
	} else {
		s = u.copySpot(s)
	}
	parent.children = parent.children.with(placed{name, s})
	return s
}

// copySpot copies a spot for a change.
func (u *revision) copySpot(s *spot) *spot {
	out := *s
	out.gen = u.gen
	return &out
}

// mergeChildren puts changes of children, in their order, into the list of them.
func (u *revision) mergeChildren(parent *spot, paths []string) {
	out := make([]placed, len(paths))
	for i, path := range paths {
		n, name := u.changes[path], znode.Base(path)
		s := parent.child(name)
		if s != nil {
			s = u.copySpot(s)
		}
		switch {
		case n == nil && (s == nil || s.children.size() == 0):
			s = nil
		case n == nil:
			s.Node, s.ghost = &Node{Path: path}, true
		case s == nil:
			s = &spot{Node: n, name: name, gen: u.gen}
		default:
			s.Node, s.ghost = n, false
		}
		parent.dull += asBit(s.isDull()) - asBit(parent.child(name).isDull())
		out[i] = placed{name, s}
	}
	parent.children = parent.children.with(out...)
}

// removeGhosts removes ghosts without children, from a path upwards.
func (u *revision) removeGhosts(path string) {
	for path != "/" {
		s := u.top.at(path)
		if s == nil || !s.ghost || s.children.size() > 0 {
			return
		}
		path = znode.Parent(path)
		parent := u.editSpot(path)
		parent.children = parent.children.with(placed{s.name, nil})
	}
}

// spliceSorted returns a sorted list without the elements of gone, which must be in list,
// and with the elements of come.
func spliceSorted[T comparable](list, gone, come []T, compare func(a, b T) int) []T {
	if len(gone)+len(come) == 0 {
		return list
	}
	gone, come = slices.SortedFunc(slices.Values(gone), compare), slices.SortedFunc(slices.Values(come), compare)
	out := make([]T, 0, max(0, len(list)-len(gone))+len(come))
	for len(gone)+len(come) > 0 {
		goes := len(come) == 0 || len(gone) > 0 && compare(gone[0], come[0]) <= 0
		var next T
		if goes {
			next = gone[0]
		} else {
			next = come[0]
		}
		i, _ := slices.BinarySearchFunc(list, next, compare)
		out, list = append(out, list[:i]...), list[i:]
		if goes {
			list, gone = list[1:], gone[1:]
		} else {
			out, come = append(out, next), come[1:]
		}
	}
	if out = append(out, list...); len(out) == 0 {
		return nil
	}
	return out
}
