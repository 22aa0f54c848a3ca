package dispatch

import (
	"container/heap"
	"slices"
	"strings"
	"time"
)

// board is what the master knows: the tasks, the workers that live, and those that
// have died with tasks in their hands. It decides what is to be done next, and is
// pure: no clock, no requests. What it is told may come in any order and more than
// once: the zxid of the last change decides what is newer.
type board struct {
	tasks   map[string]*entry // by id
	desks   map[string]*seat  // of live workers, by id
	classes map[string]*class // of tasks that wait and are ready, by labels
	wakes   wakes
	// held are the tasks that are assigned, by worker.
	held map[string]map[string]*entry
	// gone are workers that surely do not live any more, orphans tasks whose
	// assignment surely is not there.
	gone, orphans map[string]bool
	// owned are the tasks that are not finished and go with a client, by client.
	owned map[string]map[string]*entry
	// clients are those that are there, left those with tasks that surely are
	// not.
	clients, left map[string]bool
	turn          int64 // counts assignments
}

// entry is a task on the board.
type entry struct {
	seen
	// busy: something is being done about it, so that nothing else is.
	busy bool
	// stuck: what was to be done about it does not work, though it is as it was
	// seen. It is left alone until it changes.
	stuck bool
	// ready: it is in its class.
	ready   bool
	at      time.Time
	wakePos int // in wakes; -1 if it is not there
	linePos int // in its class; -1 if it is not there
}

// seat is a live worker on the board.
type seat struct {
	id string
	profile
	load int
	last int64 // the turn in which it was given a task last
}

// class is the line of the tasks that want the same labels.
type class struct {
	labels []string
	line   line
}

func newBoard() *board {
	return &board{
		tasks: map[string]*entry{}, desks: map[string]*seat{}, classes: map[string]*class{},
		held: map[string]map[string]*entry{}, gone: map[string]bool{}, orphans: map[string]bool{},
		owned: map[string]map[string]*entry{}, clients: map[string]bool{}, left: map[string]bool{},
	}
}

// put tells the board of a task as its view has seen it. What is older than what it
// knows is ignored. Only the view adds tasks: see renew.
func (b *board) put(t seen) {
	e := b.tasks[t.ID]
	switch {
	case e == nil:
		e = &entry{wakePos: -1, linePos: -1}
		b.tasks[t.ID] = e
	case e.mzxid >= t.mzxid:
		return
	default:
		b.unlink(e)
	}
	e.seen = t
	if e.stuck {
		e.stuck, e.busy = false, false
	}
	b.link(e)
}

// renew is put for what somebody else has seen, or has made. A task that is not on
// the board is left out: if the view has not shown it yet it will, and if the view
// has dropped it, it is gone, and nobody would ever drop it again.
func (b *board) renew(t seen) {
	if b.tasks[t.ID] != nil {
		b.put(t)
	}
}

// drop tells the board that a task is gone: that one, not a later one of its id.
func (b *board) drop(id string, czxid int64) {
	if e := b.tasks[id]; e != nil && e.czxid <= czxid {
		b.unlink(e)
		delete(b.tasks, id)
	}
}

// link enters a task where it belongs. A task that waits comes to its class when
// its time is looked at.
func (b *board) link(e *entry) {
	if e.State == assigned {
		add(b.held, e.Worker, e)
		if d := b.desks[e.Worker]; d != nil {
			d.load++
		}
	}
	if e.Owner != "" && !e.State.Finished() {
		add(b.owned, e.Owner, e)
	}
	b.arm(e, false)
}

func (b *board) unlink(e *entry) {
	delete(b.orphans, e.ID)
	if e.State == assigned {
		remove(b.held, e.Worker, e)
		if d := b.desks[e.Worker]; d != nil {
			d.load--
		}
	}
	if e.Owner != "" {
		remove(b.owned, e.Owner, e)
		if len(b.owned[e.Owner]) == 0 {
			delete(b.left, e.Owner)
		}
	}
	b.leaveLine(e)
	if e.wakePos >= 0 {
		heap.Remove(&b.wakes, e.wakePos)
	}
}

// arm sets when to look at a task next.
func (b *board) arm(e *entry, ready bool) {
	if e.wakePos >= 0 {
		heap.Remove(&b.wakes, e.wakePos)
	}
	at, ever := e.wake(ready)
	if ever && !e.busy {
		e.at = at
		heap.Push(&b.wakes, e)
	}
}

// enterLine puts a task into the line of its class.
func (b *board) enterLine(e *entry) {
	key := strings.Join(e.Labels, "\x00")
	c := b.classes[key]
	if c == nil {
		c = &class{labels: e.Labels}
		b.classes[key] = c
	}
	heap.Push(&c.line, e)
	e.ready = true
}

func (b *board) leaveLine(e *entry) {
	if !e.ready {
		return
	}
	key := strings.Join(e.Labels, "\x00")
	c := b.classes[key]
	heap.Remove(&c.line, e.linePos)
	if len(c.line) == 0 {
		delete(b.classes, key)
	}
	e.ready = false
}

// seize takes a task out of everything that is to be done, until it is released.
func (b *board) seize(e *entry) {
	e.busy = true
	b.leaveLine(e)
	if e.wakePos >= 0 {
		heap.Remove(&b.wakes, e.wakePos)
	}
}

// release ends what was done about a task, if it is still there.
func (b *board) release(id string) {
	if e := b.tasks[id]; e != nil && e.busy && !e.stuck {
		e.busy = false
		b.arm(e, false)
	}
}

// hire tells the board that a worker lives, and what it says of itself.
func (b *board) hire(id string, p profile) {
	if b.gone[id] {
		return // old news
	}
	d := b.desks[id]
	if d == nil {
		d = &seat{id: id, load: len(b.held[id])}
		b.desks[id] = d
	}
	d.profile = p
}

// fire tells the board that a worker does not live any more. Its id never comes
// back.
func (b *board) fire(id string) {
	delete(b.desks, id)
	b.gone[id] = true
}

// forget forgets a worker that has left nothing behind.
func (b *board) forget(id string) { delete(b.gone, id) }

// meet tells the board that a client is there, part that it surely is not any more.
// Its id never comes back.
func (b *board) meet(id string) { b.clients[id] = true }

func (b *board) part(id string) {
	delete(b.clients, id)
	if len(b.owned[id]) > 0 {
		b.left[id] = true
	}
}

// refused tells the board that m has failed, though the task is as m has it: with
// orphan since its assignment does not exist, otherwise for reasons unknown.
func (b *board) refused(m move, orphan bool) {
	e := b.tasks[m.task.ID]
	if e == nil || e.mzxid != m.task.mzxid {
		return // it has changed, so m was out of date
	}
	if orphan && !e.orphan {
		b.orphan(e)
		return
	}
	e.stuck = true
}

// orphan tells the board that a task's assignment does not exist.
func (b *board) orphan(e *entry) {
	e.orphan = true
	b.orphans[e.ID] = true
}

// fits reports whether the worker has all labels that the class wants, and room.
func (d *seat) fits(c *class) bool {
	if d.Draining || d.load >= d.Concurrency+d.Prefetch {
		return false
	}
	for _, l := range c.labels {
		if _, ok := slices.BinarySearch(d.Labels, l); !ok {
			return false
		}
	}
	return true
}

// before reports whether d is to be given the next task rather than o: it has the
// smaller load for each of its handlers, or it has waited longer.
func (d *seat) before(o *seat) bool {
	if x, y := d.load*o.Concurrency, o.load*d.Concurrency; x != y {
		return x < y
	}
	if d.last != o.last {
		return d.last < o.last
	}
	return d.id < o.id
}

func add(m map[string]map[string]*entry, key string, e *entry) {
	if m[key] == nil {
		m[key] = map[string]*entry{}
	}
	m[key][e.ID] = e
}

func remove(m map[string]map[string]*entry, key string, e *entry) {
	delete(m[key], e.ID)
	if len(m[key]) == 0 {
		delete(m, key)
	}
}
