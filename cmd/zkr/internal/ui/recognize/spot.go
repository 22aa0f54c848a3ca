package recognize

import (
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/format/barrierformat"
	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
	"github.com/zkrecipes/zkrecipes/internal/format/tableformat"
)

// spot is a node in the tree of a world. Worlds share equal spots; only the
// revision that has made a spot (gen) changes the spot.
type spot struct {
	*Node
	name     string
	children spots
	// claimed is the thing of the node, told the thing recognized at the node
	// itself.
	claimed, told *Thing
	// part is the thing for which things found here, or below, are parts.
	part string
	// formats are those of counters among the children; nil until requested.
	formats []string
	// as is the role of the node's session, who its own name.
	as, who string
	// ghost: the node itself was not read, but a node below it.
	ghost bool
	// plain: the node belongs to no thing, and is no part of a thing.
	plain bool
	// open: recognition of the node is in progress; only then can it be claimed.
	open bool
	// dull is how many children are dull.
	dull int
	gen  int
}

// child finds a child; nil if there is none.
func (s *spot) child(name string) *spot { return s.children.find(name) }

// at finds the node at a path, from "/" on; or nil.
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

// names are the names of the children.
func (s *spot) names() []string {
	out := make([]string, 0, s.children.size())
	for c := range s.children.all() {
		out = append(out, c.name)
	}
	return out
}

// assignTo assigns a node to a thing.
func (s *spot) assignTo(t *Thing) {
	if s.open {
		s.claimed = t
	}
}

// taken reports whether a thing recognized earlier, above or beside the parent,
// has claimed the node. A later claim, made at the first visit of the node's
// parent, does not count at the next visit of the parent.
func (s *spot) taken() bool { return s.open && s.claimed != nil }

// claimTree assigns a node with all descendants to a thing.
func (s *spot) claimTree(t *Thing) {
	if !s.open {
		return
	}
	s.claimed = t
	for c := range s.children.all() {
		c.claimTree(t)
	}
}

// partOf sets the thing for which things found at a node, or below, are parts.
func (s *spot) partOf(path string) {
	if s.open {
		s.part = path
	}
}

// reopen copies a node and all descendants, before any recognition.
func (s *spot) reopen(gen int) *spot {
	out := &spot{Node: s.Node, name: s.name, ghost: s.ghost, open: true, dull: s.dull, gen: gen}
	out.children = s.children.each(func(c *spot) *spot { return c.reopen(gen) })
	return out
}

// each calls yield with a node and all its descendants, in the order of names.
func (s *spot) each(yield func(*spot)) {
	yield(s)
	for c := range s.children.all() {
		c.each(yield)
	}
}

// suffixes end the names of nodes that belong to the node beside them.
var suffixes = []string{lockformat.DelaySuffix, lockformat.RoomSuffix, lockformat.BreaksSuffix, lockformat.ProclaimedSuffix, lockformat.RankSuffix, barrierformat.RecentRoundsSuffix, tableformat.OwnersSuffix, suffixLock} // read only

// baseName is a name without the suffixes.
func baseName(name string) string {
	for i := 0; i < len(suffixes); i++ {
		if short, ok := strings.CutSuffix(name, suffixes[i]); ok {
			name, i = short, -1
		}
	}
	return name
}

// familyOf are the children recognized together: with the same base.
func (s *spot) familyOf(name string) (out []*spot) {
	if c := s.child(name); c != nil {
		out = append(out, c)
	}
	for _, suffix := range suffixes {
		for c := range s.children.from(name + suffix) {
			if !strings.HasPrefix(c.name, name+suffix) {
				break
			}
			if baseName(c.name) == name {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *spot) int { return strings.Compare(a.name, b.name) })
	return out
}
