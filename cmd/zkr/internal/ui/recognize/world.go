package recognize

import (
	"iter"
	"slices"
	"time"
)

// Past is an observer's knowledge of the past, stored in no znode.
type Past struct {
	// Began is the beginning of the observation.
	Began time.Time
	// Holds has the beginnings of holds, or their first observations.
	Holds map[Tenure]time.Time
}

// Tenure is a contender that holds. A path alone is not unique: some libraries
// use their names again.
type Tenure struct {
	Path  string
	Token int64
}

// World is the state at one moment. A World does not change.
type World struct {
	Things   []*Thing // in the order of their paths
	Sessions []*Session
	Nodes    int
	// Ephemeral counts ephemeral nodes, Denied lists unreadable nodes.
	Ephemeral int
	Denied    []string

	top *spot // "/"
	// awaited are the Things with a queue and possible waiters.
	awaited []*Thing
}

// Look recognizes what nodes are.
func Look(nodes iter.Seq[*Node], past Past, now time.Time) *World {
	changes := map[string]*Node{}
	for n := range nodes {
		changes[n.Path] = n
	}
	return new(Recognizer).Update(changes, past, now).World
}

// looker recognizes what nodes are.
type looker struct {
	top  *spot
	past Past
	now  time.Time
	gen  int
	// visits counts the nodes visited for recognition.
	visits int
	told   []*Thing
	// until is the time at which a result changes by the passing of time alone;
	// zero for no such change.
	until time.Time
}

// find finds a node.
func (l *looker) find(path string) *spot { return l.top.find(path) }

// recognizeNode recognizes a node. Owners of a whole tree come before things recognized
// by their children.
func (l *looker) recognizeNode(s *spot) *Thing {
	l.visits++
	for _, tell := range []func(*looker, *spot) *Thing{
		recognizeJob, endedJob, taskQueue, recognizeRebalancer, recognizeLeases, leasePool, recognizeQueue, recognizeBarrier, recognizeService, foreignQueue, bookDouble, recognizeDelay, recognizeCounter, recognizeValue, recognizeMarkers, recognizeHeartbeats, recognizeGroup, recognizeTable, recognizeGate,
	} {
		if t := tell(l, s); t != nil {
			return t
		}
	}
	return nil
}

// visitSpot recognizes a node, and then its descendants.
func (l *looker) visitSpot(s *spot) {
	if s.claimed == nil && !s.ghost {
		if t := l.recognizeNode(s); t != nil {
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
	for c := range s.children.all() {
		if c.part == "" {
			c.part = s.part
		}
		l.visitSpot(c)
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
	out := make([]*Node, 0, s.children.size())
	for c := range s.children.all() {
		if !c.ghost {
			out = append(out, c.Node)
		}
	}
	return out
}

// Of is the thing of a node, or nil.
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
