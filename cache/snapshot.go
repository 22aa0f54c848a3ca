package cache

import (
	"iter"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/internal/receiver"
)

// Snapshot is a view at one moment. A snapshot does not change; mutable values,
// such as bytes, are shared, and must not be changed.
type Snapshot[T any] struct {
	entries []*Entry[T] // by path
}

// Len returns the number of entries.
func (s *Snapshot[T]) Len() int { return len(receiver.OrZero(s).entries) }

// All iterates over the entries in the order of their paths, so a znode comes
// before its children.
func (s *Snapshot[T]) All() iter.Seq[Entry[T]] {
	s = receiver.OrZero(s)
	return func(yield func(Entry[T]) bool) {
		for _, e := range s.entries {
			if !yield(*e) {
				return
			}
		}
	}
}

// Lookup finds the entry of a full path.
func (s *Snapshot[T]) Lookup(path string) (Entry[T], bool) {
	s = receiver.OrZero(s)
	i, ok := slices.BinarySearchFunc(s.entries, path, byPath[T])
	if !ok {
		return Entry[T]{}, false
	}
	return *s.entries[i], true
}

// Children iterates over the entries directly below path, in the order of their
// names, without deeper entries.
func (s *Snapshot[T]) Children(path string) iter.Seq[Entry[T]] {
	s = receiver.OrZero(s)
	prefix := strings.TrimSuffix(path, "/") + "/"
	return func(yield func(Entry[T]) bool) {
		i, _ := slices.BinarySearchFunc(s.entries, prefix, byPath[T])
		for ; i < len(s.entries) && strings.HasPrefix(s.entries[i].Path, prefix); i++ {
			name := s.entries[i].Path[len(prefix):]
			if name != "" && !strings.Contains(name, "/") && !yield(*s.entries[i]) {
				return
			}
		}
	}
}

func byPath[T any](e *Entry[T], path string) int { return strings.Compare(e.Path, path) }

// with is the snapshot after changes: path to entry, nil for a removed entry. It
// costs the copying of a list, and the sorting of the changes.
func (s *Snapshot[T]) with(changes map[string]*Entry[T]) *Snapshot[T] {
	var fresh []*Entry[T]
	for _, e := range changes {
		if e != nil {
			fresh = append(fresh, e)
		}
	}
	slices.SortFunc(fresh, func(a, b *Entry[T]) int { return strings.Compare(a.Path, b.Path) })
	out := make([]*Entry[T], 0, len(s.entries)+len(fresh))
	for _, e := range s.entries {
		if _, changed := changes[e.Path]; changed {
			continue
		}
		for len(fresh) > 0 && fresh[0].Path < e.Path {
			out, fresh = append(out, fresh[0]), fresh[1:]
		}
		out = append(out, e)
	}
	return &Snapshot[T]{entries: append(out, fresh...)}
}
