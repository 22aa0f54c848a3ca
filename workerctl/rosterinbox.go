package workerctl

import (
	"sync"

	"github.com/zkrecipes/zkrecipes/session"
)

// readKind is what a read of a roster asks for, or what a watch reports.
type readKind int

const (
	readSync    readKind = iota
	readLive             // the list of live
	readMembers          // the list of members
	readSize             // the existence of the size, for its watch
	readState            // the status
	readMember           // one member
	persistent           // events of the persistent watch
)

// rosterItem is an event, or the reply to a read, that the goroutine that reads the
// connection hands to Run. gen is the connection on which the read was sent.
type rosterItem struct {
	kind  readKind
	gen   int
	reply bool
	event session.Event
	id    int // of the member
	seen  session.Seen
	err   error
	of    int // how many reads the request had
}

// maxEvents is how many items wait for Run before events of znodes are dropped; then all
// is read again.
const maxEvents = 1 << 14

// rosterInbox hands items over, in their order and without blocking.
type rosterInbox struct {
	wake chan struct{} // cap 1

	// mu guards the fields below. patient: Run wakes by itself soon, by a timer or a reply,
	// and need not wake for events of znodes. overrun: events were dropped since the last
	// call of take. After closed, watches that come are stopped.
	mu      sync.Mutex
	items   []rosterItem
	patient bool
	overrun bool
	closed  bool
}

func newRosterInbox() *rosterInbox { return &rosterInbox{wake: make(chan struct{}, 1)} }

func (in *rosterInbox) put(items ...rosterItem) {
	in.mu.Lock()
	closed, urgent := in.closed, !in.patient
	for _, it := range items {
		change := !it.reply && it.event.Path != ""
		urgent = urgent || !change
		switch {
		case closed:
		case change && len(in.items) >= maxEvents:
			in.overrun = true
		default:
			in.items = append(in.items, it)
		}
	}
	in.mu.Unlock()
	switch {
	case closed:
		releaseWatches(items)
	case urgent:
		in.wakeUp()
	}
}

func (in *rosterInbox) wakeUp() {
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// setPatient says whether events of znodes wake Run. If they do, those that have come do.
func (in *rosterInbox) setPatient(patient bool) {
	in.mu.Lock()
	in.patient = patient
	late := !patient && len(in.items) > 0
	in.mu.Unlock()
	if late {
		in.wakeUp()
	}
}

func (in *rosterInbox) takeItems() (items []rosterItem, overrun bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	items, overrun = in.items, in.overrun
	in.items, in.overrun = nil, false
	return items, overrun
}

func (in *rosterInbox) empty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.items) == 0
}

func (in *rosterInbox) close() {
	in.mu.Lock()
	items := in.items
	in.items, in.closed = nil, true
	in.mu.Unlock()
	releaseWatches(items)
}

// releaseWatches stops the watches of replies that are not handled.
func releaseWatches(items []rosterItem) {
	for _, it := range items {
		if it.seen.Watch != nil {
			it.seen.Watch.Stop()
		}
	}
}
