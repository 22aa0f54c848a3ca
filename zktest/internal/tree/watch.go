package tree

import "github.com/zkrecipes/zkrecipes/zktest/internal/proto"

// Mode tells how long a watch stays and which nodes the watch covers.
type Mode int

// Modes of watches.
const (
	OneShot Mode = iota
	PersistentWatch
	RecursiveWatch
)

// Kinds of watchers, as checkWatches and removeWatches number them.
const (
	WatchChildren int32 = 1
	WatchData     int32 = 2
	WatchAny      int32 = 3
)

// Watches holds the watches of one server, by an opaque id of their owner.
// The zero value is not ready; use NewWatches.
//
// As in ZooKeeper 3.8, owner, path and table determine a single mode: a
// one-shot watch replaces a persistent watch on the same path. ZooKeeper 3.9
// has fixed this trap; the test server keeps the trap of 3.8.
type Watches struct {
	data, child *table
}

type table struct {
	byPath  map[string][]int64 // owners in the order of registration
	byOwner map[int64]map[string]Mode
	recur   int
}

// NewWatches returns an empty set.
func NewWatches() *Watches { return &Watches{newTable(), newTable()} }

func newTable() *table {
	return &table{byPath: map[string][]int64{}, byOwner: map[int64]map[string]Mode{}}
}

// AddData adds a one-shot watch on the node itself.
func (w *Watches) AddData(path string, owner int64) { w.data.add(path, owner, OneShot) }

// AddChild adds a one-shot watch on the list of children.
func (w *Watches) AddChild(path string, owner int64) { w.child.add(path, owner, OneShot) }

// AddPersistent adds a persistent watch; mode must not be OneShot.
func (w *Watches) AddPersistent(path string, owner int64, mode Mode) {
	w.data.add(path, owner, mode)
	w.child.add(path, owner, mode)
}

// Has tells whether owner has a watch of this kind on path.
func (w *Watches) Has(path string, owner int64, kind int32) bool {
	return kind&WatchChildren != 0 && w.child.contains(path, owner) || kind&WatchData != 0 && w.data.contains(path, owner)
}

// Remove removes the watches of this kind and tells whether any existed.
func (w *Watches) Remove(path string, owner int64, kind int32) bool {
	a := kind&WatchChildren != 0 && w.child.dropWatch(path, owner)
	b := kind&WatchData != 0 && w.data.dropWatch(path, owner)
	return a || b
}

// Forget takes away everything of owner.
func (w *Watches) Forget(owner int64) {
	for _, t := range []*table{w.data, w.child} {
		for path := range t.byOwner[owner] {
			t.dropWatch(path, owner)
		}
	}
}

// Fire returns the owners to be told of e, in the order of registration, and
// uses up one-shot watches. NodeDeleted fires both tables, but each owner is
// told only once.
func (w *Watches) Fire(e Event) []int64 {
	switch e.Type {
	case proto.EventNodeChildrenChanged:
		return w.child.fireWatches(e, nil)
	case proto.EventNodeDeleted:
		first := w.data.fireWatches(e, nil)
		return append(first, w.child.fireWatches(e, first)...)
	}
	return w.data.fireWatches(e, nil)
}

// RecursivePath is the path of the nearest recursive watch of owner at or above path, or
// path without one.
func (w *Watches) RecursivePath(owner int64, path string) string {
	for at := path; ; at = parentOrRoot(at) {
		if mode, ok := w.data.byOwner[owner][at]; ok && mode == RecursiveWatch {
			return at
		}
		if at == "/" {
			return path
		}
	}
}

// Count returns the number of (owner, path) pairs in both tables.
func (w *Watches) Count() int { return w.data.count() + w.child.count() }

// ByPath returns a copy: the watching owners of each path.
func (w *Watches) ByPath() map[string][]int64 {
	out := map[string][]int64{}
	for _, t := range []*table{w.data, w.child} {
		for p, owners := range t.byPath {
			for _, o := range owners {
				if !contains(out[p], o) {
					out[p] = append(out[p], o)
				}
			}
		}
	}
	return out
}

func (t *table) count() int {
	n := 0
	for _, m := range t.byOwner {
		n += len(m)
	}
	return n
}

func (t *table) contains(path string, owner int64) bool {
	_, ok := t.byOwner[owner][path]
	return ok
}

func (t *table) add(path string, owner int64, mode Mode) {
	paths := t.byOwner[owner]
	if paths == nil {
		paths = map[string]Mode{}
		t.byOwner[owner] = paths
	}
	old, had := paths[path]
	if !had {
		t.byPath[path] = append(t.byPath[path], owner)
	}
	if had && old == RecursiveWatch {
		t.recur--
	}
	if mode == RecursiveWatch {
		t.recur++
	}
	paths[path] = mode
}

func (t *table) dropWatch(path string, owner int64) bool {
	mode, ok := t.byOwner[owner][path]
	if !ok {
		return false
	}
	if mode == RecursiveWatch {
		t.recur--
	}
	delete(t.byOwner[owner], path)
	if len(t.byOwner[owner]) == 0 {
		delete(t.byOwner, owner)
	}
	left := make([]int64, 0, len(t.byPath[path]))
	for _, o := range t.byPath[path] {
		if o != owner {
			left = append(left, o)
		}
	}
	if len(left) == 0 {
		delete(t.byPath, path)
	} else {
		t.byPath[path] = left
	}
	return true
}

func (t *table) fireWatches(e Event, told []int64) []int64 {
	var out []int64
	here := true
	for path := e.Path; ; here, path = false, parentOrRoot(path) {
		for _, o := range append([]int64(nil), t.byPath[path]...) {
			mode := t.byOwner[o][path]
			switch {
			case mode == RecursiveWatch:
				if e.Type == proto.EventNodeChildrenChanged {
					continue
				}
			case !here:
				continue
			case mode == OneShot:
				t.dropWatch(path, o)
			}
			if !contains(told, o) && !contains(out, o) {
				out = append(out, o)
			}
		}
		if path == "/" || t.recur == 0 {
			return out
		}
	}
}

func contains(list []int64, v int64) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
