package ui

import (
	"iter"
	"time"

	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// watchTree checks the connection. The end of the first read is published together
// with the things: otherwise a page could show an empty tree.
func (m *Model) watchTree() {
	m.sight.Lock()
	defer m.sight.Unlock()
	h, was := m.health(), m.lastView().Health
	if h.Stale {
		m.memory.resetProof()
	}
	read := m.Attentive || m.Hub.Streams() > 0 || time.Since(m.asked) < again
	switch {
	case read && h.Loaded && !was.Loaded, read && !h.Stale && m.memory.isBlind() && m.tree.Status().Synced:
		m.lookLocked()
	case h != was:
		m.publishView(func(v *View) { v.Health = h })
	}
}

// lookLocked recognizes again what has changed. The tree's status is read
// first, so it also holds for the nodes read afterwards.
func (m *Model) lookLocked() {
	now := time.Now()
	health, status := m.health(), m.tree.Status()
	first, last := m.dirty.span()
	paths, all, late := m.dirty.takeChanges(now)
	seen := m.memory.noteStatus(status)
	if seen && late {
		m.memory.noteSpan(first, last)
	}
	seen = seen && !late
	var d recognize.Delta
	if all || m.looked.IsZero() {
		d = m.recognizer.Replace(m.allNodes(), m.memory.past, now)
	} else {
		changes := make(map[string]*recognize.Node, len(paths))
		for path := range paths {
			changes[path] = nil
			if e, ok := m.tree.Lookup(path); ok {
				changes[path] = knownNode(e)
			}
		}
		d = m.recognizer.Update(changes, m.memory.past, now)
	}
	m.looked, m.known = now, status.AsOf
	m.memory.remember(d, now, seen)
	_, exists := d.Lookup(m.root)
	m.publishView(func(v *View) {
		v.World, v.Health, v.Exists = d.World, health, exists
		v.Feed, v.History, v.Hour = m.memory.changes(), m.memory.numbers(), m.memory.lately.view()
	})
	m.rested = time.Now().Add(paceFor(time.Since(now)))
}

// allNodes are all nodes of the tree.
func (m *Model) allNodes() iter.Seq[*recognize.Node] {
	return func(yield func(*recognize.Node) bool) {
		for e := range m.tree.All() {
			if !yield(knownNode(e)) {
				return
			}
		}
	}
}

// knownNode is the readable part of a node.
func knownNode(e cache.Entry[*recognize.Node]) *recognize.Node {
	if e.Err != nil || e.Value == nil {
		return &recognize.Node{Path: e.Path, Denied: true}
	}
	return e.Value
}
