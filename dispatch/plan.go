package dispatch

import (
	"container/heap"
	"maps"
	"slices"
	"time"
)

// kind is the kind of a move.
type kind int

const (
	giveTask   kind = iota // to a worker
	retryTask              // its worker has died
	endTask                // its deadline has passed, or its owner is gone
	removeTask             // its retention is over
)

// move is a change of a task that the master must make. The task is seized until the outcome
// is known.
type move struct {
	kind kind
	task seen
	// next is the task after the move; unset for removeTask.
	next record
	// connection is that of the view when the move was planned.
	connection int
}

// deadText is the failure of an attempt whose worker has died.
const (
	deadText     = "the worker has died"
	orphanText   = "the assignment was deleted by hand"
	deadlineText = "the deadline has passed"
	ownerText    = "canceled: the client has gone"
)

// planMoves decides the moves of this moment, at most max, and seizes their tasks. serial
// returns the unique serial of a new assignment.
func (sc *scheduler) planMoves(now time.Time, max int, serial func() string) []move {
	var out []move
	out = sc.planDue(now, max, out)
	out = sc.planEvictions(max, out)
	out = sc.planLosses(now, max, out)
	return sc.planAssignments(now, max, out, serial)
}

// planDue looks at the tasks whose time has come.
func (sc *scheduler) planDue(now time.Time, max int, out []move) []move {
	for len(sc.wakes) > 0 && len(out) < max && !sc.wakes[0].at.After(now) {
		e := heap.Pop(&sc.wakes).(*entry)
		switch {
		case e.State.Finished():
			out = append(out, sc.seizeFor(e, move{kind: removeTask}))
		case e.isLate(now):
			out = append(out, sc.seizeFor(e, move{kind: endTask, next: e.endedAs(failed, deadlineText, now)}))
		case e.State == waiting:
			sc.enterLine(e) // it was not in line; its next wake is at its deadline
			sc.scheduleWake(e, true)
		}
	}
	return out
}

// planEvictions removes ended tasks beyond the limit.
func (sc *scheduler) planEvictions(max int, out []move) []move {
	for sc.limit > 0 && len(sc.ended) > sc.limit && len(out) < max {
		if e := heap.Pop(&sc.ended).(*entry); !e.busy {
			out = append(out, sc.seizeFor(e, move{kind: removeTask}))
		}
	}
	return out
}

// countActive is how many tasks have not ended.
func (sc *scheduler) countActive() int { return len(sc.tasks) - sc.finished + sc.backlog.count() }

// planLosses looks at the tasks whose worker, or client, is gone.
func (sc *scheduler) planLosses(now time.Time, max int, out []move) []move {
	for _, id := range sc.tasksOfGone(sc.goneWorkers, sc.held) {
		e := sc.tasks[id]
		if len(out) < max && !e.busy {
			out = append(out, sc.seizeFor(e, move{kind: retryTask, next: e.afterWorkerDeath(now)}))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(sc.orphans)) {
		if e := sc.tasks[id]; len(out) < max && !e.busy {
			out = append(out, sc.seizeFor(e, move{kind: retryTask, next: e.afterFailure(orphanText, 0, now)}))
		}
	}
	for _, id := range sc.tasksOfGone(sc.goneClients, sc.owned) {
		e := sc.tasks[id]
		if len(out) < max && !e.busy {
			out = append(out, sc.seizeFor(e, move{kind: endTask, next: e.endedAs(canceled, ownerText, now)}))
		}
	}
	return out
}

// tasksOfGone are the tasks, in order, whose worker or client is gone.
func (sc *scheduler) tasksOfGone(gone map[string]bool, of map[string]map[string]*entry) []string {
	var out []string
	for task := range gone {
		for task := range of[task] {
			out = append(out, task)
		}
	}
	slices.Sort(out)
	return out
}

// planAssignments gives tasks that are ready to workers that have room.
func (sc *scheduler) planAssignments(now time.Time, max int, out []move, serial func() string) []move {
	blocked := map[*class]bool{}
	for len(out) < max && !sc.paused {
		c := sc.nextClass(blocked)
		if c == nil {
			sc.dropReservation()
			return out
		}
		slot := sc.slotFor(c)
		if slot == nil {
			blocked[c] = true
			if c.suspect {
				sc.reserveWorker(c)
			}
			continue
		}
		e := c.ready[0]
		if sc.isOutrun(e) {
			return out
		}
		if c.suspect {
			sc.reserved = nil
		}
		sc.turn++
		slot.last = sc.turn
		slot.count(e.record, 1) // undone when the outcome is known: the task itself counts then
		out = append(out, sc.seizeFor(e, move{kind: giveTask, next: e.givenTo(slot.id, serial(), now)}))
	}
	return out
}

// nextClass is the class whose first task precedes all other ready tasks.
func (sc *scheduler) nextClass(blocked map[*class]bool) *class {
	var best *class
	for _, c := range sc.classes {
		if !blocked[c] && (best == nil || c.ready[0].precedes(best.ready[0])) {
			best = c
		}
	}
	return best
}

// slotFor is the worker that gets the class's next task; nil if no worker fits.
func (sc *scheduler) slotFor(c *class) *workerSlot {
	var best *workerSlot
	for _, slot := range sc.workers {
		if slot.canTake(c) && (slot != sc.reserved || c.suspect) && (best == nil || slot.before(best)) {
			best = slot
		}
	}
	return best
}

func (sc *scheduler) seizeFor(e *entry, m move) move {
	sc.seizeTask(e)
	m.task, m.connection = e.seen, sc.connection
	return m
}

// settleMove tells the scheduler that the outcome of a move is known, and has been put.
func (sc *scheduler) settleMove(m move) {
	if slot := sc.workers[m.next.Worker]; m.kind == giveTask && slot != nil {
		slot.count(m.task.record, -1)
	}
	sc.releaseTask(m.task.ID)
	sc.endEvents(m.task.ID)
}

// nextWake is the time of the next move that no news announces; false: never.
func (sc *scheduler) nextWake() (time.Time, bool) {
	at, ever := sc.recallAt, !sc.recallAt.IsZero()
	if len(sc.wakes) > 0 && (!ever || sc.wakes[0].at.Before(at)) {
		at, ever = sc.wakes[0].at, true
	}
	return at, ever
}

// unconfirmedWorkers are workers with tasks that the scheduler does not know to live: the
// master must read whether they live.
func (sc *scheduler) unconfirmedWorkers() []string {
	var out []string
	for id := range sc.held {
		if sc.workers[id] == nil && !sc.goneWorkers[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// unconfirmedClients are clients with attached tasks that the scheduler does not know to be
// present: the master must read whether they are.
func (sc *scheduler) unconfirmedClients() []string {
	var out []string
	for id := range sc.owned {
		if !sc.clients[id] && !sc.goneClients[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// emptiedWorkers are gone workers without tasks.
func (sc *scheduler) emptiedWorkers() []string {
	var out []string
	for id := range sc.goneWorkers {
		if len(sc.held[id]) == 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// missingAssignments are the worker's tasks, as the scheduler knows them, whose assignments
// are not among names.
func (sc *scheduler) missingAssignments(worker string, names []string) map[string]int64 {
	out, there := map[string]int64{}, map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	for id, e := range sc.held[worker] {
		if !e.busy && !e.orphan && !there[e.Assignment] {
			out[id] = e.mzxid
		}
	}
	return out
}
