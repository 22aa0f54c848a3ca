package cache

import (
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Decode converts the data of a znode to a value. Decode runs on the goroutine of
// Run, once for each change that is seen, and may keep the znode's data. An error
// becomes [Entry.Err], and affects only that entry.
type Decode[T any] func(session.Node) (T, error)

// Bytes returns a znode's data, which must not be changed.
func Bytes(n session.Node) ([]byte, error) { return n.Data, nil }

// Entry is a znode in a view.
type Entry[T any] struct {
	// Path is the full path.
	Path string
	// Value is the result of Decode; the zero value if Decode failed.
	Value T
	// Stat is the stat of the time at which the data was read. Its fields about
	// children, and Aversion, are not kept up to date.
	Stat session.Stat
	// Err is the error of Decode, or session.ErrNoAuth for a znode that exists
	// and may not be read: Value and Stat are zero then.
	Err error
}

// Name returns the last element of the path.
func (e Entry[T]) Name() string { return znode.Base(e.Path) }

// EventKind is the kind of an [Event].
type EventKind int

// The kinds of events.
const (
	// EventSnapshot: Snapshot is the whole view, and replaces everything that the
	// reader knew. The first event is a snapshot.
	EventSnapshot EventKind = iota
	// EventAdded: New is a new entry.
	EventAdded
	// EventUpdated: Old has become New, which is the same znode with other data,
	// or with the same data written again.
	EventUpdated
	// EventRemoved: Old does not exist any more.
	EventRemoved
)

func (k EventKind) String() string {
	switch k {
	case EventSnapshot:
		return "snapshot"
	case EventAdded:
		return "added"
	case EventUpdated:
		return "updated"
	case EventRemoved:
		return "removed"
	}
	return "unknown"
}

// Event is a change of a view. A znode that was deleted and created again is
// removed and then added, even if the view has seen neither.
type Event[T any] struct {
	Kind EventKind
	// Old is set for updated and removed entries, New for added and updated
	// ones, Snapshot for a snapshot.
	Old, New Entry[T]
	Snapshot *Snapshot[T]
}

// Path of the entry that has changed; empty for a snapshot.
func (e Event[T]) Path() string {
	if e.Kind == EventRemoved {
		return e.Old.Path
	}
	return e.New.Path
}
