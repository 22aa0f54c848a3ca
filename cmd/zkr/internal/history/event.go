package history

import "github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"

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

// appendEvent appends an event, in place of one that it replaces.
func appendEvent(list []Event, e Event) []Event {
	if last := len(list) - 1; last >= 0 && e.replaces(&list[last]) {
		list = list[:last]
	}
	return append(list, e)
}

func lastOf(list []Event, most int) []Event { return list[max(0, len(list)-most):] }

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
