package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// running are the assigned tasks, with their progress.
func (w *World) running(q *dispatch.Queue, ids ...string) []dispatch.Info {
	w.Helper()
	list, err := q.Running(w.Within(time.Minute), ids...)
	require.NoError(w, err)
	return list
}

// reported is the progress of a task as text.
func reported(in dispatch.Info) string {
	return fmt.Sprintf("%s %d/%d %s", in.ID, in.Done, in.Total, in.Note)
}

// counting reports a number each 100 ms until its context ends.
func counting(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
	for n := int64(1); ctx.Err() == nil; n++ {
		a.ReportProgress(n, 1000, "rows")
		world.SleepContext(ctx, 100*time.Millisecond)
	}
	return nil, context.Cause(ctx)
}

// The first report is written at once, and the last report of each five seconds.
func TestProgressIsShown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(counting, &dispatch.WorkerOptions{Concurrency: 1})
		q := w.queue()
		w.submit(q, numbered(0))
		w.Settle()
		w.submit(q, numbered(1)) // prefetched
		w.Settle()
		list := w.running(q)
		require.Len(w, list, 2)
		require.Equal(w, "task-000 1/1000 rows", reported(list[0]))
		require.WithinDuration(w, time.Now(), list[0].Reported, time.Second)
		require.Equal(w, "task-001 0/0 ", reported(list[1]))
		require.Zero(w, list[1].Reported)
		w.Pass(4 * time.Second)
		require.Equal(w, "task-000 1/1000 rows", reported(w.running(q)[0]))
		w.Pass(2 * time.Second)
		require.Equal(w, 50, int(w.running(q, "task-000")[0].Done)/10*10)
		require.Equal(w, dispatch.State("assigned"), w.get(q, "task-000").State)
		require.NoError(w, q.Cancel(w.Ctx, "task-000"))
		w.Settle()
		require.Empty(w, w.running(q, "task-000"), "it has ended")
		w.Pass(5 * time.Second)
		require.Positive(w, w.running(q, "task-001")[0].Done)
		require.NoError(w, checkTree(w.Server.Dump()))
	})
}

// A worker writes the reports of all its tasks together, every five seconds at most, however
// often its handlers report; without reports it writes nothing.
func TestRequestsOfProgress(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		w.master(nil)
		kc, c := w.Client(), w.Client()
		const tasks = 8
		w.beside(dispatch.NewWorker(kc, path, counting, &dispatch.WorkerOptions{Concurrency: tasks, Prefetch: -1}).Run)
		q := dispatch.New(c, path, nil)
		for n := range tasks {
			w.submit(q, numbered(n))
		}
		w.Pass(12 * time.Second)
		const writes = 12 // in a minute
		minute := w.counts(kc, func() { w.Pass(time.Minute) })
		t.Logf("a worker of %d tasks that report each 100 ms, in a minute: %v", tasks, minute)
		require.Equal(w, writes, minute["multi"]+minute["setData"], "of all tasks")
		require.LessOrEqual(w, minute["getData"]+minute["multiRead"], 2*writes, "it watches its assignments")
		require.Equal(w, map[string]int{"getChildren2": 2, "multiRead": 1}, w.counts(c, func() { require.Len(w, w.running(q), tasks) }))
		require.Equal(w, map[string]int{"sync": 1, "multiRead": 2}, w.counts(c, func() { require.Len(w, w.running(q, "task-000", "task-001", "no"), 2) }))
		require.Equal(w, map[string]int{"sync": 1, "getData": 1}, w.counts(c, func() { w.get(q, "task-000") }), "as without progress")
	})
}

// A worker that was cut off goes on reporting, while another worker has the task: the
// progress of the next attempt is its own.
func TestLateAttemptDoesNotChangeTheProgressOfTheNext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client() // c1
		w.master(nil)
		late := make(chan struct{})
		first := w.beside(dispatch.NewWorker(c, path, func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			for n := range int64(1000) {
				a.ReportProgress(n, 1000, "late")
				world.Pause(100 * time.Millisecond)
			}
			close(late)
			return nil, errors.New("late")
		}, nil).Run)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "a"})
		w.Pass(time.Second)
		require.Equal(w, "late", w.running(q)[0].Note)
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			a.ReportProgress(7, 7, "mine")
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		w.Server.BlackHole(linkOf(1), zktest.Both)
		w.Pass(40 * time.Second)
		w.Server.Heal()
		w.Pass(10 * time.Second)
		require.Equal(w, "a 7/7 mine", reported(w.running(q)[0]))
		<-late
		w.Settle()
		require.Equal(w, "a 7/7 mine", reported(w.running(q)[0]))
		_ = first.end()
	})
}

// A report after the end of an attempt has no effect, and the end of a worker
// does not wait for the next time to write.
func TestReportAfterTheEndHasNoEffect(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		attempts := make(chan *dispatch.Attempt, 2)
		k := w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			a.ReportProgress(1, 2, "")
			if attempts <- a; a.ID == "released" {
				err := a.Release(ctx)
				a.ReportProgress(2, 2, "released")
				world.Pause(time.Second)
				return nil, err
			}
			return nil, nil
		}, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		q := w.queue()
		w.collect(q, w.submit(q, dispatch.Task{ID: "done"}))
		(<-attempts).ReportProgress(3, 3, "late")
		w.submit(q, dispatch.Task{ID: "released", Delay: time.Second})
		w.Pass(1500 * time.Millisecond)
		began := time.Now()
		require.NoError(w, k.end())
		require.Less(w, time.Since(began), 2*time.Second)
		(<-attempts).ReportProgress(3, 3, "late")
		w.Pass(10 * time.Second)
		require.Empty(w, w.running(q))
		require.NoError(w, checkTree(w.Server.Dump()))
	})
}

// Numbers are not negative and notes are short, so an assignment stays small.
func TestReportsAreBounded(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			a.ReportProgress(-1, -2, strings.Repeat("é", 1000)+"\xff")
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "a"})
		w.Settle()
		require.Equal(w, "a 0/0 "+strings.Repeat("é", 128), reported(w.running(q)[0]))
		(&dispatch.Attempt{}).ReportProgress(1, 2, "in a test of a handler")
		_, err := q.Running(w.Ctx, "")
		require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
	})
}

// An assignment with progress is the former one with one more field, and fields of a newer
// version stay. Assignments that cannot be read are left out.
func TestProgressKeepsTheRestOfAnAssignment(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		q, begin := w.queue(), make(chan struct{})
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			<-begin
			a.ReportProgress(1, 2, "x")
			<-ctx.Done()
			return nil, ctx.Err()
		}, &dispatch.WorkerOptions{Prefetch: -1})
		w.submit(q, dispatch.Task{ID: "a", Labels: nil, Priority: 3})
		w.Settle()
		worker := path + "/workers/" + w.Children(path + "/workers")[0]
		assignment := worker + "/" + w.Children(worker)[0]
		before := w.fieldsOf(assignment)
		close(begin)
		w.Settle()
		after := w.fieldsOf(assignment)
		require.JSONEq(w, `{"done":1,"total":2,"note":"x"}`, string(after["progress"]))
		delete(after, "progress")
		require.Equal(w, before, after)
		require.NoError(w, w.Server.Set(assignment, []byte("garbage")))
		require.Empty(w, w.running(q))
	})
}

// A report of a task whose assignment is gone does not keep the reports of other tasks from
// being written.
func TestProgressBesideATaskThatIsGone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(counting, &dispatch.WorkerOptions{Concurrency: 2, Prefetch: -1})
		q := w.queue()
		w.submit(q, numbered(0))
		w.submit(q, numbered(1))
		w.Pass(12 * time.Second) // both are written together by now
		var once sync.Once
		remove := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			mine := slices.DeleteFunc(slices.Clone(r.Paths), func(p string) bool { return !strings.Contains(p, "/task-00") })
			if r.Op == "multi" && len(mine) == 2 && strings.HasPrefix(mine[0], path+"/workers/") && strings.HasPrefix(mine[1], path+"/workers/") {
				once.Do(func() { _ = w.Server.Delete(mine[0]) })
			}
			return zktest.Action{}
		})
		defer remove()
		before := time.Now()
		w.Pass(6 * time.Second)
		list := w.running(q)
		require.Len(w, list, 1)
		require.True(w, list[0].Reported.After(before), "%+v", list)
	})
}

// fieldsOf are the fields of a record.
func (w *World) fieldsOf(path string) (out map[string]json.RawMessage) {
	w.Helper()
	node, err := w.Server.Get(path)
	require.NoError(w, err)
	require.NoError(w, json.Unmarshal(node.Data, &out))
	return out
}

// A worker that reports, under every fault: the task ends once, and the last report is shown
// before.
func TestProgressUnderEveryFault(t *testing.T) {
	t.Parallel()
	tr := world.Trial{
		Name: "ReportProgress", Setup: func(*matrix.Env, *world.Party) error { return nil },
		Counts: func(r zktest.Request) bool {
			return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" && !r.OnlyChecks
		},
	}
	c := tr.Case()
	c.Op = func(_ context.Context, e *matrix.Env) error {
		crew := startCrew(e, e.State.(*world.Party), "mW", func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			for n := range int64(100) {
				if a.ID == "x" {
					a.ReportProgress(n, 99, "")
					world.SleepContext(ctx, 100*time.Millisecond)
				}
			}
			if a.ID == "x" {
				world.SleepContext(ctx, 10*time.Second)
			}
			return a.Payload, ctx.Err()
		})
		over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if _, err := crew.queue.Submit(over, dispatch.Task{ID: "x"}); err != nil {
			return err
		}
		for over.Err() == nil {
			list, err := crew.queue.Running(over, "x")
			if err != nil {
				return err
			}
			if len(list) == 1 && list[0].Done == 99 {
				break
			}
			world.Pause(time.Second)
		}
		r, err := crew.queue.Collect(over, "x")
		if err != nil || r.State != "done" {
			return fmt.Errorf("%+v: %w", r, err)
		}
		return nil
	}
	c.Check = checkRest
	explore(t, c, false)
}

func TestRunningUnderEveryFault(t *testing.T) {
	t.Parallel()
	report(t, world.Trial{
		Name: "Running", Setup: with("mw", slow, numbered(1), numbered(2)),
		Op: func(ctx context.Context, p *world.Party) error {
			q := dispatch.New(p.Tested, path, nil)
			list, err := q.Running(ctx)
			if err != nil {
				return err
			}
			some, err := q.Running(ctx, numbered(2).ID)
			if err != nil {
				return err
			}
			if len(list) > 2 || len(some) > 1 {
				return fmt.Errorf("%+v, %+v", list, some)
			}
			return nil
		},
		Next: sound(1),
	})
}
