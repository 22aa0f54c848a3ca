package cache

import (
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
)

// Decode makes a value of what a znode holds. It runs on the goroutine of Run,
// once for each change that is seen; it may keep the node's data. An error
// becomes [Entry.Err] and concerns that entry alone.
type Decode[T any] func(session.Node) (T, error)

// Bytes decodes a znode as its data, which nobody must change.
func Bytes(n session.Node) ([]byte, error) { return n.Data, nil }

// Entry is a znode as a view has it.
type Entry[T any] struct {
	// Path is the full path.
	Path string
	// Value is what Decode made of the data; the zero value if it failed.
	Value T
	// Stat is that of when the data was read. What it says about children
	// is not kept up to date, nor is Aversion.
	Stat session.Stat
	// Err is what Decode returned, or session.ErrNoAuth for a znode that
	// exists and may not be read: Value and Stat are zero then.
	Err error
}

// Name is the last element of the path.
func (e Entry[T]) Name() string { return znode.Base(e.Path) }

// EventKind says what an [Event] is.
type EventKind int

// The kinds of events.
const (
	// EventSnapshot: the whole view, in Snapshot; it replaces whatever the
	// reader knew. The first event is one.
	EventSnapshot EventKind = iota
	// EventAdded: New is an entry that was not there.
	EventAdded
	// EventUpdated: Old has become New, which is the same znode with other
	// data, or with the same data written again.
	EventUpdated
	// EventRemoved: Old is not there any more.
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
// removed and then added, also when the view has seen neither.
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
