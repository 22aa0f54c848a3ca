package cache

import (
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/session"
)

// maxItems is how many items wait for Run at most before events of znodes are dropped,
// and all nodes are compared with the server instead. Events of the connection are few,
// and kept: one of them may say that the subscription has ended.
const maxItems = 1 << 14

// item is an event of the watch, or an answer, that the goroutine that reads the
// connection hands to Run.
type item struct {
	event session.Event
	gen   int // of the one-shot watch that event is from
	// heard, for an event of the connection: the server had by then reported all
	// changes up to this time.
	heard time.Time
	reply *reply
}

// reply is the answer to req, or a batch's answer to its part req, of as many; with
// opNone, to the sync.
type reply struct {
	req  request
	seen session.Seen
	err  error
	of   int // 0: it was asked alone
}

// inbox hands items over, in their order and without ever blocking.
type inbox struct {
	wake chan struct{} // cap 1: items is not empty

	// mu guards the fields below. overrun: events were dropped since items was last
	// taken. After closed no item is kept, and watches that come are stopped: their
	// view does not use the session any more.
	mu      sync.Mutex
	items   []item
	overrun bool
	closed  bool
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

// put adds items, all at once.
func (in *inbox) put(items ...item) {
	in.mu.Lock()
	closed := in.closed
	for _, it := range items {
		switch {
		case closed:
		case it.reply == nil && it.event.Path != "" && len(in.items) >= maxItems:
			in.overrun = true
		default:
			in.items = append(in.items, it)
		}
	}
	in.mu.Unlock()
	if closed {
		for _, it := range items {
			it.release()
		}
		return
	}
	select {
	case in.wake <- struct{}{}:
	default:
	}
}

// takeItems returns the items that have come, and whether events are missing behind them;
// spare's memory is used for the next items.
func (in *inbox) takeItems(spare []item) (items []item, overrun bool) {
	clear(spare)
	in.mu.Lock()
	defer in.mu.Unlock()
	items, overrun = in.items, in.overrun
	in.items, in.overrun = spare[:0], false
	return items, overrun
}

func (in *inbox) empty() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return len(in.items) == 0
}

func (in *inbox) close() {
	in.mu.Lock()
	items := in.items
	in.items, in.closed = nil, true
	in.mu.Unlock()
	for _, it := range items {
		it.release()
	}
}

// release stops the watch that came with an answer that is not taken.
func (it item) release() {
	if it.reply != nil && it.reply.seen.Watch != nil {
		it.reply.seen.Watch.Stop()
	}
}
