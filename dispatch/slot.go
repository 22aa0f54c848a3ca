package dispatch

import (
	"container/heap"
	"maps"
	"slices"
	"strings"
)

// suspectAfter is after how many deaths of its worker a task is a suspect: it is given
// to a worker that has no other task, which gets no other task then. If it kills that one
// too, it is alone.
const suspectAfter = 2

func (r record) isSuspect() bool { return r.Deaths >= suspectAfter }

// workerSlot is a live worker on the scheduler.
type workerSlot struct {
	id string
	profile
	// load is the number of its tasks, suspects the number of its tasks that are to be
	// alone.
	load, suspects int
	last           int64 // the turn in which it was given a task last
}

// class is the queue of the tasks that want the same labels. Suspects have classes of
// their own.
type class struct {
	labels  []string
	suspect bool
	ready   readyTasks
}

// classKey tells classes apart; no label has a zero byte at its beginning and none is
// empty.
func classKey(e *entry) string {
	key := strings.Join(e.Labels, "\x00")
	if e.isSuspect() {
		key = "\x00" + key
	}
	return key
}

// enterLine puts a task into the queue of its class.
func (sc *scheduler) enterLine(e *entry) {
	key := classKey(e)
	c := sc.classes[key]
	if c == nil {
		c = &class{labels: e.Labels, suspect: e.isSuspect()}
		sc.classes[key] = c
	}
	heap.Push(&c.ready, e)
	e.ready = true
}

func (sc *scheduler) leaveLine(e *entry) {
	if !e.ready {
		return
	}
	key := classKey(e)
	c := sc.classes[key]
	heap.Remove(&c.ready, e.linePos)
	if len(c.ready) == 0 {
		delete(sc.classes, key)
	}
	e.ready = false
}

// addWorker tells the scheduler that a worker lives, with its profile.
func (sc *scheduler) addWorker(id string, p profile) {
	if sc.goneWorkers[id] {
		return // old news
	}
	slot := sc.workers[id]
	if slot == nil {
		slot = sc.enterWorker(id)
	}
	slot.profile = p
	sc.concurrency[id] = p.Concurrency
}

// enterWorker makes the slot of a worker, with the tasks that the worker has.
func (sc *scheduler) enterWorker(id string) *workerSlot {
	slot := &workerSlot{id: id}
	for _, e := range sc.held[id] {
		slot.count(e.record, 1)
	}
	sc.workers[id] = slot
	return slot
}

// addUnreadable tells the scheduler that a worker lives whose data cannot be read, such as
// data of a newer format: it keeps the tasks that it has, and gets no others.
func (sc *scheduler) addUnreadable(id string) {
	if sc.workers[id] == nil && !sc.goneWorkers[id] {
		sc.enterWorker(id).Draining = true
	}
}

// removeWorker tells the scheduler that a worker is gone. The id of the worker never comes
// back.
//
// A worker begins its tasks in the order of their assignment, and as many at a time as
// it has slots. So when a worker of n slots is gone, its first n tasks may have begun
// and the others have not: no write is needed when a task begins. A worker that has
// seen its assignments in another order, after a lost connection, may have begun a
// later task: that attempt is not counted.
func (sc *scheduler) removeWorker(id string) {
	slots, known := sc.concurrency[id]
	if !sc.goneWorkers[id] && known {
		list := sc.inOrder(id)
		for _, e := range list[min(slots, len(list)):] {
			e.idle = true
		}
	}
	if sc.reserved != nil && sc.reserved.id == id {
		sc.reserved = nil
	}
	delete(sc.workers, id)
	sc.goneWorkers[id] = true
}

// inOrder are the tasks of a worker in the order in which they were given to it.
func (sc *scheduler) inOrder(worker string) []*entry {
	return slices.SortedFunc(maps.Values(sc.held[worker]), func(x, y *entry) int {
		return compareAssignments(x.mzxid, x.Assignment, y.mzxid, y.Assignment)
	})
}

// forgetWorker forgets a worker that has left nothing behind.
func (sc *scheduler) forgetWorker(id string) {
	delete(sc.goneWorkers, id)
	delete(sc.concurrency, id)
}

// count adds the task n times to the worker's load.
func (slot *workerSlot) count(task record, n int) {
	slot.load += n
	if task.isSuspect() {
		slot.suspects += n
	}
}

// canTake reports whether the worker has all labels that the class wants, and room.
func (slot *workerSlot) canTake(c *class) bool {
	if slot.Draining || slot.suspects > 0 || slot.load >= slot.Concurrency+slot.Prefetch || c.suspect && slot.load > 0 {
		return false
	}
	return slot.hasLabelsOf(c)
}

// hasLabelsOf reports whether the worker has all labels that the class wants.
func (slot *workerSlot) hasLabelsOf(c *class) bool { return hasAll(slot.Labels, c.labels) }

// before reports whether d is to be given the next task rather than o: it has the
// smaller load for each of its handlers, or it has waited longer.
func (slot *workerSlot) before(o *workerSlot) bool {
	if x, y := slot.load*o.Concurrency, o.load*slot.Concurrency; x != y {
		return x < y
	}
	if slot.last != o.last {
		return slot.last < o.last
	}
	return slot.id < o.id
}

// reserveWorker keeps a worker for a class of suspects that no worker fits: the worker with
// the fewest tasks, until these have ended.
func (sc *scheduler) reserveWorker(c *class) {
	if sc.reserved != nil && sc.workers[sc.reserved.id] == sc.reserved && !sc.reserved.Draining && sc.reserved.hasLabelsOf(c) {
		return
	}
	sc.reserved = nil
	for _, slot := range sc.workers {
		if !slot.Draining && slot.suspects == 0 && slot.hasLabelsOf(c) && (sc.reserved == nil || slot.before(sc.reserved)) {
			sc.reserved = slot
		}
	}
}

// dropReservation gives a worker back that no suspect waits for.
func (sc *scheduler) dropReservation() {
	for _, c := range sc.classes {
		if c.suspect {
			return
		}
	}
	sc.reserved = nil
}
