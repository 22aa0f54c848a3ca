package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// EventKind is what an Event tells.
type EventKind string

// The events of a history. An invariant of your own usually looks at Entered, Left and Done.
const (
	Entered EventKind = "enters" // Process.Enter
	Left    EventKind = "leaves" // the function that Enter returned
	Done    EventKind = "does"   // Process.Do, if its function succeeded
	Noted   EventKind = "notes"  // Process.Note
	Started EventKind = "starts" // the program was called
	Ended   EventKind = "ends"   // the program returned
	Killed  EventKind = "is killed"
	Frozen  EventKind = "freezes"
	Thawed  EventKind = "goes on"
	// Expired: the session is gone, and the process does not know yet. Told: the client of
	// the process knows that a session is lost.
	Expired EventKind = "expires"
	Told    EventKind = "learns of a lost session"
	Struck  EventKind = "fault"   // a fault begins or ends
	Applied EventKind = "applied" // the servers committed a change
)

// Event is something that happened in a run.
type Event struct {
	// At is the virtual time since the run began.
	At time.Duration
	// Process is the process, or "".
	Process string
	// Kind says what happened.
	Kind EventKind
	// What, ID and Token are those given to Enter and Do.
	What, ID string
	Token    int64
	// Text has details for people.
	Text string

	entry int // number of the entry that Entered and Left belong to
}

// String is the event in one line of a time line.
func (e Event) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%9.3fs  ", e.At.Seconds())
	if e.Process != "" {
		fmt.Fprintf(&b, "%s ", e.Process)
	}
	b.WriteString(string(e.Kind))
	for _, word := range []string{e.What, e.ID} {
		if word != "" {
			b.WriteString(" " + word)
		}
	}
	if e.Token != 0 {
		fmt.Fprintf(&b, ", token %d", e.Token)
	}
	if e.Text != "" {
		b.WriteString(": " + e.Text)
	}
	return b.String()
}

// History is what happened in a run.
type History struct {
	// Events are in the order in which they happened.
	Events []Event
	// Processes are the names of all processes.
	Processes []string
	// Healed is when the last fault was over, and End when the processes were told to
	// stop.
	Healed, End time.Duration

	calls []call
}

// String has a line for each event. Two runs with equal strings went the same way.
func (h *History) String() string {
	lines := make([]string, len(h.Events))
	for i, e := range h.Events {
		lines[i] = e.String()
	}
	return strings.Join(lines, "\n")
}

// Span is a time in which a process was inside something, and could know whether it still
// had a right to.
type Span struct {
	Process  string
	Token    int64
	From, To time.Duration
}

// Spans are the times in which processes were inside what, between Enter and Leave. Left
// out are the times in which a process cannot know better: while it is frozen, and from
// the early end of its session (Expire, Empty) until its client learns of that.
func (h *History) Spans(what string) []Span {
	var out []Span
	for _, name := range h.Processes {
		var s spanner
		for _, e := range h.Events {
			if e.Process == name {
				s.takeEvent(e, what)
			}
		}
		s.closeAll(h.end())
		out = append(out, s.spans...)
	}
	slices.SortStableFunc(out, func(a, b Span) int { return int(a.From - b.From) })
	return out
}

// end is the time of the last event.
func (h *History) end() time.Duration {
	if len(h.Events) == 0 {
		return 0
	}
	return h.Events[len(h.Events)-1].At
}

// spanner makes the spans of one process.
type spanner struct {
	spans   []Span
	inside  []Event       // the entries that are not left
	since   time.Duration // begin of the present part of all entries
	frozen  int
	expired bool
}

func (s *spanner) blind() bool { return s.frozen > 0 || s.expired }

// takeEvent takes the next event of the process.
func (s *spanner) takeEvent(e Event, what string) {
	s.closeAll(e.At)
	switch e.Kind {
	case Entered:
		if e.What == what {
			s.inside = append(s.inside, e)
		}
	case Left:
		s.inside = slices.DeleteFunc(s.inside, func(in Event) bool { return in.entry == e.entry })
	case Started, Killed, Ended: // the session of a life is not that of the next one
		s.inside, s.expired = nil, false
	case Frozen:
		s.frozen++
	case Thawed:
		s.frozen--
	case Expired:
		s.expired = true
	case Told:
		s.expired = false
	}
}

// closeAll ends the present part of all entries.
func (s *spanner) closeAll(now time.Duration) {
	for _, in := range s.inside {
		from := max(in.At, s.since)
		if now <= from || s.blind() {
			continue
		}
		if n := len(s.spans); n > 0 && s.spans[n-1].To == from && s.spans[n-1].Token == in.Token && len(s.inside) == 1 {
			s.spans[n-1].To = now
			continue
		}
		s.spans = append(s.spans, Span{in.Process, in.Token, from, now})
	}
	s.since = now
}
