package recognize

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/znode"
)

// Recognizer makes a sequence of worlds: each update recognizes the changed
// nodes again, and keeps the rest. One goroutine at a time may use a
// Recognizer. The zero Recognizer is ready, and its world is empty.
//
// A family is recognized together: a node, the nodes beside it that belong to
// it by name, and all their descendants. Recognition does not go farther,
// unless the family matters for a node above: a plain node with changed
// children is visited again, and its descendants keep their things unless the
// result differs.
type Recognizer struct {
	// Visits is the number of nodes visited for recognition, in all updates.
	Visits int
	// OnlyThings leaves out what a Delta does not need: worlds have nodes only, and things
	// have no hints. An update then takes as long as the changes need, in a world of any size.
	OnlyThings bool
	// Late returns changes in a family, and below it, that were kept back as they are those of
	// a Line, and gives the Line up; nil if nothing is kept back. An update calls Late before it
	// recognizes what may depend on such changes. Newer ones of the update replace them.
	Late func(family string) map[string]*Node

	world *World
	gen   int
	// due says when families are to be recognized again, by their paths, although nothing
	// has changed. firstDue is not after the first of them; zero if there is none.
	due      map[string]time.Time
	firstDue time.Time
}

// Fork returns a recognizer with the same world. Updates of one do not change the world of the
// other one.
func (r *Recognizer) Fork() *Recognizer {
	out := *r
	out.due = maps.Clone(r.due)
	return &out
}

// Delta is a world, and the things by which it differs from the previous world.
// For changed things, Gone has the former state.
type Delta struct {
	*World
	Come, Gone []*Thing // in the order of their paths
}

// revision makes a world.
type revision struct {
	*looker
	r       *Recognizer
	w       *World
	old     *spot
	changes map[string]*Node

	probes, families map[string]bool
	// settled are the families of which no change is kept back.
	settled    map[string]bool
	come, gone []*Thing
	// lost and won are the former and the present holdings of sessions in the
	// families recognized again; touched are these sessions.
	lost    map[SessionID]map[string]bool
	won     map[SessionID][]Holding
	touched map[SessionID]bool
}

// World is the newest world.
func (r *Recognizer) World() *World {
	if r.world == nil {
		r.world = &World{}
	}
	return r.world
}

// Replace makes the world of nodes.
func (r *Recognizer) Replace(nodes iter.Seq[*Node], past Past, now time.Time) Delta {
	changes, there := map[string]*Node{}, map[string]bool{}
	for n := range nodes {
		changes[n.Path], there[n.Path] = n, true
	}
	if top := r.World().top; top != nil {
		top.each(func(s *spot) {
			if !there[s.Path] && !s.ghost {
				changes[s.Path] = nil
			}
		})
	}
	return r.Update(changes, past, now)
}

// Update makes the next world: changes are the new and changed nodes by their
// paths; nil for removed nodes.
func (r *Recognizer) Update(changes map[string]*Node, past Past, now time.Time) Delta {
	r.gen++
	old := r.World()
	w := *old
	u := &revision{
		looker: &looker{top: old.top, past: past, now: now, gen: r.gen}, r: r, w: &w, old: old.top,
		probes: map[string]bool{}, families: map[string]bool{}, settled: map[string]bool{}, touched: map[SessionID]bool{},
	}
	u.takeChanges(changes)
	u.markDue()
	for more := true; more; {
		for u.takeLate(changes) {
		}
		more = u.probePlain()
	}
	u.recognizeAgain()
	if !r.OnlyThings {
		u.updateHints() // hints need the sessions; a thing with a changed hint is recognized again
		u.recognizeAgain()
		u.updateHints()
		u.countTroubles()
	}
	w.top = u.top
	r.world, r.Visits = &w, r.Visits+u.visits
	slices.SortFunc(u.come, byPath)
	slices.SortFunc(u.gone, byPath)
	return Delta{World: &w, Come: u.come, Gone: u.gone}
}

// takeChanges puts changes into the tree, and marks what is to be recognized.
func (u *revision) takeChanges(changes map[string]*Node) {
	u.applyChanges(changes)
	u.plantChanges()
	for path := range u.changes {
		u.markChanged(path)
	}
}

// applyChanges keeps the real changes, and counts.
func (u *revision) applyChanges(changes map[string]*Node) {
	u.changes = make(map[string]*Node, len(changes))
	var gone, come []string
	for path, n := range changes {
		var was *Node
		if s := u.old.find(path); s != nil {
			was = s.Node
		}
		if n == was {
			continue
		}
		u.changes[path] = n
		if was != nil {
			u.w.Nodes, u.w.Ephemeral = u.w.Nodes-1, u.w.Ephemeral-asBit(was.ephemeral())
			if was.Denied {
				gone = append(gone, path)
			}
		}
		if n != nil {
			u.w.Nodes, u.w.Ephemeral = u.w.Nodes+1, u.w.Ephemeral+asBit(n.ephemeral())
			if n.Denied {
				come = append(come, path)
			}
		}
	}
	u.w.Denied = spliceSorted(u.w.Denied, gone, come, strings.Compare)
}

// byPath is the order of things.
func byPath(a, b *Thing) int {
	return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Kind, b.Kind))
}

// recognizeAgain recognizes families again, and puts the result into the world.
func (u *revision) recognizeAgain() {
	if len(u.families) == 0 {
		return
	}
	u.lost, u.won = map[SessionID]map[string]bool{}, map[SessionID][]Holding{}
	var gone, come []*Thing
	done := map[string]bool{}
	for _, path := range slices.Sorted(maps.Keys(u.families)) {
		if !isCovered(done, path) {
			done[path] = true
			g, c := u.recognizeFamily(path)
			gone, come = append(gone, g...), append(come, c...)
		}
	}
	clear(u.families)
	u.gone, u.come = append(u.gone, gone...), append(u.come, come...)
	if u.r.OnlyThings {
		return
	}
	u.w.Things = spliceSorted(u.w.Things, gone, come, byPath)
	u.w.awaited = spliceSorted(u.w.awaited, filterThings(gone, isAwaitable), filterThings(come, isAwaitable), byPath)
	u.updateSessions()
}

// isCovered reports whether a family is in, or below, a family already done.
func isCovered(done map[string]bool, path string) bool {
	for path != "/" {
		up := znode.Parent(path)
		if done[up] || up != "/" && done[znode.Join(znode.Parent(up), baseName(znode.Base(up)))] {
			return true
		}
		path = up
	}
	return false
}

func filterThings(things []*Thing, these func(*Thing) bool) (out []*Thing) {
	for _, t := range things {
		if these(t) {
			out = append(out, t)
		}
	}
	return out
}

// recognizeFamily recognizes a family again.
func (u *revision) recognizeFamily(path string) (gone, come []*Thing) {
	name := znode.Base(path)
	for _, s := range familyMembers(u.old.at(znode.Parent(path)), path, name, u.old) {
		s.each(func(s *spot) {
			if s.told != nil {
				gone = append(gone, s.told)
			}
			u.takeFromSession(s)
		})
	}
	var fresh []*spot
	switch {
	case path == "/":
		u.top = u.top.reopen(u.gen)
		fresh = append(fresh, u.top)
	case u.top.at(znode.Parent(path)) != nil:
		parent := u.editSpot(znode.Parent(path))
		for _, s := range parent.familyOf(name) {
			s = s.reopen(u.gen)
			parent.children = parent.children.with(placed{s.name, s})
			fresh = append(fresh, s)
		}
	}
	u.told, u.until = nil, time.Time{}
	for _, s := range fresh {
		u.visitSpot(s)
	}
	slices.SortFunc(u.told, byPath)
	for _, t := range u.told {
		u.setRoles(t)
	}
	for _, s := range fresh {
		s.each(u.giveToSession)
	}
	if delete(u.r.due, path); !u.until.IsZero() {
		if u.r.due == nil {
			u.r.due = map[string]time.Time{}
		}
		u.r.noteDue(path, u.until)
	}
	return gone, u.told
}

// familyMembers are the members of a family.
func familyMembers(parent *spot, path, name string, top *spot) []*spot {
	switch {
	case path == "/" && top != nil:
		return []*spot{top}
	case path == "/" || parent == nil:
		return nil
	}
	return parent.familyOf(name)
}

// updateHints sets the hints that appear with time. Things from an earlier revision
// are recognized again for a new hint, because a thing never changes.
func (u *revision) updateHints() {
	fresh := make(map[*Thing]bool, len(u.come))
	for _, t := range u.come {
		fresh[t] = true
	}
	for _, t := range u.w.awaited {
		text := u.w.hintAt(t, u.past, u.now)
		switch {
		case text == t.hint:
		case fresh[t]:
			t.hint = text
			t.addProblem(Hint, codeLongHold, t.Queue[0].Path, "%s", text)
		default:
			u.old = u.top
			u.markWithin(t.Path)
		}
	}
	u.old = u.top
}
