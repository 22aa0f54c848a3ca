package ensemble

import "time"

// Clock gives time to a World.
type Clock interface {
	// Now is monotonic time since some start.
	Now() time.Duration
	// Wall is the time of day for Stat.
	Wall() time.Time
	// After runs f after d, never inside the call, in the order of due times
	// and, among equals, of the calls.
	After(d time.Duration, f func())
}

// Line is one direction of a connection: items come out later, in order. While
// the line is blocked, items wait, as with TCP when packets get lost.
type Line struct {
	// Blocked tells whether nothing comes through now; nil means never.
	Blocked func() bool
	clock   Clock
	items   []lineItem
	last    time.Duration
	pumping bool
}

type lineItem struct {
	due time.Duration
	run func()
}

// NewLine returns an empty line.
func NewLine(c Clock, blocked func() bool) *Line { return &Line{Blocked: blocked, clock: c} }

// Push sends f; it runs at the other end after delay and after all earlier
// items.
func (l *Line) Push(delay time.Duration, f func()) {
	due := max(l.clock.Now()+delay, l.last)
	l.last = due
	l.items = append(l.items, lineItem{due, f})
	l.clock.After(due-l.clock.Now(), l.Pump)
}

// Pump delivers all due items. Call Pump when the line is no longer blocked.
func (l *Line) Pump() {
	if l.pumping {
		return // the outer call delivers new items
	}
	l.pumping = true
	for len(l.items) > 0 && l.items[0].due <= l.clock.Now() && (l.Blocked == nil || !l.Blocked()) {
		f := l.items[0].run
		l.items = l.items[1:]
		f()
	}
	l.pumping = false
}

// Waiting tells whether an item has arrived and was not delivered yet, as in
// the socket of a process that wakes up.
func (l *Line) Waiting() bool { return len(l.items) > 0 && l.items[0].due <= l.clock.Now() }

// Clear discards everything in flight.
func (l *Line) Clear() { l.items = nil }
