package recording

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

// Znode is a znode as recorded. A Znode does not change.
type Znode struct {
	Path string
	// Data is the data, or its beginning; Size is the length of all data.
	Data []byte
	Size int
	Stat Stat
}

// record is the record of a znode.
func (z *Znode) record(kind Kind, at, after time.Time) *Record {
	r := &Record{Kind: kind, At: at, After: after, Path: z.Path, Data: z.Data, Stat: &z.Stat}
	if z.Size != len(z.Data) {
		r.Size = z.Size
	}
	return r
}

// SetRecord is the record of a znode that was created or changed.
func (z *Znode) SetRecord(at time.Time) *Record { return z.record(Set, at, time.Time{}) }

// znode is the znode of a record.
func (r *Record) znode() *Znode {
	return &Znode{Path: r.Path, Data: r.Data, Size: max(r.Size, len(r.Data)), Stat: *r.Stat}
}

// State has the znodes of one moment.
type State struct {
	nodes map[string]*Znode
	owned map[int64]int // the number of ephemeral znodes of each session
}

// NewState makes a state of znodes.
func NewState(nodes iter.Seq[*Znode]) *State {
	s := &State{nodes: map[string]*Znode{}, owned: map[int64]int{}}
	for z := range nodes {
		s.put(z)
	}
	return s
}

// Len returns the number of znodes.
func (s *State) Len() int { return len(s.nodes) }

// Lookup returns the znode of a path, or nil.
func (s *State) Lookup(path string) *Znode { return s.nodes[path] }

// Owned returns the number of ephemeral znodes of a session.
func (s *State) Owned(session int64) int { return s.owned[session] }

// all iterates over the znodes in the order of their paths.
func (s *State) all() iter.Seq[*Znode] {
	return func(yield func(*Znode) bool) {
		for _, path := range slices.Sorted(maps.Keys(s.nodes)) {
			if !yield(s.nodes[path]) {
				return
			}
		}
	}
}

func (s *State) put(z *Znode) {
	s.remove(z.Path)
	s.nodes[z.Path] = z
	if z.Stat.Owner != 0 {
		s.owned[z.Stat.Owner]++
	}
}

func (s *State) remove(path string) {
	z := s.nodes[path]
	if z == nil {
		return
	}
	delete(s.nodes, path)
	if owner := z.Stat.Owner; owner != 0 {
		if s.owned[owner]--; s.owned[owner] == 0 {
			delete(s.owned, owner)
		}
	}
}

// apply makes the state after a record.
func (s *State) apply(r *Record) {
	switch r.Kind {
	case Set:
		s.put(r.znode())
	case Gone:
		s.remove(r.Path)
	}
}

// WentBack is the reason of a gap after which servers know an older state than before.
const WentBack = "the servers went back to an older state: they were restored from a backup, or recreated"

// IsNewerThan reports whether a znode of s was changed later than in next. Servers never go
// back: a znode's mzxid grows, also when the znode is deleted and created again. The mzxid is
// the same only if the znode is, unless the servers have begun to count again.
func (s *State) IsNewerThan(next *State) bool {
	for path, old := range s.nodes {
		z := next.nodes[path]
		if z == nil {
			continue
		}
		if z.Stat.Mzxid < old.Stat.Mzxid || z.Stat.Mzxid == old.Stat.Mzxid && (z.Stat.Mtime != old.Stat.Mtime || z.Stat.Ctime != old.Stat.Ctime) {
			return true
		}
	}
	return false
}

// Differences returns the records that lead from s to next: deletions, the deepest first, and
// then the other changes in the order of their transactions. All happened after a moment.
func (s *State) Differences(next *State, at, after time.Time) (out []*Record) {
	for path, old := range s.nodes {
		if z := next.nodes[path]; z == nil || !z.Stat.sameZnode(&old.Stat) {
			out = append(out, &Record{Kind: Gone, At: at, After: after, Path: path})
		}
	}
	slices.SortFunc(out, func(a, b *Record) int { return strings.Compare(b.Path, a.Path) })
	deleted := len(out)
	for path, z := range next.nodes {
		if old := s.nodes[path]; old == nil || old.Stat != z.Stat {
			out = append(out, z.record(Set, at, after))
		}
	}
	slices.SortFunc(out[deleted:], func(a, b *Record) int {
		return cmp.Or(cmp.Compare(a.Stat.Mzxid, b.Stat.Mzxid), strings.Compare(a.Path, b.Path))
	})
	return out
}
