package dispatch

import (
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// taskItem is an event of a taskView's watch, or a reply.
type taskItem struct {
	event session.Event
	gen   int
	// A reply to a list, of all buckets or of one.
	list, root bool
	bucket     string
	names      []string
	// A reply to reads.
	reads   []*taskRead
	results []session.Result
	err     error
}

// maxTaskItems is how many items wait at most before events are dropped, and all tasks are
// read again instead.
const maxTaskItems = 1 << 16

// taskInbox hands items over, in their order and without ever blocking.
type taskInbox struct {
	wake chan struct{} // cap 1

	// mu guards the fields below. overrun: events were dropped. wanted: the scheduler may
	// need tasks of the backlog.
	mu      sync.Mutex
	items   []taskItem
	overrun bool
	wanted  bool
	urgent  []string // paths of tasks that the master waits for; nil: none
	changed []string // paths of tasks that have changed
}

func (in *taskInbox) putEvent(ev session.Event) { in.put(taskItem{event: ev}) }

func (in *taskInbox) put(it taskItem) {
	in.mu.Lock()
	if it.event.Path != "" && len(in.items) >= maxTaskItems {
		in.overrun = true
	} else {
		in.items = append(in.items, it)
	}
	in.mu.Unlock()
	in.signal()
}

// want has the view look whether the scheduler needs tasks of the backlog.
func (in *taskInbox) want() {
	in.mu.Lock()
	in.wanted = true
	in.mu.Unlock()
	in.signal()
}

func (in *taskInbox) signal() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// requestReads has tasks read; if they are urgent, before all others.
func (in *taskInbox) requestReads(paths []string, urgent bool) {
	in.mu.Lock()
	if urgent {
		in.urgent = append(make([]string, 0, len(paths)), paths...)
	} else {
		in.changed = append(in.changed, paths...)
	}
	in.mu.Unlock()
	in.signal()
}

// taken is what a taskInbox had.
type taken struct {
	items           []taskItem
	overrun, wanted bool
	urgent, changed []string
}

func (in *taskInbox) takeItems() taken {
	in.mu.Lock()
	defer in.mu.Unlock()
	out := taken{in.items, in.overrun, in.wanted, in.urgent, in.changed}
	in.items, in.overrun, in.wanted, in.urgent, in.changed = nil, false, false, nil, nil
	return out
}
