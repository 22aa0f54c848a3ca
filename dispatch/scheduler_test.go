package dispatch

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/taskformat"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// twin is a trivial version of scheduler: it sorts everything each time.
type twin struct {
	tasks   map[string]seen
	busy    map[string]bool
	ready   map[string]bool // its time has come
	workers map[string]profile
	gone    map[string]bool
	left    map[string]bool
	planned map[string][]seen // by worker
	last    map[string]int
	turn    int
	// reserved is the worker that gets no tasks until it has none left.
	reserved string
	paused   bool
}

func newTwin() *twin {
	return &twin{
		tasks: map[string]seen{}, busy: map[string]bool{}, ready: map[string]bool{}, workers: map[string]profile{},
		gone: map[string]bool{}, left: map[string]bool{}, planned: map[string][]seen{}, last: map[string]int{},
	}
}

func (w *twin) load(worker string) int { return len(w.has(worker)) }

// has lists the tasks of a worker.
func (w *twin) has(worker string) []seen {
	out := slices.Clone(w.planned[worker])
	for _, t := range w.tasks {
		if t.State == assigned && t.Worker == worker {
			out = append(out, t)
		}
	}
	return out
}

func (w *twin) sorted(want func(seen) bool) []string {
	var out []string
	for _, id := range slices.Sorted(maps.Keys(w.tasks)) {
		if !w.busy[id] && want(w.tasks[id]) {
			out = append(out, id)
		}
	}
	return out
}

// plan lists the due work as text, unordered except for the assignments of each
// worker.
func (w *twin) plan(now time.Time) (others []string, gives []string) {
	do := func(what, id string) {
		others = append(others, what+" "+id)
		w.busy[id] = true
	}
	for _, id := range w.sorted(func(t seen) bool {
		return t.State != dead && t.State.Finished() && !t.FinishedAt.Add(t.Retention.Duration()).After(now)
	}) {
		do("remove", id)
	}
	for _, id := range w.sorted(func(t seen) bool { return t.State == waiting && t.isLate(now) }) {
		do("end", id)
	}
	for _, id := range w.sorted(func(t seen) bool {
		return t.State == assigned && !t.Deadline.IsZero() && !t.Deadline.Add(grace).After(now)
	}) {
		do("end", id)
	}
	for _, id := range w.sorted(func(t seen) bool { return t.State == assigned && w.gone[t.Worker] }) {
		do("retry", id)
	}
	for _, id := range w.sorted(func(t seen) bool { return !t.State.Finished() && w.left[t.Owner] }) {
		do("end", id)
	}
	hopeless := map[string]bool{} // sorts of tasks that no worker can take
	for !w.paused {
		id, worker := w.nextPair(now, hopeless)
		if id == "" {
			if len(w.sorted(func(t seen) bool { return t.isSuspect() && t.State == waiting && !t.NotBefore.After(now) })) == 0 {
				w.reserved = ""
			}
			return others, gives
		}
		w.turn++
		w.last[worker] = w.turn
		w.planned[worker] = append(w.planned[worker], w.tasks[id])
		w.busy[id] = true
		gives = append(gives, id+" to "+worker)
	}
	return others, nil
}

// nextPair is the first task that any worker can take, and the best such
// worker.
func (w *twin) nextPair(now time.Time, hopeless map[string]bool) (id, worker string) {
	ids := w.sorted(func(t seen) bool { return t.State == waiting && !t.NotBefore.After(now) })
	slices.SortFunc(ids, func(a, b string) int {
		x, y := w.tasks[a], w.tasks[b]
		return cmp.Or(-cmp.Compare(x.Priority, y.Priority), cmp.Compare(x.czxid, y.czxid), cmp.Compare(a, b))
	})
	for _, id := range ids {
		task := w.tasks[id]
		sort := fmt.Sprint(task.isSuspect(), task.Labels)
		if hopeless[sort] {
			continue
		}
		fit := w.best(func(name string) bool {
			p := w.workers[name]
			switch {
			case !w.takesFrom(name, task) || w.load(name) >= p.Concurrency+p.Prefetch:
				return false
			case task.isSuspect():
				return w.load(name) == 0
			}
			return name != w.reserved
		})
		if fit != "" {
			if task.isSuspect() {
				w.reserved = ""
			}
			return id, fit
		}
		hopeless[sort] = true
		if p, lives := w.workers[w.reserved]; task.isSuspect() && !(lives && !p.Draining && hasAll(p.Labels, task.Labels)) {
			w.reserved = w.best(func(name string) bool { return w.takesFrom(name, task) })
		}
	}
	return "", ""
}

// takesFrom reports whether a worker is one for the task, if it has room.
func (w *twin) takesFrom(name string, task seen) bool {
	p := w.workers[name]
	return !p.Draining && hasAll(p.Labels, task.Labels) && !slices.ContainsFunc(w.has(name), func(t seen) bool { return t.isSuspect() })
}

// best is the worker with the smallest load for each handler among the workers that
// fit.
func (w *twin) best(fits func(name string) bool) string {
	out := ""
	for _, a := range slices.Sorted(maps.Keys(w.workers)) {
		if !fits(a) {
			continue
		}
		x, y := float64(w.load(a))/float64(w.workers[a].Concurrency), float64(w.load(out))/float64(max(1, w.workers[out].Concurrency))
		if out == "" || cmp.Or(cmp.Compare(x, y), cmp.Compare(w.last[a], w.last[out])) < 0 {
			out = a
		}
	}
	return out
}

// drawn is a random task.
func drawn(t *rapid.T, id string, start time.Time, workers, owners []string, zxid int64) seen {
	at := func(what string) time.Time {
		return start.Add(time.Duration(rapid.IntRange(-3, 60).Draw(t, what)) * time.Second)
	}
	r := record{
		Format: format, ID: id, Run: "0123456789abcdef", State: rapid.SampledFrom(taskformat.States()).Draw(t, "state"), Attempt: 1,
		MaxAttempts: rapid.IntRange(1, 3).Draw(t, "max"), Deaths: rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "deaths"), Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
		Retention: millis(rapid.IntRange(0, 30_000).Draw(t, "retention")),
	}
	r.Labels = slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b"}), 0, 2).Draw(t, "labels"))))
	if rapid.IntRange(0, 3).Draw(t, "has a deadline") == 0 {
		r.Deadline = at("deadline")
	}
	if rapid.IntRange(0, 3).Draw(t, "has an owner") == 0 {
		r.Owner = rapid.SampledFrom(owners).Draw(t, "owner")
	}
	switch {
	case r.State == waiting && rapid.Bool().Draw(t, "delayed"):
		r.NotBefore = at("not before")
	case r.State == assigned:
		r.Worker, r.Assignment = rapid.SampledFrom(workers).Draw(t, "worker"), "x"
	case r.State.Finished():
		r.FinishedAt = at("finished")
	}
	return seen{record: r, czxid: zxid, mzxid: zxid}
}

// The scheduler and the simple twin decide the same, whatever happens.
func TestSchedulerDecidesAsItsTwin_M8_M9(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc, w := newScheduler(), newTwin()
		start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		now, zxid := start, int64(0)
		workers, owners := []string{"w0", "w1", "w2", "w3", "w4", "w5"}, []string{"o0", "o1"}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			zxid++
			switch rapid.IntRange(0, 10).Draw(t, "what") {
			case 0, 1, 2:
				x := drawn(t, fmt.Sprintf("t%d", rapid.IntRange(0, 9).Draw(t, "id")), start, workers, owners, zxid)
				if rapid.IntRange(0, 5).Draw(t, "old news") == 0 {
					x.mzxid -= 5
				}
				if old, known := w.tasks[x.ID]; !known || old.mzxid < x.mzxid {
					if known {
						x.czxid = old.czxid
					}
					w.tasks[x.ID] = x
				} else {
					x.czxid = old.czxid
				}
				sc.putTask(x)
			case 3:
				id := fmt.Sprintf("t%d", rapid.IntRange(0, 9).Draw(t, "id"))
				sc.dropTask(id, zxid)
				delete(w.tasks, id)
				delete(w.busy, id)
			case 4, 8, 9:
				name := rapid.SampledFrom(workers).Draw(t, "worker")
				p := profile{Format: format, Concurrency: rapid.IntRange(1, 3).Draw(t, "slots"), Prefetch: rapid.IntRange(0, 2).Draw(t, "prefetch"),
					Draining: rapid.IntRange(0, 4).Draw(t, "draining") == 0, Labels: rapid.SampledFrom([][]string{nil, {"a"}, {"a", "b"}}).Draw(t, "labels")}
				sc.addWorker(name, p)
				if !w.gone[name] {
					w.workers[name] = p
				}
			case 5:
				name := rapid.SampledFrom(workers).Draw(t, "worker")
				if rapid.IntRange(0, 3).Draw(t, "dies") == 0 {
					sc.removeWorker(name)
					delete(w.workers, name)
					w.gone[name] = true
				}
			case 6:
				owner := rapid.SampledFrom(owners).Draw(t, "owner")
				sc.removeClient(owner)
				for _, x := range w.tasks {
					if x.Owner == owner && !x.State.Finished() {
						w.left[owner] = true
					}
				}
			case 7:
				now = now.Add(time.Duration(rapid.IntRange(0, 20).Draw(t, "later")) * time.Second)
			case 10:
				w.paused = !w.paused
				sc.paused = w.paused
			}
			for owner := range w.left { // checked again when a task of the owner comes
				if !slices.ContainsFunc(slices.Collect(maps.Values(w.tasks)), func(x seen) bool { return x.Owner == owner && !x.State.Finished() }) {
					delete(w.left, owner)
				}
			}
			sc.goneClients = maps.Clone(w.left)
			zxid = compare(t, sc, w, now, zxid)
		}
	})
}

// compare plans with both, and carries the moves out, or some of them.
func compare(t *rapid.T, sc *scheduler, w *twin, now time.Time, zxid int64) int64 {
	n := 0
	moves := sc.planMoves(now, 1000, func() string { n++; return fmt.Sprint(n) })
	var others, gives []string
	for _, m := range moves {
		switch m.kind {
		case giveTask:
			gives = append(gives, m.task.ID+" to "+m.next.Worker)
		default:
			others = append(others, map[kind]string{retryTask: "retry", endTask: "end", removeTask: "remove"}[m.kind]+" "+m.task.ID)
		}
	}
	wantOthers, wantGives := w.plan(now)
	slices.Sort(others)
	slices.Sort(wantOthers)
	require.Equal(t, wantOthers, others)
	require.Equal(t, wantGives, gives)
	for _, m := range moves {
		zxid++
		if rapid.IntRange(0, 3).Draw(t, "succeeds") > 0 {
			if m.kind == removeTask {
				sc.dropTask(m.task.ID, m.task.czxid)
				delete(w.tasks, m.task.ID)
			} else {
				next := seen{record: m.next, version: m.task.version + 1, czxid: m.task.czxid, mzxid: zxid}
				sc.putTask(next)
				w.tasks[m.task.ID] = next
			}
		}
		sc.settleMove(m)
		delete(w.busy, m.task.ID)
	}
	clear(w.planned)
	for name, slot := range sc.workers {
		require.Equal(t, w.load(name), slot.load, name)
		require.Equal(t, len(slices.DeleteFunc(w.has(name), func(t seen) bool { return !t.isSuspect() })), slot.suspects, name)
	}
	require.Len(t, sc.tasks, len(w.tasks))
	if at, ever := sc.nextWake(); ever && len(moves) == 0 {
		require.True(t, at.After(now), "the task would be inspected indefinitely")
	}
	return zxid
}

// Among any number of waiting tasks without a suitable worker, the next
// possible task is found without inspecting them.
func TestTasksThatWaitCostNothing(t *testing.T) {
	sc := newScheduler()
	now := time.Now()
	n := 200_000
	if testing.Short() {
		n = 20_000
	}
	for i := range n {
		sc.putTask(seen{record: record{ID: fmt.Sprint(i), State: waiting, Attempt: 1, MaxAttempts: 1, Labels: []string{"rare"}, Priority: 1}, czxid: int64(i), mzxid: int64(i)})
	}
	sc.addWorker("w", profile{Concurrency: 1000})
	require.Empty(t, sc.planMoves(now, n, func() string { return "" }))
	began := world.ProcessorTime()
	for i := range 1000 {
		sc.putTask(seen{record: record{ID: fmt.Sprint("x", i), State: waiting, Attempt: 1, MaxAttempts: 1}, czxid: int64(n + i), mzxid: int64(n + i)})
		require.Len(t, sc.planMoves(now, n, func() string { return "" }), 1)
	}
	require.Less(t, world.ProcessorTime()-began, 2*time.Second)
}

func TestSchedulerIgnoresLateEvents(t *testing.T) {
	sc := newScheduler()
	task := func(state taskformat.State, mzxid int64) seen {
		r := record{ID: "x", State: state, Attempt: 1, MaxAttempts: 1}
		if state == assigned {
			r.Worker, r.Assignment = "w", "x"
		}
		return seen{record: r, czxid: 1, mzxid: mzxid}
	}
	sc.putTask(task(assigned, 5))
	sc.putTask(task(waiting, 4))
	require.EqualValues(t, assigned, sc.tasks["x"].State)
	sc.dropTask("x", 0) // of a former task of this id
	require.Len(t, sc.tasks, 1)
	require.Equal(t, []string{"w"}, sc.unconfirmedWorkers())
	sc.removeWorker("w")
	sc.addWorker("w", profile{Concurrency: 1})
	require.Empty(t, sc.workers, "the worker never comes back")
	require.Empty(t, sc.unconfirmedWorkers())
	require.Empty(t, sc.emptiedWorkers())
	sc.dropTask("x", 5)
	require.Equal(t, []string{"w"}, sc.emptiedWorkers())
	sc.forgetWorker("w")
	require.Empty(t, sc.emptiedWorkers())
}

// A move that fails without a change of the task is not retried until the task
// changes.
func TestSchedulerLeavesStuckTasksAlone(t *testing.T) {
	sc := newScheduler()
	sc.addWorker("w", profile{Concurrency: 1})
	r := record{ID: "x", State: waiting, Attempt: 1, MaxAttempts: 1}
	sc.putTask(seen{record: r, mzxid: 1})
	moves := sc.planMoves(time.Now(), 10, func() string { return "" })
	require.Len(t, moves, 1)
	sc.rejectMove(moves[0], false)
	sc.settleMove(moves[0])
	require.Empty(t, sc.planMoves(time.Now(), 10, func() string { return "" }))
	sc.putTask(seen{record: r, mzxid: 2})
	require.Len(t, sc.planMoves(time.Now(), 10, func() string { return "" }), 1)
}

// A task that the view has dropped during a move does not come back with the
// outcome of the move: no event would ever drop the task again.
func TestOnlyTheViewAddsTasks(t *testing.T) {
	sc := newScheduler()
	sc.addWorker("w", profile{Concurrency: 1})
	task := seen{record: record{ID: "x", State: waiting, Attempt: 1, MaxAttempts: 1}, czxid: 1, mzxid: 1}
	sc.putTask(task)
	moves := sc.planMoves(time.Now(), 10, func() string { return "" })
	require.Len(t, moves, 1)
	sc.dropTask("x", 1) // done and collected before the master has its own answer
	(&mastership{}).showMove(sc, moves[0], session.Stat{Mzxid: 2})
	require.Empty(t, sc.tasks)
	require.Zero(t, sc.workers["w"].load)
	sc.putTask(seen{record: task.record, czxid: 5, mzxid: 5})
	require.Len(t, sc.planMoves(time.Now(), 10, func() string { return "" }), 1, "a later task of its id")
}
