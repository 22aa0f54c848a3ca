package dispatch

import (
	"container/heap"
	"time"
)

// scheduler is the master's knowledge: the tasks, the live workers, and the workers that
// have died with tasks assigned. It decides the next moves, and is pure: no clock, no
// requests. News may arrive in any order and more than once: the zxid of the last change
// decides which news is newer.
type scheduler struct {
	tasks   map[string]*entry      // by id
	workers map[string]*workerSlot // of live workers, by id
	classes map[string]*class      // of tasks that wait and are ready, by labels
	wakes   wakeQueue
	backlog *backlog
	// ended are the ended tasks without a move in flight, finished is the number of all
	// ended tasks, and limit is how many of them are kept; 0: all.
	ended    endedTasks
	finished int
	limit    int
	// paused: no task is assigned, and none is recalled.
	paused bool
	// held are the tasks that are assigned, by worker.
	held map[string]map[string]*entry
	// goneWorkers are workers that certainly no longer live, orphans are tasks whose
	// assignment certainly no longer exists.
	goneWorkers, orphans map[string]bool
	// concurrency is the Concurrency of workers, by id, until they are forgotten.
	concurrency map[string]int
	// reserved is a worker that gets no tasks until it has none left: a suspect task
	// waits for the worker.
	reserved *workerSlot
	// owned are the unfinished tasks that are to be canceled when their client leaves,
	// by client.
	owned map[string]map[string]*entry
	// clients are the present clients, goneClients are clients with tasks that are
	// certainly absent.
	clients, goneClients map[string]bool
	turn                 int64 // counts assignments
	tally                tally
	// connection counts the connections of the view. changed are the tasks that the view must
	// read, since they have changed during a move.
	connection int
	changed    []string // by id
	// recallAt is when to decide about recalls again; zero: after the next change.
	recallAt time.Time
}

// entry is a task on the scheduler.
type entry struct {
	seen
	// busy: a move of the task is in flight, so no other move begins.
	busy bool
	// stuck: a move of the task has failed, although the task has not changed. The task
	// is left alone until it changes.
	stuck bool
	// repaired is the mzxid at which missing znodes of the task were recreated, or 0.
	repaired int64
	// idle: the task's worker has died before the task began, as far as the order of the
	// assignments tells.
	idle bool
	// recalled is when the worker was asked to give the task back; zero: never.
	recalled time.Time
	// ready: the task is in its class.
	ready   bool
	at      time.Time
	wakePos int // in wakes; -1 if absent
	linePos int // in its class; -1 if absent
	endPos  int // in ended; -1 if absent
	// events is how many changes of the task the view has heard of while a move was in
	// flight. owed is the connection on which the event of a move of one's own is still to
	// come; 0: none.
	events, owed int
	// waitPos is the place in the tally's waiting tasks, -1 if absent; wanted are the
	// labels of a task that waits.
	waitPos int
	wanted  *wantedLabels
	plain   bool // counted in wanted.plain
}

func newScheduler() *scheduler {
	return &scheduler{
		tasks: map[string]*entry{}, workers: map[string]*workerSlot{}, classes: map[string]*class{},
		held: map[string]map[string]*entry{}, goneWorkers: map[string]bool{}, orphans: map[string]bool{}, concurrency: map[string]int{},
		owned: map[string]map[string]*entry{}, clients: map[string]bool{}, goneClients: map[string]bool{},
		tally: newTally(), backlog: newBacklog(),
	}
}

// putTask tells the scheduler of a task as the view has seen it. A state older than the
// known one is ignored. Only the view adds tasks: see renewTask.
func (sc *scheduler) putTask(t seen) {
	e := sc.tasks[t.ID]
	switch {
	case e == nil:
		e = &entry{wakePos: -1, linePos: -1, endPos: -1, waitPos: -1}
		sc.tasks[t.ID] = e
	case e.mzxid >= t.mzxid:
		return
	default:
		sc.unlinkTask(e)
	}
	e.seen, e.owed = t, 0
	if e.stuck {
		e.stuck, e.busy = false, false
	}
	sc.linkTask(e)
}

// renewTask is putTask for a task that was read outside of the view, or that was just
// written. A task unknown to the scheduler is skipped. If the view has not shown the task
// yet, it will. If the view has dropped the task, the task is gone, and would never be
// dropped a second time.
func (sc *scheduler) renewTask(t seen) {
	if sc.tasks[t.ID] != nil {
		sc.putTask(t)
	}
}

// dropTask tells the scheduler that a task is gone: that one, not a later one of its id.
func (sc *scheduler) dropTask(id string, czxid int64) {
	if e := sc.tasks[id]; e != nil && e.czxid <= czxid {
		sc.unlinkTask(e)
		delete(sc.tasks, id)
	}
}

// linkTask enters a task where it belongs. A task that waits comes to its class when
// its time is looked at.
func (sc *scheduler) linkTask(e *entry) {
	sc.tally.add(e)
	if e.State == assigned {
		addTo(sc.held, e.Worker, e)
		if slot := sc.workers[e.Worker]; slot != nil {
			slot.count(e.record, 1)
		}
	}
	if e.Owner != "" && !e.State.Finished() {
		addTo(sc.owned, e.Owner, e)
	}
	if e.State.Finished() {
		sc.finished++
		heap.Push(&sc.ended, e)
	}
	sc.scheduleWake(e, false)
}

func (sc *scheduler) unlinkTask(e *entry) {
	sc.tally.remove(e)
	if e.State.Finished() {
		sc.finished--
	}
	if e.endPos >= 0 {
		heap.Remove(&sc.ended, e.endPos)
	}
	delete(sc.orphans, e.ID)
	e.idle, e.recalled = false, time.Time{}
	if e.State == assigned {
		removeFrom(sc.held, e.Worker, e)
		if slot := sc.workers[e.Worker]; slot != nil {
			slot.count(e.record, -1)
		}
	}
	if e.Owner != "" {
		removeFrom(sc.owned, e.Owner, e)
		if len(sc.owned[e.Owner]) == 0 {
			delete(sc.goneClients, e.Owner)
		}
	}
	sc.leaveLine(e)
	if e.wakePos >= 0 {
		heap.Remove(&sc.wakes, e.wakePos)
	}
}

// scheduleWake sets when to look at a task next.
func (sc *scheduler) scheduleWake(e *entry, ready bool) {
	if e.wakePos >= 0 {
		heap.Remove(&sc.wakes, e.wakePos)
	}
	at, ever := e.wakeTime(ready)
	if ever && !e.busy {
		e.at = at
		heap.Push(&sc.wakes, e)
	}
}

// seizeTask takes a task out of everything that is to be done, until it is released.
func (sc *scheduler) seizeTask(e *entry) {
	e.busy = true
	sc.leaveLine(e)
	if e.wakePos >= 0 {
		heap.Remove(&sc.wakes, e.wakePos)
	}
}

// releaseTask ends what was done about a task, if it is still there.
func (sc *scheduler) releaseTask(id string) {
	if e := sc.tasks[id]; e != nil && e.busy && !e.stuck {
		e.busy = false
		if e.State.Finished() && e.endPos < 0 {
			heap.Push(&sc.ended, e)
		}
		sc.scheduleWake(e, false)
	}
}

// addClient tells the scheduler that a client is present, removeClient that it surely is not
// any more. Its id never comes back.
func (sc *scheduler) addClient(id string) { sc.clients[id] = true }

func (sc *scheduler) removeClient(id string) {
	delete(sc.clients, id)
	if len(sc.owned[id]) > 0 {
		sc.goneClients[id] = true
	}
}

// rejectMove tells the scheduler that m has failed, though the task is as m has it: with
// orphan since its assignment does not exist, otherwise for reasons unknown.
func (sc *scheduler) rejectMove(m move, orphan bool) {
	e := sc.tasks[m.task.ID]
	if e == nil || e.mzxid != m.task.mzxid {
		return // it has changed, so m was out of date
	}
	if orphan && !e.orphan {
		sc.markOrphan(e)
		return
	}
	e.stuck = true
	sc.tally.noteUnassignable(e)
}

// noteRepair tells the scheduler that the znodes that m has missed were created again. It is
// false when that was done before, in vain.
func (sc *scheduler) noteRepair(m move) bool {
	e := sc.tasks[m.task.ID]
	if e == nil || e.repaired == e.mzxid {
		return e == nil
	}
	e.repaired = e.mzxid
	return true
}

// markOrphan tells the scheduler that a task's assignment does not exist.
func (sc *scheduler) markOrphan(e *entry) {
	e.orphan = true
	sc.orphans[e.ID] = true
}

func addTo(m map[string]map[string]*entry, key string, e *entry) {
	if m[key] == nil {
		m[key] = map[string]*entry{}
	}
	m[key][e.ID] = e
}

func removeFrom(m map[string]map[string]*entry, key string, e *entry) {
	delete(m[key], e.ID)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
