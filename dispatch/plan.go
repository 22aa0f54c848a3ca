package dispatch

import (
	"container/heap"
	"maps"
	"slices"
	"time"
)

// kind says what a move does.
type kind int

const (
	giveTask   kind = iota // to a worker
	retryTask              // its worker has died
	endTask                // its deadline has passed, or its owner is gone
	removeTask             // its retention is over
)

// move is something that the master is to do about a task. The task is seized until
// then.
type move struct {
	kind kind
	task seen
	// next is the task after it; nothing for removeTask.
	next record
}

// deadText is the failure of an attempt whose worker has died.
const (
	deadText     = "the worker has died"
	orphanText   = "somebody has deleted the assignment"
	deadlineText = "the deadline has passed"
	ownerText    = "canceled: the client has gone"
)

// plan decides what is to be done at this moment, at most max moves, and seizes the
// tasks that are concerned. serial makes what tells assignments apart.
func (b *board) plan(now time.Time, max int, serial func() string) []move {
	var out []move
	out = b.due(now, max, out)
	out = b.bereaved(now, max, out)
	return b.assign(now, max, out, serial)
}

// due looks at the tasks whose time has come.
func (b *board) due(now time.Time, max int, out []move) []move {
	for len(b.wakes) > 0 && len(out) < max && !b.wakes[0].at.After(now) {
		e := heap.Pop(&b.wakes).(*entry)
		switch {
		case e.State.Finished():
			out = append(out, b.seized(e, move{kind: removeTask}))
		case e.late(now):
			out = append(out, b.seized(e, move{kind: endTask, next: e.ended(failed, deadlineText, now)}))
		case e.State == waiting:
			b.enterLine(e) // it was not in line: then its time is its deadline
			b.arm(e, true)
		}
	}
	return out
}

// bereaved looks at the tasks whose worker, or client, is gone.
func (b *board) bereaved(now time.Time, max int, out []move) []move {
	for _, id := range b.doomed(b.gone, b.held) {
		e := b.tasks[id]
		if len(out) < max && !e.busy {
			out = append(out, b.seized(e, move{kind: retryTask, next: e.attempted(deadText, 0, now)}))
		}
	}
	for _, id := range slices.Sorted(maps.Keys(b.orphans)) {
		if e := b.tasks[id]; len(out) < max && !e.busy {
			out = append(out, b.seized(e, move{kind: retryTask, next: e.attempted(orphanText, 0, now)}))
		}
	}
	for _, id := range b.doomed(b.left, b.owned) {
		e := b.tasks[id]
		if len(out) < max && !e.busy {
			out = append(out, b.seized(e, move{kind: endTask, next: e.ended(canceled, ownerText, now)}))
		}
	}
	return out
}

// doomed are the tasks, in order, of those that are gone.
func (b *board) doomed(gone map[string]bool, of map[string]map[string]*entry) []string {
	var out []string
	for who := range gone {
		for id := range of[who] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// assign gives tasks that are ready to workers that have room.
func (b *board) assign(now time.Time, max int, out []move, serial func() string) []move {
	blocked := map[*class]bool{}
	for len(out) < max {
		c := b.nextClass(blocked)
		if c == nil {
			return out
		}
		d := b.seatFor(c)
		if d == nil {
			blocked[c] = true
			continue
		}
		e := c.line[0]
		b.turn++
		d.last = b.turn
		d.load++ // taken back when the outcome is known: the task itself counts then
		out = append(out, b.seized(e, move{kind: giveTask, next: e.given(d.id, serial(), now)}))
	}
	return out
}

// nextClass is the class whose first task is ahead of all others.
func (b *board) nextClass(blocked map[*class]bool) *class {
	var best *class
	for _, c := range b.classes {
		if !blocked[c] && (best == nil || c.line[0].ahead(best.line[0])) {
			best = c
		}
	}
	return best
}

// seatFor is the worker that is to have the class's next task; nil if none fits.
func (b *board) seatFor(c *class) *seat {
	var best *seat
	for _, d := range b.desks {
		if d.fits(c) && (best == nil || d.before(best)) {
			best = d
		}
	}
	return best
}

func (b *board) seized(e *entry, m move) move {
	b.seize(e)
	m.task = e.seen
	return m
}

// settle tells the board that the outcome of a move is known, and has been put.
func (b *board) settle(m move) {
	if d := b.desks[m.next.Worker]; m.kind == giveTask && d != nil {
		d.load--
	}
	b.release(m.task.ID)
}

// next is when something is to be done that no news brings; false: never.
func (b *board) next() (time.Time, bool) {
	if len(b.wakes) == 0 {
		return time.Time{}, false
	}
	return b.wakes[0].at, true
}

// lost are workers that have tasks and do not live, as far as the board knows:
// whether that is so must be asked.
func (b *board) lost() []string {
	var out []string
	for id := range b.held {
		if b.desks[id] == nil && !b.gone[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// strays are clients that tasks go with and that are not there, as far as the board
// knows: whether that is so must be asked.
func (b *board) strays() []string {
	var out []string
	for id := range b.owned {
		if !b.clients[id] && !b.left[id] {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// bereft are workers that are gone, and whose tasks are others' by now.
func (b *board) bereft() []string {
	var out []string
	for id := range b.gone {
		if len(b.held[id]) == 0 {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

// missing are the tasks that the worker should have, whose assignments are not among
// names: as they are on the board.
func (b *board) missing(worker string, names []string) map[string]int64 {
	out, there := map[string]int64{}, map[string]bool{}
	for _, name := range names {
		there[name] = true
	}
	for id, e := range b.held[worker] {
		if !e.busy && !e.orphan && !there[e.Assignment] {
			out[id] = e.mzxid
		}
	}
	return out
}
