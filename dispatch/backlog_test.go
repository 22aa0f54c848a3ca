package dispatch

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// backlogWorld has a scheduler that is told of tasks in a random order, and the tasks as they
// are.
type backlogWorld struct {
	t     *testing.T
	sc    *scheduler
	tasks map[string]seen
	given []string
	zxid  int64
	n     int
}

func newBacklogWorld(t *testing.T) *backlogWorld {
	w := &backlogWorld{t: t, sc: newScheduler(), tasks: map[string]seen{}}
	w.sc.addWorker("a", profile{Concurrency: 64, Labels: []string{"x"}})
	w.sc.addWorker("b", profile{Concurrency: 32})
	return w
}

// add makes a task that waits.
func (w *backlogWorld) add(priority int, labels ...string) seen {
	w.zxid++
	t := seen{czxid: w.zxid, mzxid: w.zxid, record: record{
		Format: format, ID: fmt.Sprintf("t%06d", w.zxid), Run: "0123456789abcdef", State: waiting, Attempt: 1, MaxAttempts: 1,
		Priority: priority, Labels: labels, Submitted: time.UnixMilli(w.zxid),
	}}
	w.tasks[t.ID] = t
	return t
}

// step reads the tasks that the scheduler needs, and gives out tasks, which are done at once.
func (w *backlogWorld) step() {
	for _, c := range w.sc.backlog.classes {
		if w.sc.needsTasks() {
			for _, id := range w.sc.backlog.takeNext(c, refill) {
				w.sc.showTask(w.tasks[id], true)
			}
		}
	}
	moves := w.sc.planMoves(time.UnixMilli(1<<40), maxMoves, func() string { w.n++; return fmt.Sprint(w.n) })
	for _, m := range moves {
		require.Equal(w.t, giveTask, m.kind)
		w.given = append(w.given, m.task.ID)
		w.sc.dropTask(m.task.ID, m.task.czxid)
		w.sc.settleMove(m)
		delete(w.tasks, m.task.ID)
	}
}

// check asserts that the scheduler and its backlog have the tasks, and count them.
func (w *backlogWorld) check() {
	require.Equal(w.t, len(w.tasks), w.sc.countActive())
	c := w.sc.countTasks()
	require.Equal(w.t, len(w.tasks), c.Tasks[waiting])
	var oldest time.Time
	for _, t := range w.tasks {
		if oldest.IsZero() || t.Submitted.Before(oldest) {
			oldest = t.Submitted
		}
	}
	require.True(w.t, oldest.Equal(c.Oldest), "%v, %v", oldest, c.Oldest)
	require.Less(w.t, len(w.sc.tasks), 2*highWindow)
	for id := range w.sc.tasks {
		if w.sc.backlog.items[id] != nil {
			require.Fail(w.t, "a task is in two places", id)
		}
	}
}

// first is the task whose turn is next.
func (w *backlogWorld) first() (id string) {
	for other, t := range w.tasks {
		if best := w.tasks[id]; id == "" || t.turn().before(best.turn()) {
			id = other
		}
	}
	return id
}

func (w *backlogWorld) inOrder() []string {
	var list []seen
	for _, t := range w.tasks {
		list = append(list, t)
	}
	slices.SortFunc(list, func(a, b seen) int {
		if a.turn().before(b.turn()) {
			return -1
		}
		return 1
	})
	var out []string
	for _, t := range list {
		out = append(out, t.ID)
	}
	return out
}

// Tasks are given out in their order, whatever order they are shown in, and most of them wait
// in the backlog.
func TestBacklogKeepsTheOrderOfTasks(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 1))
		w := newBacklogWorld(t)
		var list []seen
		for range 4 * highWindow {
			list = append(list, w.add(r.IntN(4)))
		}
		r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		for _, task := range list {
			w.sc.showTask(task, false)
		}
		w.check()
		require.Greater(t, w.sc.backlog.count(), 2*highWindow)
		want := w.inOrder()
		for len(w.tasks) > 0 {
			w.step()
			if len(w.given)%5000 < 10 {
				w.check()
			}
		}
		require.Equal(t, want, w.given)
		require.Empty(t, w.sc.backlog.classes)
		require.Empty(t, w.sc.backlog.oldest)
	}
}

// Tasks that come, change and go while others wait in the backlog.
func TestBacklogFollowsTheTasks(t *testing.T) {
	for seed := range uint64(2) {
		r := rand.New(rand.NewPCG(seed, 2))
		w := newBacklogWorld(t)
		for range 3 * highWindow {
			w.sc.showTask(w.add(r.IntN(2), [][]string{nil, {"x"}}[r.IntN(2)]...), false)
		}
		for range 150 {
			switch r.IntN(4) {
			case 0:
				for range 50 {
					w.sc.showTask(w.add(r.IntN(9)), false)
				}
			case 1: // canceled, and removed
				for id, task := range w.tasks {
					w.zxid++
					task.State, task.mzxid = canceled, w.zxid
					w.sc.showTask(task, false)
					require.Zero(t, w.sc.backlog.items[id])
					w.sc.dropTask(id, maxZxid)
					w.sc.backlog.dropTask(id)
					delete(w.tasks, id)
					break
				}
			case 2: // seen again
				for _, task := range w.tasks {
					w.sc.showTask(task, r.IntN(2) == 0)
					break
				}
			default:
				next, before := w.first(), len(w.given)
				w.step()
				require.Equal(t, next, w.given[before])
			}
			if r.IntN(30) == 0 {
				w.check()
			}
		}
		w.check()
	}
}

// While the next task of the backlog is being read, tasks that come after it wait, unless no
// worker has room for it.
func TestTaskWaitsForTheTaskBeforeIt(t *testing.T) {
	w := newBacklogWorld(t)
	for range 2 * highWindow {
		w.sc.showTask(w.add(1), false)
	}
	for id := range w.sc.tasks { // given out by now
		w.sc.dropTask(id, maxZxid)
		delete(w.tasks, id)
	}
	var class *backlogClass
	for _, class = range w.sc.backlog.classes {
	}
	ids := w.sc.backlog.takeNext(class, 10)
	late := w.add(0)
	w.sc.putTask(late)
	w.step()
	require.Empty(t, w.given)
	urgent := w.add(7)
	w.sc.showTask(urgent, false)
	w.step()
	require.Equal(t, []string{urgent.ID}, w.given)
	for _, id := range ids {
		w.sc.showTask(w.tasks[id], true)
	}
	w.step()
	require.Equal(t, ids[0], w.given[1])
}

// Tasks with a delay, or that cannot be assigned, do not keep the tasks of the backlog away.
func TestDelayedTasksDoNotFillTheWindow(t *testing.T) {
	w := newBacklogWorld(t)
	for range 2 * lowWindow {
		task := w.add(9)
		task.NotBefore = time.UnixMilli(1 << 50)
		w.sc.showTask(task, false)
		delete(w.tasks, task.ID)
	}
	for range 2 * highWindow {
		w.sc.showTask(w.add(1), false)
	}
	want := w.inOrder()
	for i := 0; i < 1000 && len(w.tasks) > 0; i++ {
		w.step()
	}
	require.Equal(t, want, w.given)
}
