package dispatch

// order says which of two tasks comes first, and where a task keeps its place.
type order interface {
	before(a, b *entry) bool
	place(e *entry) *int
}

// ordered are tasks for container/heap, first the task that is first by O. Each task
// knows its place, which is -1 when the task is taken out.
type ordered[O order] []*entry

func (o ordered[O]) Len() int { return len(o) }
func (o ordered[O]) Less(i, j int) bool {
	var by O
	return by.before(o[i], o[j])
}
func (o ordered[O]) Swap(i, j int) {
	var by O
	o[i], o[j] = o[j], o[i]
	*by.place(o[i]), *by.place(o[j]) = i, j
}
func (o *ordered[O]) Push(x any) {
	var by O
	e := x.(*entry)
	*by.place(e) = len(*o)
	*o = append(*o, e)
}
func (o *ordered[O]) Pop() any {
	var by O
	old := *o
	e := old[len(old)-1]
	old[len(old)-1] = nil
	*o, *by.place(e) = old[:len(old)-1], -1
	return e
}

// readyTasks is the tasks of a class.
type readyTasks = ordered[byTurn]

type byTurn struct{}

func (byTurn) before(a, b *entry) bool { return a.precedes(b) }
func (byTurn) place(e *entry) *int     { return &e.linePos }

// precedes reports whether e goes before o.
func (e *entry) precedes(o *entry) bool { return e.turn().before(o.turn()) }

// wakeQueue are the tasks that must be looked at at some time.
type wakeQueue = ordered[byTime]

type byTime struct{}

func (byTime) before(a, b *entry) bool { return a.at.Before(b.at) }
func (byTime) place(e *entry) *int     { return &e.wakePos }

// endedTasks are the tasks that have ended, first the task that makes way first.
type endedTasks = ordered[byEnd]

type byEnd struct{}

func (byEnd) before(a, b *entry) bool {
	if x, y := a.State == dead, b.State == dead; x != y {
		return y // dead tasks are kept longest, for an operator to inspect
	}
	return a.mzxid < b.mzxid
}
func (byEnd) place(e *entry) *int { return &e.endPos }
