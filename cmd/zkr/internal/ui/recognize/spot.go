package recognize

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// spot is a node in the tree of a world. Worlds share the spots that are the same in
// them; nobody changes a spot but the revision that has made it (gen).
type spot struct {
	*Node
	name     string
	children []*spot // in the order of their names
	// claimed is the thing that the node belongs to, told the one that was told when
	// the node was asked.
	claimed, told *Thing
	// part is the thing whose part a thing is that is found here, or below.
	part string
	// formats are those of counters among the children; nil if nobody has asked.
	formats []string
	// as is what its session is there, who what that calls itself.
	as, who string
	// ghost: nobody has read the node, but one below it.
	ghost bool
	// plain: it is no thing's, and no part of one.
	plain bool
	// open: it is being told what it is; nobody can claim it otherwise.
	open bool
	gen  int
}

// index is where a child is, or would be.
func (s *spot) index(name string) (int, bool) {
	return slices.BinarySearchFunc(s.children, name, func(c *spot, name string) int { return strings.Compare(c.name, name) })
}

// child finds a child; nil if there is none.
func (s *spot) child(name string) *spot {
	i, ok := s.index(name)
	if !ok {
		return nil
	}
	return s.children[i]
}

// at finds what is at a path, from "/" on; nil if there is nothing.
func (s *spot) at(path string) *spot {
	if path == "" || path[0] != '/' {
		return nil
	}
	for rest := path[1:]; rest != "" && s != nil; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		s = s.child(name)
	}
	return s
}

// find is at, but for ghosts.
func (s *spot) find(path string) *spot {
	if s = s.at(path); s == nil || s.ghost {
		return nil
	}
	return s
}

// names are those of the children.
func (s *spot) names() []string {
	out := make([]string, len(s.children))
	for i, c := range s.children {
		out[i] = c.name
	}
	return out
}

// own says that a node belongs to a thing.
func (s *spot) own(t *Thing) {
	if s.open {
		s.claimed = t
	}
}

// taken reports whether something told above a node, or beside that, has claimed it.
// A claim that was made later, when the node's parent was asked for the first time,
// does not count when the parent is asked again.
func (s *spot) taken() bool { return s.open && s.claimed != nil }

// claim says that a node belongs to a thing, with all that is below it.
func (s *spot) claim(t *Thing) {
	if !s.open {
		return
	}
	s.claimed = t
	for _, c := range s.children {
		c.claim(t)
	}
}

// partOf says of what things are parts that are found at a node, or below.
func (s *spot) partOf(path string) {
	if s.open {
		s.part = path
	}
}

// reopened is a copy of a node and all that is below it, of which nothing was told.
func (s *spot) reopened(gen int) *spot {
	out := &spot{Node: s.Node, name: s.name, ghost: s.ghost, open: true, gen: gen}
	if len(s.children) > 0 {
		out.children = make([]*spot, len(s.children))
	}
	for i, c := range s.children {
		out.children[i] = c.reopened(gen)
	}
	return out
}

// each calls yield with a node and all that are below it, in the order of names.
func (s *spot) each(yield func(*spot)) {
	yield(s)
	for _, c := range s.children {
		c.each(yield)
	}
}

// above is the path of a path's parent; that of the root's is the root's.
func above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// below is the path of a child.
func below(path, name string) string {
	if path == "/" {
		return path + name
	}
	return path + "/" + name
}

// suffixes end the names of nodes that belong to the one beside them.
var suffixes = []string{lockformat.DelaySuffix, barrierformat.RollSuffix, tableformat.OwnersSuffix, suffixLock} // read only

// base is a name without them.
func base(name string) string {
	for i := 0; i < len(suffixes); i++ {
		if short, ok := strings.CutSuffix(name, suffixes[i]); ok {
			name, i = short, -1
		}
	}
	return name
}

// family are the children that are told together: of one base.
func (s *spot) family(name string) (out []int) {
	if i, ok := s.index(name); ok {
		out = append(out, i)
	}
	for _, suffix := range suffixes {
		i, _ := s.index(name + suffix)
		for ; i < len(s.children) && strings.HasPrefix(s.children[i].name, name+suffix); i++ {
			if base(s.children[i].name) == name {
				out = append(out, i)
			}
		}
	}
	slices.Sort(out)
	return out
}
