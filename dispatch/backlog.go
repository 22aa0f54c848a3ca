package dispatch

import (
	"container/heap"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// backlog has the waiting tasks that are far from their turn, in a form that takes a
// fraction of a record: the master keeps them here, and reads their records again shortly
// before it assigns them. For each list of labels, all tasks of the backlog come after the
// tasks of the scheduler that are ready and want these labels.
//
// Only plain tasks are here: see [seen.isPlain]. The backlog is pure.
type backlog struct {
	items   map[string]*backlogItem // by id
	classes map[string]*backlogClass
	oldest  oldestItems
	// coming are the tasks that have left the backlog and are being read, by id.
	coming map[string]comingTask
}

// comingTask is a task that is being read.
type comingTask struct {
	class     *backlogClass
	submitted int64 // in milliseconds
}

// backlogItem is a task of the backlog.
type backlogItem struct {
	id                 string
	czxid, mzxid       int64
	run                uint64 // a hash of the run
	submitted          int64  // in milliseconds
	class              *backlogClass
	priority           int
	turnPos, oldestPos int32
}

// backlogClass has the tasks with the same labels.
type backlogClass struct {
	key    string
	labels []string
	turn   turnItems
	// coming is how many tasks of the class are being read; first is the first of them, as
	// long as there are any.
	coming int
	first  turn
}

const (
	// lowWindow is how few ready tasks of a class the scheduler may have before the next
	// tasks of the backlog are read. A round of the master assigns fewer.
	lowWindow = 2 * maxMoves
	// refill is how many tasks are read then.
	refill = 2 * lowWindow
	// highWindow is how many tasks of a class the scheduler has at most, about: then all
	// but the first half of them go to the backlog.
	highWindow = 4 * refill
)

func newBacklog() *backlog {
	return &backlog{items: map[string]*backlogItem{}, classes: map[string]*backlogClass{}, coming: map[string]comingTask{}}
}

// isPlain reports whether nothing but its turn decides about a waiting task: it has no
// delay, no deadline, and no owner, and it is not a suspect.
func (t *seen) isPlain() bool {
	return t.State == waiting && t.NotBefore.IsZero() && t.Delay == 0 && t.Deadline.IsZero() && t.DeadlineAfter == 0 &&
		t.Owner == "" && !t.isSuspect()
}

func labelsKey(labels []string) string { return strings.Join(labels, "\x00") }

func hashRun(run string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(run))
	return h.Sum64()
}

// ids are the ids of all tasks of the backlog.
func (b *backlog) ids() []string {
	out := make([]string, 0, b.count())
	for id := range b.items {
		out = append(out, id)
	}
	for id := range b.coming {
		out = append(out, id)
	}
	return out
}

// count is the number of tasks that wait in the backlog, or on their way from there.
func (b *backlog) count() int { return len(b.items) + len(b.coming) }

func (b *backlog) classOf(labels []string) *backlogClass {
	key := labelsKey(labels)
	c := b.classes[key]
	if c == nil {
		c = &backlogClass{key: key, labels: labels}
		b.classes[key] = c
	}
	return c
}

// put adds a task, or replaces it.
func (b *backlog) put(t *seen) {
	b.dropTask(t.ID)
	c := b.classOf(t.Labels)
	it := &backlogItem{
		id: strings.Clone(t.ID), czxid: t.czxid, mzxid: t.mzxid, run: hashRun(t.Run), submitted: t.Submitted.UnixMilli(),
		class: c, priority: t.Priority,
	}
	b.items[it.id] = it
	heap.Push(&c.turn, it)
	heap.Push(&b.oldest, it)
}

// dropTask takes a task out, if it is here, or is coming.
func (b *backlog) dropTask(id string) {
	if it := b.items[id]; it != nil {
		b.remove(it)
		b.forget(it.class)
	} else if one, there := b.coming[id]; there {
		delete(b.coming, id)
		if one.class.coming--; one.class.coming == 0 {
			b.forget(one.class)
		}
	}
}

func (b *backlog) remove(it *backlogItem) {
	delete(b.items, it.id)
	heap.Remove(&it.class.turn, int(it.turnPos))
	heap.Remove(&b.oldest, int(it.oldestPos))
}

// forget forgets a class without tasks.
func (b *backlog) forget(c *backlogClass) {
	if len(c.turn)+c.coming == 0 {
		delete(b.classes, c.key)
	}
}

// takeNext takes the next tasks of a class out, at most n: they are coming.
func (b *backlog) takeNext(c *backlogClass, n int) (ids []string) {
	for len(c.turn) > 0 && len(ids) < n {
		it := c.turn[0]
		if c.coming == 0 {
			c.first = it.turn()
		}
		b.remove(it)
		b.coming[it.id] = comingTask{c, it.submitted}
		c.coming++
		ids = append(ids, it.id)
	}
	return ids
}

// takesLater reports whether a task has its turn after the first task of its class in the
// backlog, so that it belongs to the backlog too.
func (b *backlog) takesLater(t *seen) bool {
	c := b.classes[labelsKey(t.Labels)]
	return c != nil && len(c.turn) > 0 && c.turn[0].turn().before(t.turn())
}

// next is the turn of the first task of a class that the scheduler does not have.
func (c *backlogClass) next() turn {
	if c.coming > 0 {
		return c.first
	}
	return c.turn[0].turn()
}

func (it *backlogItem) turn() turn { return turn{it.priority, it.czxid, it.id} }

// turn decides about the order of two tasks that are ready.
type turn struct {
	priority int
	czxid    int64
	id       string
}

func (t *seen) turn() turn { return turn{t.Priority, t.czxid, t.ID} }

// before reports whether the task of a goes before that of b: it has the higher priority, or
// was submitted earlier.
func (a turn) before(b turn) bool {
	if a.priority != b.priority {
		return a.priority > b.priority
	}
	if a.czxid != b.czxid {
		return a.czxid < b.czxid
	}
	return a.id < b.id
}

// oldestSubmission is when the oldest task was submitted; false: there is none. Tasks that
// are coming are few.
func (b *backlog) oldestSubmission() (at time.Time, ok bool) {
	var ms []int64
	if len(b.oldest) > 0 {
		ms = append(ms, b.oldest[0].submitted)
	}
	for _, one := range b.coming {
		ms = append(ms, one.submitted)
	}
	if len(ms) == 0 {
		return at, false
	}
	return truncateTime(time.UnixMilli(slices.Min(ms))), true
}

// turnItems are tasks for container/heap, first the task whose turn is first.
type turnItems []*backlogItem

func (h turnItems) Len() int           { return len(h) }
func (h turnItems) Less(i, j int) bool { return h[i].turn().before(h[j].turn()) }
func (h turnItems) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].turnPos, h[j].turnPos = int32(i), int32(j)
}
func (h *turnItems) Push(x any) {
	it := x.(*backlogItem)
	it.turnPos = int32(len(*h))
	*h = append(*h, it)
}
func (h *turnItems) Pop() any { return pop((*[]*backlogItem)(h)) }

// oldestItems are tasks for container/heap, first the task that was submitted first.
type oldestItems []*backlogItem

func (h oldestItems) Len() int           { return len(h) }
func (h oldestItems) Less(i, j int) bool { return h[i].submitted < h[j].submitted }
func (h oldestItems) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].oldestPos, h[j].oldestPos = int32(i), int32(j)
}
func (h *oldestItems) Push(x any) {
	it := x.(*backlogItem)
	it.oldestPos = int32(len(*h))
	*h = append(*h, it)
}
func (h *oldestItems) Pop() any { return pop((*[]*backlogItem)(h)) }

func pop(list *[]*backlogItem) *backlogItem {
	old := *list
	it := old[len(old)-1]
	old[len(old)-1] = nil
	*list = old[:len(old)-1]
	return it
}
