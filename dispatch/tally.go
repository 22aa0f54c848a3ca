package dispatch

import (
	"container/heap"
	"maps"
	"strings"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
)

// tally counts the tasks of the scheduler as they come, change and go, so that a summary
// never takes a pass over all tasks.
type tally struct {
	states map[taskformat.State]int
	// waiting are the waiting tasks, busy or not, the oldest first.
	waiting waitingTasks
	// wanted are the label lists of the waiting tasks.
	wanted map[string]*wantedLabels
	// unreadable are the paths of tasks whose records this version cannot read.
	unreadable map[string]bool
}

// wantedLabels counts the waiting tasks with the same labels.
type wantedLabels struct {
	key    string
	labels []string
	tasks  int
	plain  int // of tasks, those that are ready as soon as they are looked at, and can be assigned
}

func newTally() tally {
	return tally{states: map[taskformat.State]int{}, wanted: map[string]*wantedLabels{}, unreadable: map[string]bool{}}
}

// add counts a task.
func (ta *tally) add(e *entry) {
	ta.states[e.State]++
	if e.State != waiting {
		return
	}
	heap.Push(&ta.waiting, e)
	key := strings.Join(e.Labels, "\x00")
	w := ta.wanted[key]
	if w == nil {
		w = &wantedLabels{key: key, labels: e.Labels}
		ta.wanted[key] = w
	}
	w.tasks++
	e.wanted = w
	if e.plain = e.isPlain(); e.plain {
		w.plain++
	}
}

// noteUnassignable notes that a task that waits cannot be assigned.
func (ta *tally) noteUnassignable(e *entry) {
	if e.plain && e.wanted != nil {
		e.wanted.plain--
	}
	e.plain = false
}

// remove takes a task out that was counted and has not changed since.
func (ta *tally) remove(e *entry) {
	state := e.State
	if ta.states[state]--; ta.states[state] == 0 {
		delete(ta.states, state)
	}
	if e.waitPos >= 0 {
		heap.Remove(&ta.waiting, e.waitPos)
	}
	if w := e.wanted; w != nil {
		ta.noteUnassignable(e)
		if w.tasks--; w.tasks == 0 {
			delete(ta.wanted, w.key)
		}
		e.wanted = nil
	}
}

// noteRecord notes whether the record on the path of a task can be read.
func (ta *tally) noteRecord(path string, readable bool) {
	if readable {
		delete(ta.unreadable, path)
	} else {
		ta.unreadable[path] = true
	}
}

// countTasks is the summary of the queue. A summary costs as much as there are different
// lists of labels among the waiting tasks, times workers.
func (sc *scheduler) countTasks() counts {
	out := counts{Format: format, Tasks: maps.Clone(sc.tally.states), Unreadable: len(sc.tally.unreadable)}
	if len(sc.tally.waiting) > 0 {
		out.Oldest = sc.tally.waiting[0].Submitted
	}
	if n := sc.backlog.count(); n > 0 {
		out.Tasks[waiting] += n
		if at, _ := sc.backlog.oldestSubmission(); out.Oldest.IsZero() || at.Before(out.Oldest) {
			out.Oldest = at
		}
	}
	for _, w := range sc.tally.wanted {
		if !sc.hasWorkerFor(w.labels) {
			out.Unmatched += w.tasks
		}
	}
	for _, c := range sc.backlog.classes {
		if !sc.hasWorkerFor(c.labels) {
			out.Unmatched += len(c.turn) + c.coming
		}
	}
	return out
}

// hasWorkerFor reports whether a worker can be given a task with these labels, now or when
// it has room: see WorkerInfo.CanTake.
func (sc *scheduler) hasWorkerFor(labels []string) bool {
	for _, slot := range sc.workers {
		if !slot.Draining && hasAll(slot.Labels, labels) {
			return true
		}
	}
	return false
}

// waitingTasks are waiting tasks, first the task that was submitted first.
type waitingTasks = ordered[byAge]

type byAge struct{}

func (byAge) before(a, b *entry) bool { return a.Submitted.Before(b.Submitted) }
func (byAge) place(e *entry) *int     { return &e.waitPos }

// pace spreads writes: at most one per period on average. Up to burst of them may follow
// each other at once after a rest.
type pace struct {
	// next is when the next write is due. Writes that were made early move it on.
	next time.Time
}

const (
	// countsPeriod is the average time between two publications of the counts, at least.
	countsPeriod = time.Second
	// countsBurst is how many publications may follow each other at once. A task of a
	// quiet queue takes three: it waits or is assigned, it has ended, it is collected.
	countsBurst = 4
)

// earliest is when a write may be made: early says that it is made before it is due.
func (p *pace) earliest(early bool) time.Time {
	if early {
		return p.next.Add(-(countsBurst - 1) * countsPeriod)
	}
	return p.next
}

// noteWrite counts a write.
func (p *pace) noteWrite(now time.Time) {
	if p.next.Before(now) {
		p.next = now
	}
	p.next = p.next.Add(countsPeriod)
}
