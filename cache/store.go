package cache

import (
	"sync"

	"github.com/zkrecipes/zkrecipes/internal/await"
	"github.com/zkrecipes/zkrecipes/session"
)

// store has the published entries of a view, and its readers.
type store[T any] struct {
	buffer int

	// mu guards the fields below. Invariants: last, with the entries of changed in
	// place of its own, is entries, unless changed is nil, as it is until a snapshot is
	// asked for; a reader that does not lag
	// has in its queue all that has become of entries since it was last given a
	// snapshot or events.
	mu      sync.Mutex
	entries map[string]*Entry[T] // an Entry is not changed once it is here
	last    *Snapshot[T]
	changed map[string]*Entry[T] // nil: removed
	readers map[*reader[T]]struct{}
	loaded  bool          // the entries were complete at some time
	over    error         // nothing will ever change again
	changes await.Changes // of the status that WaitSynced waits for
}

func newStore[T any](buffer int) *store[T] {
	return &store[T]{
		buffer: buffer, entries: make(map[string]*Entry[T]), readers: make(map[*reader[T]]struct{}),
	}
}

// step is a change with its value.
type step[T any] struct {
	kind  EventKind
	entry Entry[T] // of a removed entry, only Path is set
}

func decoded[T any](c change, decode Decode[T]) step[T] {
	s := step[T]{kind: c.kind, entry: Entry[T]{Path: c.path, Stat: c.stat, Err: c.err}}
	if c.kind != EventRemoved && c.err == nil {
		s.entry.Value, s.entry.Err = decode(session.Node{Path: c.path, Data: c.data, Stat: c.stat})
		if s.entry.Err != nil {
			var none T
			s.entry.Value = none
		}
	}
	return s
}

// apply makes the steps, all at once for its readers.
func (st *store[T]) apply(steps []step[T]) {
	st.mu.Lock()
	defer st.mu.Unlock()
	for i := range steps {
		st.stepLocked(&steps[i])
	}
}

func (st *store[T]) stepLocked(s *step[T]) {
	path := s.entry.Path
	ev := Event[T]{Kind: s.kind}
	if old := st.entries[path]; old != nil {
		ev.Old = *old
	}
	if s.kind == EventRemoved {
		delete(st.entries, path)
		st.noteLocked(path, nil)
	} else {
		fresh := s.entry
		ev.New = fresh
		st.entries[path] = &fresh
		st.noteLocked(path, &fresh)
	}
	for r := range st.readers {
		r.pushLocked(ev, st.buffer)
	}
}

// changedSlack is how many more changes than entries are kept for the next
// snapshot; it is made from scratch if there are more.
const changedSlack = 1024

func (st *store[T]) noteLocked(path string, e *Entry[T]) {
	if st.changed == nil {
		return
	}
	st.changed[path] = e
	if len(st.changed) > len(st.entries)+changedSlack {
		st.last, st.changed = nil, nil
	}
}

func (st *store[T]) lookup(path string) (Entry[T], bool) {
	st.mu.Lock()
	defer st.mu.Unlock()
	if e := st.entries[path]; e != nil {
		return *e, true
	}
	return Entry[T]{}, false
}

func (st *store[T]) len() int {
	st.mu.Lock()
	defer st.mu.Unlock()
	return len(st.entries)
}

func (st *store[T]) snapshot() *Snapshot[T] {
	st.mu.Lock()
	defer st.mu.Unlock()
	return st.snapshotLocked()
}

func (st *store[T]) snapshotLocked() *Snapshot[T] {
	switch {
	case st.changed == nil:
		st.last = (&Snapshot[T]{}).with(st.entries)
	case len(st.changed) > 0:
		st.last = st.last.with(st.changed)
	default:
		return st.last
	}
	st.changed = make(map[string]*Entry[T])
	return st.last
}

// setLoaded: the entries are the server's.
func (st *store[T]) setLoaded() {
	st.mu.Lock()
	defer st.mu.Unlock()
	if !st.loaded {
		st.loaded = true
		st.wakeReadersLocked()
	}
	st.changes.Announce()
}

func (st *store[T]) wakeReadersLocked() {
	for r := range st.readers {
		r.wakeLocked()
	}
}

// endWith sets the reason why nothing will change any more; nil: changes may come
// again.
func (st *store[T]) endWith(err error) {
	st.mu.Lock()
	defer st.mu.Unlock()
	st.over = err
	st.changes.Announce()
	st.wakeReadersLocked()
}
