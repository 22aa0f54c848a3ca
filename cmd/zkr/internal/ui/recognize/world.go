package recognize

import (
	"cmp"
	"iter"
	"slices"
	"strings"
	"time"
)

// Past is what an observer has seen before, and no znode says.
type Past struct {
	// Began is since when it has looked.
	Began time.Time
	// Holds says since when contenders have what they hold, or were first seen to.
	Holds map[Tenure]time.Time
}

// Tenure is a contender that holds. Paths alone do not tell: some libraries use
// their names again.
type Tenure struct {
	Path  string
	Token int64
}

// World is what there is at one moment. It does not change.
type World struct {
	Things   []*Thing // in the order of their paths
	Sessions []*Session
	Nodes    int
	// Ephemeral is how many go with a session, Denied which may not be read.
	Ephemeral int
	Denied    []string

	all   []spot // in the order of the nodes
	spots map[string]*spot
}

// spot is a node in the tree.
type spot struct {
	*Node
	name     string
	children []*spot // in the order of their names
	// claimed is the thing that the node belongs to.
	claimed *Thing
	// part is the thing whose part a thing is that is found here, or below.
	part string
	// formats are those of counters among the children; nil if nobody has asked.
	formats []string
	// as is what its session is there, who what that calls itself.
	as, who string
}

// child finds a child.
func (s *spot) child(name string) *spot {
	i, ok := slices.BinarySearchFunc(s.children, name, func(c *spot, name string) int { return strings.Compare(c.name, name) })
	if !ok {
		return nil
	}
	return s.children[i]
}

// names are those of the children.
func (s *spot) names() []string {
	out := make([]string, len(s.children))
	for i, c := range s.children {
		out[i] = c.name
	}
	return out
}

// claim says that nodes belong to a thing, with all that is below them.
func (s *spot) claim(t *Thing) {
	s.claimed = t
	for _, c := range s.children {
		c.claim(t)
	}
}

// Look tells what nodes are. They come in an order in which each follows its
// parent.
func Look(nodes iter.Seq[*Node], past Past, now time.Time) *World {
	w := &World{}
	roots := w.plant(slices.Collect(nodes))
	l := &looker{World: w, past: past, now: now}
	for _, s := range roots {
		l.visit(s)
	}
	slices.SortFunc(w.Things, func(a, b *Thing) int { return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind)) })
	w.Sessions = w.sessions()
	w.hints(past, now)
	w.troubles()
	return w
}

// plant makes the tree of its nodes, and returns where it begins.
func (w *World) plant(nodes []*Node) (roots []*spot) {
	w.all, w.spots = make([]spot, len(nodes)), make(map[string]*spot, len(nodes))
	for i, n := range nodes {
		s := &w.all[i]
		s.Node, s.name = n, n.Name()
		w.spots[n.Path] = s
		w.Nodes++
		switch {
		case n.Denied:
			w.Denied = append(w.Denied, n.Path)
		case n.ephemeral():
			w.Ephemeral++
		}
		parent := w.spots[above(n.Path)]
		if parent == nil || parent == s {
			roots = append(roots, s)
			continue
		}
		if parent.children == nil {
			parent.children = make([]*spot, 0, min(max(1, int(parent.Stat.NumChildren)), 1<<16))
		}
		parent.children = append(parent.children, s)
	}
	byName := func(a, b *spot) int { return strings.Compare(a.name, b.name) }
	for i := range w.all {
		if s := &w.all[i]; !slices.IsSortedFunc(s.children, byName) {
			slices.SortFunc(s.children, byName)
		}
	}
	return roots
}

// above is the path of a path's parent; that of the root's is the root's.
func above(path string) string {
	if i := strings.LastIndexByte(path, '/'); i > 0 {
		return path[:i]
	}
	return "/"
}

// looker makes a world.
type looker struct {
	*World
	past Past
	now  time.Time
}

// visit tells what a node is, and then what those below it are. Whatever owns a
// whole tree comes before what is told by its children.
func (l *looker) visit(s *spot) {
	if s.claimed == nil {
		for _, tell := range []func(*looker, *spot) *Thing{
			job, taskQueue, rebalancer, leases, leasePool, contenders, party, service, foreignQueue, bookDouble, delay, counter, group, gate,
		} {
			if t := tell(l, s); t != nil {
				if t.Part == "" {
					t.Part = s.part
				}
				l.Things = append(l.Things, t)
				if s.claimed == nil {
					s.claimed = t
				}
				break
			}
		}
	}
	for _, c := range s.children {
		if c.part == "" {
			c.part = s.part
		}
		l.visit(c)
	}
}

// Lookup finds a node.
func (w *World) Lookup(path string) (*Node, bool) {
	s, ok := w.spots[path]
	if !ok {
		return nil, false
	}
	return s.Node, true
}

// Children are those of a node, by their names.
func (w *World) Children(path string) []*Node {
	s := w.spots[path]
	if s == nil {
		return nil
	}
	out := make([]*Node, len(s.children))
	for i, c := range s.children {
		out[i] = c.Node
	}
	return out
}

// Of is the thing that a node belongs to, or nil.
func (w *World) Of(path string) *Thing {
	if s := w.spots[path]; s != nil {
		return s.claimed
	}
	return nil
}

// Kinds is the things of some kinds, in the order of their paths.
func (w *World) Kinds(kinds ...Kind) []*Thing {
	var out []*Thing
	for _, t := range w.Things {
		if slices.Contains(kinds, t.Kind) {
			out = append(out, t)
		}
	}
	return out
}
