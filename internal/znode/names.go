// Package znode has the rules that names and paths of znodes share, no matter which
// program writes them (docs/layout.md): the rules for paths, escaped text, protected
// names, the numbers of sequential znodes, and queues of contenders, which are the
// sequential znodes below a lock-like path. The package is pure, and imports nothing of
// this module, so that a session, the formats of all recipes, and the dashboard share
// it.
package znode

import (
	"cmp"
	"errors"
	"slices"
	"strings"
)

// Entry is one contender of a queue.
type Entry struct {
	Name   string // last element of its path
	Marker string // which marker its name has
	Seq    int32  // its place: lower came first
}

// Queue is the contenders among a path's children, in their order.
type Queue struct {
	Entries []Entry
	// Exhausted says that a contender has a number that does not tell when
	// it came; it is not among Entries.
	Exhausted bool
}

// Parse picks the contenders out of children: names that end with one of the
// markers and a sequence number. All other children are strangers, and ignored.
func Parse(children []string, markers ...string) Queue {
	q := Queue{Entries: make([]Entry, 0, len(children))}
	for _, name := range children {
		marker, negative, ok := markerOf(name, markers)
		if !ok {
			continue
		}
		seq, err := Sequence(name)
		switch {
		case err == nil && negative:
			q.Exhausted = true
		case err == nil:
			q.Entries = append(q.Entries, Entry{Name: name, Marker: marker, Seq: seq})
		case errors.Is(err, ErrExhausted):
			q.Exhausted = true
		}
	}
	slices.SortFunc(q.Entries, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.Seq, b.Seq), cmp.Compare(a.Name, b.Name))
	})
	return q
}

// markerOf finds which marker stands right before the number. A number is ten
// characters, or eleven from -1000000000 downwards; only the marker tells
// whether the minus of such a one is the number's.
func markerOf(name string, markers []string) (marker string, negative, ok bool) {
	for _, extra := range []int{0, 1} {
		at := len(name) - Digits - extra
		if at < 0 || extra == 1 && name[at] != '-' {
			continue
		}
		for _, m := range markers {
			if strings.HasSuffix(name[:at], m) {
				return m, extra == 1, true
			}
		}
	}
	return "", false, false
}

// Index is the place of name in the queue, or -1.
func (q Queue) Index(name string) int {
	return slices.IndexFunc(q.Entries, func(e Entry) bool { return e.Name == name })
}
