package recognize

import "time"

// lasting is what is wrong with a contender that a person or a program without
// ZooKeeper's help must remove.
const lasting = "%s is not ephemeral, so no end of a session removes it"

// How long something must have been there before it counts that another thing is
// not, or that it is there twice: what nodes say was read one after the other, not
// at one moment (settling), and who repeats a request clears up behind it
// (clearing).
const (
	settling = 2 * time.Second
	clearing = 10 * time.Second
)

// fresh reports whether that was just now, also if the servers' clock is ahead.
func (l *looker) fresh(at time.Time, most time.Duration) bool { return l.now.Sub(at) < most }

// suspicions finds contenders of whom perhaps nobody knows.
func (l *looker) suspicions(t *Thing) {
	// By protection id and session: a node of another session goes with that.
	type maker struct {
		id      string
		session SessionID
	}
	twins := make(map[maker]*Contender, len(t.Queue))
	for _, c := range t.Queue {
		node := l.spots[c.Path]
		if node.persistent() {
			c.Odd = "it is not ephemeral: no end of a session removes it"
			t.problem(Bad, c.Path, "orphan: "+lasting, c.Name())
		}
		if id := (maker{protection(node.name), c.Session}); id.id != "" && !node.Denied {
			if first := twins[id]; first != nil && !l.fresh(c.Entered, clearing) && !l.fresh(first.Entered, clearing) {
				c.Odd = "it has the protection id of another"
				first.Odd = c.Odd
				t.problem(Bad, c.Path, "orphan: %s is here twice with one protection id: its creation was repeated, and nobody knows of one of them", c.Name())
			}
			twins[id] = c
		}
		if string(node.Data) == revoked {
			t.problem(Hint, c.Path, "somebody has asked the contender with number %d to release (Curator's revocation)", c.Seq)
		}
	}
}

// hints looks for contenders at the head of a queue that may be there for no
// reason. It needs the sessions, which are known at last. Who was not there, or did
// not hold, at the last look has it but for a moment.
func (w *World) hints(past Past, now time.Time) {
	for _, t := range w.Things {
		if t.Kind != Mutex && t.Kind != RWLock && t.Kind != Semaphore || len(t.Queue) == 0 || t.Waiting() == 0 {
			continue
		}
		c := t.Queue[0]
		_, known := past.Holds[c.Tenure()]
		if !known || !c.Holds || c.Odd != "" || past.Began.IsZero() {
			continue
		}
		since := c.Since
		if since.IsZero() {
			since = past.Began // at least since then
			if c.Entered.After(since) {
				since = c.Entered
			}
		}
		held := now.Sub(since)
		if held < longHold {
			continue
		}
		text, rest := "%s has held it for more than %s while %s", ""
		if s := w.Session(c.Session); s != nil && len(s.Holdings) == 1 {
			text, rest = "perhaps an orphan: "+text, ", and its session has nothing else here"
		}
		t.problem(Hint, c.Path, text+"%s", c.Name(), roughly(held), several(t.Waiting(), "waits", "wait"), rest)
	}
}

// roughly is a duration that seldom becomes another.
func roughly(d time.Duration) string {
	if d < time.Hour {
		return count(int(d/longHold)*int(longHold/time.Minute), "minute")
	}
	return count(int(d/time.Hour), "hour")
}
