package dispatch_test

import (
	"context"
	"crypto/sha256"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestTaskIsDone_M1_M26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.master(nil)
		k := w.worker(echo, &dispatch.WorkerOptions{Name: "w"})
		q := w.queue()
		before := time.Now().UTC()
		id := w.submit(q, dispatch.Task{Payload: []byte("hello")})
		r, err := q.Wait(w.Ctx, id)
		require.NoError(w, err)
		require.Equal(w, id, r.ID)
		require.Equal(w, dispatch.State("done"), r.State)
		require.Equal(w, "hello", string(r.Output))
		require.Equal(w, 1, r.Attempt)
		require.True(w, strings.HasPrefix(r.Worker, "w~"), r.Worker)
		for _, at := range []time.Time{r.Submitted, r.Assigned, r.Finished} {
			require.WithinDuration(w, before, at, time.Second)
		}
		require.Equal(w, r, w.collect(q, id))
		_, err = q.Wait(w.Ctx, id)
		require.ErrorIs(w, err, dispatch.ErrNoTask)
		require.NoError(w, k.end())
		require.NoError(w, m.end())
		require.Empty(w, remains(w.Server))
	})
}

// Submitting a task again does nothing, for every client and every state of the task.
func TestSameIDIsTheSameTask(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, other := w.queue(), w.queue()
		task := dispatch.Task{ID: "a/b c.d/ü", Payload: []byte("x")}
		require.Equal(w, task.ID, w.submit(q, task))
		order := w.get(q, task.ID).Order
		require.Equal(w, task.ID, w.submit(other, task))
		w.master(nil)
		w.worker(echo, nil)
		_, err := other.Wait(w.Ctx, task.ID)
		require.NoError(w, err)
		require.Equal(w, task.ID, w.submit(q, task), "the task has its result")
		require.Equal(w, order, w.get(q, task.ID).Order)
		_, err = q.Submit(w.Ctx, dispatch.Task{ID: task.ID, Payload: []byte("y")})
		require.ErrorIs(w, err, dispatch.ErrConflict)
		require.Equal(w, "x", string(w.collect(q, task.ID).Output))
	})
}

// A waiter may be in another process, begin before or after the end, and lose
// its session meanwhile.
func TestWaitersOfAllKinds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(takes(time.Minute), nil)
		id := w.submit(w.queue(), dispatch.Task{Payload: []byte("x")})
		var all sync.WaitGroup
		var lost []*session.Client
		for i := range 5 {
			c := w.Client()
			if i%2 == 0 {
				lost = append(lost, c)
			}
			// Waited for below; ends with the task.
			all.Go(func() {
				r, err := dispatch.New(c, path, nil).Wait(w.Ctx, id)
				if err != nil || string(r.Output) != "x" {
					w.Errorf("%+v, %v", r, err)
				}
			})
		}
		w.Pass(20 * time.Second)
		for _, c := range lost {
			w.Expire(c)
		}
		w.Server.CutAll()
		all.Wait()
		r, err := w.queue().Wait(w.Ctx, id)
		require.NoError(w, err)
		require.Equal(w, "x", string(r.Output))
	})
}

func TestWaitEndsWithItsContext(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		id := w.submit(q, dispatch.Task{})
		_, err := q.Wait(w.Within(time.Minute), id)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		_, err = q.Collect(w.Within(time.Minute), id)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.Pass(time.Second)
		w.RequireNoWatches()
		require.Equal(w, dispatch.State("waiting"), w.get(q, id).State)
	})
}

func TestPriorityThenOrderOfSubmission(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		for n, priority := range []int{0, 5, -3, 5, 0, 7} {
			task := numbered(n)
			task.Priority = priority
			w.submit(q, task)
		}
		g := w.watch()
		w.worker(echo, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		w.master(nil)
		w.Pass(time.Minute)
		require.Equal(w, []string{"task-005", "task-001", "task-003", "task-000", "task-004", "task-002"}, g.tasks)
	})
}

// A task without a matching worker waits, and does not keep other tasks from
// being run.
func TestLabels(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		q := w.queue()
		gpu := w.submit(q, dispatch.Task{Labels: []string{"gpu", "linux"}, Priority: 9})
		none := w.submit(q, dispatch.Task{})
		w.worker(echo, &dispatch.WorkerOptions{Name: "plain", Labels: []string{"linux"}})
		require.Equal(w, "done", string(w.collect(q, none).State))
		w.Pass(time.Minute)
		require.Equal(w, dispatch.State("waiting"), w.get(q, gpu).State)
		w.worker(echo, &dispatch.WorkerOptions{Name: "big", Labels: []string{"linux", "gpu", "ssd"}})
		require.True(w, strings.HasPrefix(w.collect(q, gpu).Worker, "big~"))
	})
}

func TestDelay(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.RequireTaskChains()
		w.master(nil)
		w.worker(echo, nil)
		q := w.queue()
		began := time.Now()
		id := w.submit(q, dispatch.Task{Delay: 10 * time.Minute})
		require.Equal(w, began.Add(10*time.Minute).UTC(), w.get(q, id).NotBefore)
		ctx, cancel := context.WithTimeout(w.Ctx, time.Hour)
		defer cancel()
		_, err := q.Collect(ctx, id)
		require.NoError(w, err)
		require.GreaterOrEqual(w, time.Since(began), 10*time.Minute)
		require.Less(w, time.Since(began), 10*time.Minute+time.Second)
	})
}

// With no worker, and with no master, tasks wait, and nothing is lost.
func TestTasksWaitWithoutAnyWorker_M12(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		var ids []string
		for n := range 10 {
			ids = append(ids, w.submit(q, numbered(n)))
		}
		w.Pass(time.Hour)
		m := w.master(nil)
		w.Pass(time.Minute)
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, map[dispatch.State]int{"waiting": 10}, st.Tasks)
		require.Equal(w, ids, idsOf(w, q))
		_ = m.end()
		w.worker(echo, nil)
		w.Pass(time.Minute)
		w.master(nil)
		for n, id := range ids {
			require.Equal(w, fmt.Sprint(n), string(w.collect(q, id).Output))
		}
	})
}

func idsOf(w *World, q *dispatch.Queue, states ...dispatch.State) (out []string) {
	list, err := q.List(w.Ctx, states...)
	require.NoError(w, err)
	for _, in := range list {
		out = append(out, in.ID)
	}
	return out
}

func TestFinishedTasksGoAfterTheirRetention_M11(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.ID == "fails" {
				return nil, dispatch.ErrPermanent
			}
			return nil, fmt.Errorf("never")
		}, nil)
		q := w.queue()
		for _, id := range []string{"fails", "dies"} {
			w.submit(q, dispatch.Task{ID: id, Retention: 10 * time.Minute, MaxAttempts: 1})
		}
		w.submit(q, dispatch.Task{ID: "canceled", Retention: 10 * time.Minute, Delay: time.Hour})
		require.NoError(w, q.Cancel(w.Ctx, "canceled"))
		w.Pass(9 * time.Minute)
		require.Equal(w, []string{"fails", "dies", "canceled"}, idsOf(w, q))
		w.Pass(2 * time.Minute)
		require.Equal(w, []string{"dies"}, idsOf(w, q), "the dead stay")
		w.collect(q, "dies")
		require.Len(w, remains(w.Server), 2, "the worker")
	})
}

// A full queue refuses further tasks with ErrFull until some are gone; existing
// tasks are found all the same.
func TestFullQueueRefuses(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(&dispatch.Options{MaxTasks: 20})
		w.Settle()
		q := w.queue()
		for n := range 20 {
			w.submit(q, numbered(n))
		}
		w.Settle()
		_, err := q.Submit(w.Ctx, numbered(20))
		require.ErrorIs(w, err, dispatch.ErrFull)
		require.Equal(w, "task-003", w.submit(q, numbered(3)), "the task exists")
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.False(w, st.Open)
		require.Equal(w, 20, st.MaxTasks)
		require.NoError(w, q.Cancel(w.Ctx, "task-000"))
		w.Settle()
		_, err = q.Submit(w.Ctx, numbered(20))
		require.ErrorIs(w, err, dispatch.ErrFull, "19 of 20: the queue opens at nine tenths")
		require.NoError(w, q.Cancel(w.Ctx, "task-001"))
		w.Settle()
		require.Equal(w, "task-020", w.submit(q, numbered(20)))
	})
}

// Without a master a queue is not closed, but clients know the bounds of its
// buckets.
func TestFullQueueRefusesWithoutAMaster(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.master(&dispatch.Options{MaxTasks: 1})
		w.Settle()
		_ = m.end()
		q := w.queue()
		const bound = 3 + 64
		took := 0
		for n := 0; took < 2*bound; n++ {
			task := numbered(n)
			if sha256.Sum256([]byte(task.ID))[0] != 0xa7 {
				continue // one bucket is enough
			}
			if _, err := q.Submit(w.Ctx, task); err != nil {
				require.ErrorIs(w, err, dispatch.ErrFull)
				break
			}
			took++
		}
		require.GreaterOrEqual(w, took, bound)
		require.LessOrEqual(w, took, bound+16)
		require.Len(w, w.Children(path+"/tasks/a7"), took)
		_, err := w.queue().Submit(w.Ctx, dispatch.Task{ID: "elsewhere"})
		require.NoError(w, err)
	})
}

// Attached tasks are canceled when their client dies, other tasks are not.
func TestAttachedTasksGoWithTheirClient_M11_M24(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.master(nil)
		w.worker(takes(time.Hour), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		dies := w.Client()
		q, other := dispatch.New(dies, path, nil), w.queue()
		w.submit(q, dispatch.Task{ID: "runs", Attached: true})
		w.Settle()
		w.submit(q, dispatch.Task{ID: "waits", Attached: true})
		w.submit(q, dispatch.Task{ID: "stays"})
		w.submit(other, dispatch.Task{ID: "of another", Attached: true})
		w.Settle()
		w.Expire(dies)
		w.Settle()
		require.Equal(w, []string{"runs", "waits"}, idsOf(w, other, "canceled"))
		require.Contains(w, w.collect(other, "runs").Error, "client")
		// The same without a master at that moment.
		w.submit(q, dispatch.Task{ID: "again", Attached: true})
		_ = m.end()
		w.Expire(dies)
		w.Pass(time.Second)
		w.master(nil)
		w.Settle()
		require.Equal(w, []string{"waits", "again"}, idsOf(w, other, "canceled"))
	})
}

func TestStatsListAndGet_M21(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err, "there is no queue yet")
		require.Equal(w, dispatch.Stats{Tasks: map[dispatch.State]int{}, Open: true, MaxTasks: 100_000}, st)
		require.Empty(w, idsOf(w, q))
		w.master(&dispatch.Options{ID: "m"})
		w.worker(takes(time.Hour), &dispatch.WorkerOptions{Name: "k", Concurrency: 2, Prefetch: 1, Labels: []string{"b", "a", "b"}})
		w.Settle()
		began := time.Now().UTC()
		for n := range 5 {
			w.submit(q, numbered(n))
			w.Pass(time.Second)
		}
		st, err = q.Stats(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, map[dispatch.State]int{"assigned": 3, "waiting": 2}, st.Tasks)
		require.Equal(w, began.Add(3*time.Second), st.Oldest)
		require.Equal(w, "m", st.Master)
		leader, err := q.Masters().Leader(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, st.Token, leader.Token, "the election of the masters")
		require.Positive(w, st.Token)
		require.Len(w, st.Workers, 1)
		k := st.Workers[0]
		require.Equal(w, dispatch.WorkerInfo{
			ID: k.ID, Name: "k", Concurrency: 2, Prefetch: 1, Labels: []string{"a", "b"}, Assigned: 3,
		}, k)
		in := w.get(q, "task-001")
		require.Equal(w, dispatch.State("assigned"), in.State)
		require.Equal(w, k.ID, in.Worker)
		require.Equal(w, 5, in.MaxAttempts)
		require.Equal(w, 24*time.Hour, in.Retention)
		_, err = q.Get(w.Ctx, "none")
		require.ErrorIs(w, err, dispatch.ErrNoTask)
		// A znode that is not a task is listed with an error, and disturbs no call.
		require.NoError(w, w.Server.Create(path+"/tasks/stranger", nil))
		require.NoError(w, w.Server.Create(path+"/tasks/stranger/x", []byte("{}")))
		list, err := q.List(w.Ctx)
		require.NoError(w, err)
		require.Len(w, list, 6)
		require.ErrorIs(w, list[5].Err, dispatch.ErrRecord)
		require.Equal(w, "x", list[5].ID)
	})
}

func TestArgumentsAreCheckedBeforeAnythingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		q := dispatch.New(c, path, nil)
		w.ResetStats()
		big := make([]byte, 1_000_001)
		long := strings.Repeat("x", 65)
		for _, bad := range []dispatch.Task{
			{ID: "\xff"}, {ID: strings.Repeat("x", 513)}, {Payload: big}, {Delay: -1}, {Backoff: -1}, {Retention: -1},
			{MaxAttempts: -1}, {Labels: []string{""}}, {Labels: []string{long}}, {Labels: []string{"\xff"}}, {Labels: make([]string, 33)},
		} {
			_, err := q.Submit(w.Ctx, bad)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		}
		for _, f := range []func(q *dispatch.Queue, id string) error{
			func(q *dispatch.Queue, id string) error { _, err := q.Wait(w.Ctx, id); return err },
			func(q *dispatch.Queue, id string) error { _, err := q.Collect(w.Ctx, id); return err },
			func(q *dispatch.Queue, id string) error { _, err := q.Get(w.Ctx, id); return err },
			func(q *dispatch.Queue, id string) error { return q.Cancel(w.Ctx, id) },
			func(q *dispatch.Queue, id string) error { return q.Requeue(w.Ctx, id) },
		} {
			require.ErrorIs(w, f(q, ""), dispatch.ErrInvalidArgument)
			require.ErrorIs(w, f(q, "\xff"), dispatch.ErrInvalidArgument)
			require.ErrorIs(w, f(dispatch.New(c, "relative", nil), "x"), dispatch.ErrInvalidArgument)
			require.ErrorIs(w, f(dispatch.New(nil, path, nil), "x"), dispatch.ErrInvalidArgument)
			require.ErrorIs(w, f(dispatch.New(c, path, &dispatch.Options{MaxTasks: -1}), "x"), dispatch.ErrInvalidArgument)
			require.ErrorIs(w, f(dispatch.New(c, path, &dispatch.Options{ID: "\xff"}), "x"), dispatch.ErrInvalidArgument)
		}
		_, err := dispatch.New(c, "/", nil).List(w.Ctx)
		require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		_, err = dispatch.New(c, "/", nil).Stats(w.Ctx)
		require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		require.ErrorIs(w, dispatch.NewMaster(c, "x", nil).Run(w.Ctx), dispatch.ErrInvalidArgument)
		for _, bad := range []*dispatch.WorkerOptions{{Name: "\xff"}, {Concurrency: -1}, {Labels: []string{""}}} {
			require.ErrorIs(w, dispatch.NewWorker(c, path, echo, bad).Run(w.Ctx), dispatch.ErrInvalidArgument)
		}
		require.ErrorIs(w, dispatch.NewWorker(c, path, nil, nil).Run(w.Ctx), dispatch.ErrInvalidArgument)
		require.ErrorIs(w, dispatch.NewWorker(c, "x", echo, nil).Drain(w.Ctx), dispatch.ErrInvalidArgument)
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		_, err = q.Submit(over, dispatch.Task{})
		require.ErrorIs(w, err, context.Canceled)
		require.ErrorIs(w, dispatch.NewMaster(c, path, nil).Run(over), context.Canceled)
		require.ErrorIs(w, dispatch.NewWorker(c, path, echo, nil).Run(over), context.Canceled)
		require.Zero(w, w.Requests(c))
	})
}

// A deadline before the time of a delayed task ends the task at the deadline,
// not at its time.
func TestDeadlineBeforeTheTimeOfATaskEndsIt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		began := time.Now()
		w.submit(q, dispatch.Task{ID: "x", Delay: time.Hour, Deadline: began.Add(time.Minute)})
		out, err := q.Wait(w.Within(2*time.Minute), "x")
		require.NoError(w, err)
		require.Equal(w, "failed", string(out.State))
		require.Less(w, time.Since(began), time.Minute+2*time.Second)
	})
}

// After a deletion of the node that keeps a client's submissions from coming
// late, the client creates another node.
func TestSubmissionGoesOnWhenItsClientsNodeWasDeleted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x"})
		before := w.Children(path + "/clients")
		require.Len(w, before, 1)
		require.NoError(w, w.Server.Delete(path+"/clients/"+before[0]))
		w.submit(q, dispatch.Task{ID: "y"})
		require.Equal(w, "waiting", string(w.get(q, "y").State))
		after := w.Children(path + "/clients")
		require.Len(w, after, 1)
		require.NotEqual(w, before, after)
	})
}
