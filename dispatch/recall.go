package dispatch

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// A worker has prefetched tasks that it has not begun while another worker has nothing to
// do. The master then names these tasks in the folder of the first worker. Only the
// worker knows which tasks it has begun, since the beginning of a task is not written. So
// the worker gives back the tasks that it has not begun, in the usual transaction, and
// ignores the other names. Only the worker itself ends the assignments of a live worker,
// so no task is begun twice.
//
// Rejected: the master sets the task to waiting itself. A worker that begins the task at
// that moment would have to be told of it by a write of its own for each task.

const (
	// recallAfter is how long a task must have been assigned before it is recalled. A
	// worker with quick tasks begins its next tasks sooner than another worker could.
	recallAfter = 250 * time.Millisecond
	// recallWait is how long a worker may take to give recalled tasks back. A worker
	// that does not answer does not delay the recall of other workers' tasks.
	recallWait = 5 * time.Second
	// maxRecalled is how many tasks of a worker are recalled at a time.
	maxRecalled = 512
)

// recall names the tasks that a worker must give back, unless it has begun them.
type recall struct {
	worker  string
	serials []string // of the assignments
}

// serialOf is the serial in the name of an assignment.
func serialOf(name string) string { return name[strings.LastIndexByte(name, '-')+1:] }

// rebalancing is one decision about which tasks to recall. It counts the loads that the
// workers will have after the recalled tasks have moved.
type rebalancing struct {
	takers, donors []*workerSlot
	loads          map[*workerSlot]int
	// spare are the tasks of each donor that may be recalled; the next task is last.
	spare    map[*workerSlot][]*entry
	recalled map[*workerSlot]int
}

// planRecalls decides which tasks to recall, after all tasks that could be assigned were
// assigned. The master calls it again at recallAt, if recallAt is set. While the queue is
// paused, no other worker would get the tasks.
func (sc *scheduler) planRecalls(now time.Time) (out []recall) {
	if now.Before(sc.recallAt) {
		return nil
	}
	sc.recallAt = time.Time{}
	if sc.paused {
		return nil
	}
	x := sc.findIdle()
	if len(x.takers) == 0 || len(x.donors) == 0 {
		return nil
	}
	sc.recallAt = now.Add(recallAfter) // to look at all tasks takes its time
	asked := map[*workerSlot]bool{}
	sc.findSpare(x, now)
	for {
		e, slot := x.nextRecall()
		if e == nil {
			break
		}
		e.recalled, asked[slot] = now, true
	}
	for _, slot := range x.donors {
		if !asked[slot] {
			continue
		}
		r := recall{worker: slot.id}
		for _, e := range sc.inOrder(slot.id) {
			if !e.recalled.IsZero() {
				r.serials = append(r.serials, serialOf(e.Assignment))
			}
		}
		out = append(out, r)
	}
	return out
}

// findIdle finds the workers with an idle handler, and the workers with more tasks than
// handlers.
func (sc *scheduler) findIdle() *rebalancing {
	x := &rebalancing{loads: map[*workerSlot]int{}, spare: map[*workerSlot][]*entry{}, recalled: map[*workerSlot]int{}}
	for _, id := range slices.Sorted(maps.Keys(sc.workers)) {
		slot := sc.workers[id]
		x.loads[slot] = slot.load
		switch {
		case slot.Draining || slot.suspects > 0 || slot == sc.reserved:
		case slot.load < slot.Concurrency:
			x.takers = append(x.takers, slot)
		case slot.load > slot.Concurrency:
			x.donors = append(x.donors, slot)
		}
	}
	return x
}

// findSpare finds the tasks that donors have not begun, as far as the order of the
// assignments tells: see scheduler.removeWorker. Tasks that were recalled before count as
// given to takers.
func (sc *scheduler) findSpare(x *rebalancing, now time.Time) {
	for _, slot := range x.donors {
		list := sc.inOrder(slot.id)
		for _, e := range list[min(slot.Concurrency, len(list)):] {
			switch {
			case e.busy || e.orphan || e.isSuspect():
			case !e.recalled.IsZero():
				x.recalled[slot]++
				if to := x.takerOf(e); to != nil && now.Before(e.recalled.Add(recallWait)) {
					x.loads[slot]--
					x.loads[to]++
				}
			case now.Before(e.mtime.Add(recallAfter)): // it may be begun soon
			default:
				x.spare[slot] = append(x.spare[slot], e)
			}
		}
	}
}

// nextRecall returns the next task to recall and the worker that has it; nil at the end.
func (x *rebalancing) nextRecall() (*entry, *workerSlot) {
	for {
		var from *workerSlot
		for _, slot := range x.donors {
			if len(x.spare[slot]) > 0 && (from == nil || x.loads[slot]*from.Concurrency > x.loads[from]*slot.Concurrency) {
				from = slot
			}
		}
		if from == nil {
			return nil, nil
		}
		last := len(x.spare[from]) - 1
		e := x.spare[from][last]
		x.spare[from] = x.spare[from][:last]
		to := x.takerOf(e)
		if to == nil || x.recalled[from] == maxRecalled || (x.loads[to]+1)*from.Concurrency > (x.loads[from]-1)*to.Concurrency {
			continue // moving the task would not even out the loads
		}
		x.recalled[from]++
		x.loads[from]--
		x.loads[to]++
		return e, from
	}
}

// takerOf returns the taker with the smallest load among the takers that can have a
// task.
func (x *rebalancing) takerOf(e *entry) (best *workerSlot) {
	for _, slot := range x.takers {
		if x.loads[slot] < slot.Concurrency+slot.Prefetch && hasAll(slot.Labels, e.Labels) &&
			(best == nil || x.loads[slot]*best.Concurrency < x.loads[best]*slot.Concurrency) {
			best = slot
		}
	}
	return best
}
