package recognize

import (
	"iter"
	"slices"
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

	top *spot // "/"
	// awaited are those of Things with a queue in which somebody may wait.
	awaited []*Thing
}

// Look tells what nodes are.
func Look(nodes iter.Seq[*Node], past Past, now time.Time) *World {
	changes := map[string]*Node{}
	for n := range nodes {
		changes[n.Path] = n
	}
	return new(Recognizer).Update(changes, past, now).World
}

// looker tells what nodes are.
type looker struct {
	top  *spot
	past Past
	now  time.Time
	gen  int
	// visits counts the nodes that were asked what they are.
	visits int
	told   []*Thing
	// until is when something that was told is no longer so, by the time alone; zero
	// if it remains so.
	until time.Time
}

// find finds a node.
func (l *looker) find(path string) *spot { return l.top.find(path) }

// tell tells what a node is. Whatever owns a whole tree comes before what is told by
// its children.
func (l *looker) tell(s *spot) *Thing {
	l.visits++
	for _, tell := range []func(*looker, *spot) *Thing{
		job, endedJob, taskQueue, rebalancer, leases, leasePool, contenders, party, service, foreignQueue, bookDouble, delay, counter, markers, group, table, gate,
	} {
		if t := tell(l, s); t != nil {
			return t
		}
	}
	return nil
}

// visit tells what a node is, and then what those below it are.
func (l *looker) visit(s *spot) {
	if s.claimed == nil && !s.ghost {
		if t := l.tell(s); t != nil {
			if t.Part == "" {
				t.Part = s.part
			}
			l.told = append(l.told, t)
			if s.told = t; s.claimed == nil {
				s.claimed = t
			}
		}
	}
	s.plain = s.claimed == nil && s.part == ""
	for _, c := range s.children {
		if c.part == "" {
			c.part = s.part
		}
		l.visit(c)
	}
}

// Lookup finds a node.
func (w *World) Lookup(path string) (*Node, bool) {
	s := w.top.find(path)
	if s == nil {
		return nil, false
	}
	return s.Node, true
}

// Children are those of a node, by their names.
func (w *World) Children(path string) []*Node {
	s := w.top.find(path)
	if s == nil {
		return nil
	}
	out := make([]*Node, 0, len(s.children))
	for _, c := range s.children {
		if !c.ghost {
			out = append(out, c.Node)
		}
	}
	return out
}

// Of is the thing that a node belongs to, or nil.
func (w *World) Of(path string) *Thing {
	if s := w.top.find(path); s != nil {
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
