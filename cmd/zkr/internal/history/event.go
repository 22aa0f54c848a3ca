package history

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// Event is the beginning, the grant or the end of a stay.
type Event struct {
	// Mark is the state after the event, and At its moment.
	Mark Mark
	At   Moment
	Kind EventKind
	// Stay is as of the event.
	Stay Stay

	n int64 // the transaction
}

// EventKind is the kind of an event.
type EventKind string

// The events.
const (
	Came    EventKind = "came" // and waits
	Granted EventKind = "granted"
	Ended   EventKind = "ended"
)

// replaces reports whether an event tells all of an earlier one: a grant at once.
func (e *Event) replaces(before *Event) bool {
	return e.n == before.n && e.Kind == Granted && before.Kind == Came && e.Stay.place() == before.Stay.place()
}

// trail has the last events.
type trail struct {
	events []Event
	// before is the mark of the last event of an earlier transaction than that of the last
	// event; hasBefore: there is one.
	before    Mark
	hasBefore bool
}

// add adds an event, in place of one that it replaces.
func (t *trail) add(e Event) {
	if last := len(t.events) - 1; last >= 0 {
		if t.events[last].n != e.n {
			t.before, t.hasBefore = t.events[last].Mark, true
		}
		if e.replaces(&t.events[last]) {
			t.events = t.events[:last]
		}
	}
	t.events = append(t.events, e)
}

// cut returns a trail of at most n events that shares nothing with t.
func (t *trail) cut(n int) trail {
	out := *t
	out.events = slices.Clone(t.events[max(0, len(t.events)-n):])
	return out
}

// forget keeps the last n events.
func (t *trail) forget(n int) { t.events = append(t.events[:0], t.events[len(t.events)-n:]...) }

// previous is the mark of the last event of a transaction before the n-th one.
func (t *trail) previous(n int64) *Mark {
	if last := len(t.events) - 1; last >= 0 && t.events[last].n < n {
		return &t.events[last].Mark
	}
	if !t.hasBefore {
		return nil
	}
	mark := t.before
	return &mark
}

// count counts the transactions of an Archive from the first state on.
type count struct {
	n  int64
	at Moment // of the last one, or of the first state
	// nth is the place of the transaction among those of the same time.
	nth int
	// recorded: the transactions are those of a recording, which have no order of zxids.
	recorded bool
}

// next counts a transaction.
func (c *count) next(txn *txnlog.Txn) {
	c.nth = c.place(txn)
	c.n++
	c.at = Moment{txn.Time, txn.Zxid}
}

// place is the place of the next transaction among those of the same time.
func (c *count) place(txn *txnlog.Txn) int {
	if txn.Time.Equal(c.at.Time) {
		return c.nth + 1
	}
	return 1
}

// mark is that of the state after the last transaction.
func (c *count) mark() Mark {
	if c.recorded {
		return Mark{Time: c.at.Time, Nth: c.nth}
	}
	return Mark{Zxid: c.at.Zxid, Nth: AllOfThem}
}

// event is one of the last transaction.
func (c *count) event(kind EventKind, s *Stay) Event {
	return Event{Mark: c.mark(), At: c.at, Kind: kind, Stay: *s, n: c.n}
}
