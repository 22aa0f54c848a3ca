// Package znode reads and makes the names of contenders: the sequential nodes
// that queue below a lock-like path, written by this module, Curator, Kazoo or
// go-zookeeper (formats: docs/layout.md).
package znode

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/session"
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
		seq, err := session.Sequence(name)
		switch {
		case err == nil && negative:
			q.Exhausted = true
		case err == nil:
			q.Entries = append(q.Entries, Entry{Name: name, Marker: marker, Seq: seq})
		case errors.Is(err, session.ErrSequenceExhausted):
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
	const digits = 10
	for _, extra := range []int{0, 1} {
		at := len(name) - digits - extra
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

// Protected is a name in Curator's form: "_c_", a UUID, "-" and marker.
func Protected(marker string) string { return session.ProtectedName(marker) }

// Hex is a name in Kazoo's form: 32 hexadecimal digits and marker.
func Hex(marker string) string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:]) + marker
}

// Base is the last element of path.
func Base(path string) string { return path[strings.LastIndexByte(path, '/')+1:] }

// Join is the path of the child name of dir.
func Join(dir, name string) string {
	if dir == "/" {
		return "/" + name
	}
	return dir + "/" + name
}
