package dispatch

import (
	"slices"
)

// The scheduler has the ready tasks whose turn comes next, and the backlog has the others.

// showTask is putTask for a task that the view has read: a plain task goes to the backlog if
// its turn comes later than that of the tasks there, unless it is due.
func (sc *scheduler) showTask(t seen, due bool) {
	if sc.tasks[t.ID] == nil && !due && t.isPlain() && sc.backlog.takesLater(&t) {
		sc.backlog.put(&t)
		return
	}
	sc.backlog.dropTask(t.ID)
	sc.putTask(t)
	if t.State == waiting && sc.windowOf(labelsKey(t.Labels)) > highWindow {
		sc.spill(labelsKey(t.Labels))
	}
}

// windowOf is the number of plain tasks of a class on the scheduler.
func (sc *scheduler) windowOf(key string) int {
	if w := sc.tally.wanted[key]; w != nil {
		return w.plain
	}
	return 0
}

// spill moves the tasks of a class that come last to the backlog: half of them.
func (sc *scheduler) spill(key string) {
	var list []*entry
	for _, e := range sc.tally.waiting {
		if e.wanted.key == key && !e.busy && !e.stuck && !e.orphan && e.isPlain() {
			list = append(list, e)
		}
	}
	if len(list) < highWindow/2 {
		return // the others have to stay
	}
	slices.SortFunc(list, func(a, b *entry) int {
		if a.precedes(b) {
			return -1
		}
		return 1
	})
	for _, e := range list[len(list)/2:] {
		sc.unlinkTask(e)
		delete(sc.tasks, e.ID)
		sc.backlog.put(&e.seen)
	}
}

// isOutrun reports whether a task of the backlog comes before e, and a worker has room for
// it: the task is being read, and e waits for that.
func (sc *scheduler) isOutrun(e *entry) bool {
	for _, c := range sc.backlog.classes {
		if c.next().before(e.turn()) && sc.slotFor(&class{labels: c.labels}) != nil {
			return true
		}
	}
	return false
}

// needsTasks reports whether tasks of the backlog must be read.
func (sc *scheduler) needsTasks() bool {
	for _, c := range sc.backlog.classes {
		if sc.needsTasksOf(c) {
			return true
		}
	}
	return false
}

func (sc *scheduler) needsTasksOf(c *backlogClass) bool {
	return len(c.turn) > 0 && c.coming == 0 && sc.windowOf(c.key) < lowWindow
}

// A move of the master changes its task, and the view hears of that. Nothing needs to be read
// then: the reply to the move has the new state. Each change makes one event, on the connection
// on which the reply comes, and before the reply. So of the events since a move was sent, or the
// first event after its reply, one is its own; which one does not matter, since the last event
// leads to a read.

// skipsEvent reports whether the event of a change needs no read, now.
func (sc *scheduler) skipsEvent(id string) bool {
	e := sc.tasks[id]
	switch {
	case e == nil:
		return false
	case e.busy && !e.stuck:
		e.events++
		return true
	}
	owed := e.owed == sc.connection
	e.owed = 0
	return owed
}

// noteOwnChange notes that a move has changed a task: connection is that on which the move was
// sent.
func (sc *scheduler) noteOwnChange(id string, connection int) {
	e := sc.tasks[id]
	switch {
	case e == nil:
	case e.events > 0:
		e.events--
	default:
		e.owed = connection
	}
}

// endEvents has a task read again that has changed during a move.
func (sc *scheduler) endEvents(id string) {
	if e := sc.tasks[id]; e != nil && e.events > 0 {
		e.events = 0
		sc.changed = append(sc.changed, id)
	}
}
