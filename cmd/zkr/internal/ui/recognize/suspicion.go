package recognize

import (
	"fmt"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/lockformat"
)

// lasting describes the problem of a contender whose znode must be removed by
// hand or by a program.
const lasting = "%s is not ephemeral, so no end of a session removes it"

// How long a node must have existed before a missing or duplicate node counts
// as a problem: nodes are read one after the other, not at the same moment
// (settling), and a client that repeats a request cleans up afterwards
// (clearing).
const (
	settling = 2 * time.Second
	clearing = 10 * time.Second
)

// isRecent reports whether at was less than most ago, also if the servers' clock
// is ahead. The looker looks again when the moment is no longer fresh.
func (l *looker) isRecent(at time.Time, most time.Duration) bool {
	if l.now.Sub(at) >= most {
		return false
	}
	if end := at.Add(most); l.until.IsZero() || end.Before(l.until) {
		l.until = end
	}
	return true
}

// findSuspicions finds contenders that may be unknown to their clients.
func (l *looker) findSuspicions(t *Thing) {
	// By protection id and session: a node of another session ends with that
	// session.
	twins := make(map[maker]*Contender, len(t.Queue))
	for _, c := range t.Queue {
		node := l.find(c.Path)
		if node.persistent() {
			c.Odd = "it is not ephemeral: no end of a session removes it"
			t.addProblem(Bad, codeOrphan, c.Path, "orphan: "+lasting, c.Name())
		}
		if id := makerOf(node.name, c.Session); id.id != "" && !node.Denied {
			if first := twins[id]; first != nil && !l.isRecent(c.Entered, clearing) && !l.isRecent(first.Entered, clearing) {
				c.Odd = "it has the protection id of another contender"
				first.Odd = c.Odd
				t.addProblem(Bad, codeOrphan, c.Path, "orphan: %s has two znodes with one protection id: the creation was repeated, and the client does not know one of them", c.Name())
			}
			twins[id] = c
		}
		if string(node.Data) == lockformat.RevokeData {
			t.addProblem(Hint, codeRevocation, c.Path, "another client has asked the contender with number %d to release (Curator's revocation)", c.Seq)
		}
	}
}

// hintAt returns the hint that the contender at the head of a queue may be an
// orphan, or "". hintAt needs the sessions. A contender that was absent, or did
// not hold, at the last look has held only for a moment.
func (w *World) hintAt(t *Thing, past Past, now time.Time) string {
	c := t.Queue[0]
	_, known := past.Holds[c.Tenure()]
	if !known || !c.Holds || c.Odd != "" || past.Began.IsZero() || t.Waiting() == 0 {
		return ""
	}
	since := c.Since
	if since.IsZero() {
		since = c.AtLeast
	}
	if since.IsZero() {
		since = past.Began // at least since then
		if c.Entered.After(since) {
			since = c.Entered
		}
	}
	held := now.Sub(since)
	if held < longHold {
		return ""
	}
	text, rest := "%s has held it for more than %s while %s", ""
	if s := w.Session(c.Session); s != nil && len(s.Holdings) == 1 {
		text, rest = "perhaps an orphan: "+text, ", and its session has nothing else here"
	}
	return fmt.Sprintf(text+"%s", c.Name(), roughDuration(held), formatSeveral(t.Waiting(), "waits", "wait"), rest)
}

// isAwaitable reports whether a thing is a lock with a queue and possible
// waiters.
func isAwaitable(t *Thing) bool {
	return len(t.Queue) > 1 && (t.Kind == Mutex || t.Kind == RWLock || t.Kind == Semaphore)
}

// roughDuration writes a duration in rough steps, so its text seldom changes.
func roughDuration(d time.Duration) string {
	if d < time.Hour {
		return formatCount(int(d/longHold)*int(longHold/time.Minute), "minute")
	}
	return formatCount(int(d/time.Hour), "hour")
}
