package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestAtMostSoManyHandlersAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		var now, most atomic.Int32
		w.worker(func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) {
			most.Store(max(most.Load(), now.Add(1)))
			world.SleepContext(ctx, time.Second)
			now.Add(-1)
			return nil, nil
		}, &dispatch.WorkerOptions{Concurrency: 3, Prefetch: 20})
		q := w.queue()
		var ids []string
		for n := range 12 {
			ids = append(ids, w.submit(q, numbered(n)))
		}
		began := time.Now()
		for _, id := range ids {
			w.collect(q, id)
		}
		require.Equal(w, int32(3), most.Load())
		require.InDelta(w, 4, time.Since(began).Seconds(), 0.1)
	})
}

// A failed task is retried with growing delays, and is dead after the last
// attempt: the task is then in the dead-letter list, and can be requeued.
func TestFailuresAreTriedAgainAndThenDead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		heal := false
		var at []time.Time
		var saw []string
		w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			at, saw = append(at, time.Now()), append(saw, fmt.Sprintf("%d/%d %s", a.Number, a.MaxAttempts, a.LastFailure))
			if a.Number == 2 {
				panic("at the disco")
			}
			if heal {
				return []byte("well"), nil
			}
			return nil, fmt.Errorf("failure %d\xff", a.Number)
		}, nil)
		q := w.queue()
		id := w.submit(q, dispatch.Task{MaxAttempts: 4, Backoff: 2 * time.Second})
		r, err := q.Wait(w.Ctx, id)
		require.NoError(w, err)
		require.Equal(w, dispatch.State("dead"), r.State)
		require.Equal(w, "failure 4\uFFFD", r.Error)
		require.Equal(w, 4, r.Attempt)
		require.Equal(w, []string{
			"1/4 ", "2/4 failure 1\uFFFD", "3/4 the handler has panicked: at the disco", "4/4 failure 3\uFFFD",
		}, saw)
		for i, wait := range []int{2, 4, 8} {
			require.InDelta(w, wait, at[i+1].Sub(at[i]).Seconds(), 0.1)
		}
		require.Equal(w, []string{id}, idsOf(w, q, "dead"))
		require.NoError(w, q.Cancel(w.Ctx, w.submit(q, dispatch.Task{ID: "other", Delay: time.Hour})))
		heal = true
		require.NoError(w, q.Requeue(w.Ctx, id))
		r = w.collect(q, id)
		require.Equal(w, "well", string(r.Output))
		require.Equal(w, 1, r.Attempt)
		require.ErrorIs(w, q.Requeue(w.Ctx, id), dispatch.ErrNoTask)
	})
}

func TestPermanentFailureIsNotTriedAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		n := 0
		w.worker(func(context.Context, *dispatch.Attempt) ([]byte, error) {
			n++
			return nil, fmt.Errorf("no such address: %w", dispatch.ErrPermanent)
		}, nil)
		q := w.queue()
		id := w.submit(q, dispatch.Task{})
		r, err := q.Wait(w.Ctx, id)
		require.NoError(w, err)
		require.Equal(w, dispatch.State("failed"), r.State)
		require.Contains(w, r.Error, "no such address")
		require.Equal(w, 1, n)
		require.ErrorIs(w, q.Cancel(w.Ctx, id), dispatch.ErrState)
		require.NoError(w, q.Requeue(w.Ctx, id))
		w.collect(q, id)
		require.Equal(w, 2, n)
	})
}

// Canceling ends waiting and running tasks; the handler's context ends, and its
// result is refused.
func TestCancel(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		var cause error
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return []byte("too late"), nil
		}, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 1})
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "runs"})
		w.Settle()
		w.submit(q, dispatch.Task{ID: "prefetched"})
		w.submit(q, dispatch.Task{ID: "waits"})
		w.Settle()
		for _, id := range []string{"waits", "prefetched", "runs", "runs"} {
			require.NoError(w, q.Cancel(w.Ctx, id))
		}
		w.Settle()
		require.ErrorIs(w, cause, session.ErrLost)
		require.ErrorIs(w, cause, session.ErrNodeDeleted)
		for _, id := range []string{"waits", "prefetched", "runs"} {
			r := w.collect(q, id)
			require.Equal(w, dispatch.State("canceled"), r.State)
			require.Empty(w, r.Output)
			require.Contains(w, r.Error, "canceled")
		}
		require.ErrorIs(w, q.Cancel(w.Ctx, "runs"), dispatch.ErrNoTask)
	})
}

// The result says who canceled a task, and why; the first cancellation counts.
func TestCancelBy(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		for _, id := range []string{"a", "b", "c"} {
			w.submit(q, dispatch.Task{ID: id})
		}
		require.NoError(w, q.CancelBy(w.Ctx, "a", "ann", "the mail server moves"))
		require.NoError(w, q.CancelBy(w.Ctx, "a", "bob", "as well"))
		require.NoError(w, q.Cancel(w.Ctx, "a"))
		require.Equal(w, "canceled by ann: the mail server moves", w.collect(q, "a").Error)
		require.NoError(w, q.CancelBy(w.Ctx, "b", "", "x"))
		require.Regexp(w, `^canceled by .+:\d+: x$`, w.collect(q, "b").Error)
		long := strings.Repeat("é", 512)
		require.NoError(w, q.CancelBy(w.Ctx, "c", long, long))
		for _, wrong := range [][2]string{{"ann", ""}, {"ann", long + "x"}, {long + "x", "x"}, {"\xff", "x"}, {"ann", "\xff"}} {
			require.ErrorIs(w, q.CancelBy(w.Ctx, "c", wrong[0], wrong[1]), dispatch.ErrInvalidArgument, wrong)
		}
		text := w.collect(q, "c").Error
		require.LessOrEqual(w, len(text), 1024)
		require.True(w, utf8.ValidString(text))
		require.ErrorIs(w, q.CancelBy(w.Ctx, "c", "ann", "x"), dispatch.ErrNoTask)
	})
}

// A deadline ends waiting and running tasks, even if the handler ignores its
// context; nothing hangs, and such a handler keeps its slot until it returns.
func TestDeadline(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		var cause error
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.ID == "deaf" {
				world.Pause(10 * time.Minute)
				return []byte("too late"), nil
			}
			<-ctx.Done()
			cause = context.Cause(ctx)
			return nil, ctx.Err()
		}, &dispatch.WorkerOptions{Concurrency: 2, Prefetch: -1})
		q := w.queue()
		began := time.Now()
		for _, id := range []string{"deaf", "listens", "waits"} {
			w.submit(q, dispatch.Task{ID: id, Deadline: began.Add(time.Minute)})
			w.Settle()
		}
		for id, within := range map[string]time.Duration{"waits": 0, "listens": 0, "deaf": 5 * time.Second} {
			r := w.collect(q, id)
			require.Equal(w, dispatch.State("failed"), r.State, id)
			require.Contains(w, r.Error, "deadline", id)
			require.WithinDuration(w, began.Add(time.Minute+within), r.Finished, 50*time.Millisecond, id)
		}
		require.ErrorIs(w, cause, context.DeadlineExceeded)
		w.submit(q, dispatch.Task{ID: "a", Deadline: time.Now().Add(time.Minute)})
		w.Settle()
		w.submit(q, dispatch.Task{ID: "b", Deadline: time.Now().Add(20 * time.Minute)})
		w.Settle()
		require.Equal(w, dispatch.State("assigned"), w.get(q, "b").State, "the master does not know that the slot is taken")
		w.Pass(2 * time.Minute)
		require.Equal(w, dispatch.State("failed"), w.get(q, "a").State)
		// Requeued without its deadline.
		require.NoError(w, q.Requeue(w.Ctx, "a"))
		require.Zero(w, w.get(q, "a").Deadline)
		w.Settle()
		require.NoError(w, q.Requeue(w.Ctx, "a"), "the task runs already")
	})
}

// Draining gives back tasks that have not begun, under the same attempt, and
// finishes the rest.
func TestDrain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		c := w.Client()
		k := dispatch.NewWorker(c, path, takes(time.Minute), &dispatch.WorkerOptions{Name: "a", Concurrency: 2, Prefetch: 3})
		r := w.beside(k.Run)
		w.Settle()
		require.ErrorIs(w, k.Run(w.Ctx), dispatch.ErrRunning)
		q := w.queue()
		for n := range 7 {
			w.submit(q, numbered(n))
		}
		w.Settle()
		require.Equal(w, 5, w.holds(q, "a"))
		short, cancel := context.WithTimeout(w.Ctx, time.Second)
		defer cancel()
		require.ErrorIs(w, k.Drain(short), context.DeadlineExceeded, "the task continues")
		st, err := q.Stats(w.Ctx)
		require.NoError(w, err)
		require.True(w, st.Workers[0].Draining)
		require.Equal(w, map[dispatch.State]int{"assigned": 2, "waiting": 5}, st.Tasks)
		for n := 2; n < 7; n++ {
			require.Equal(w, 1, w.get(q, numbered(n).ID).Attempt)
		}
		require.NoError(w, k.Drain(w.Ctx))
		require.NoError(w, <-r.done)
		require.Equal(w, []string{"task-000", "task-001"}, idsOf(w, q, "done"))
		require.Empty(w, w.Children(path+"/workers"))
		require.Empty(w, w.Children(path+"/alive"))
		require.ErrorIs(w, k.Run(w.Ctx), dispatch.ErrRunning, "the worker was drained")
		idle := dispatch.NewWorker(c, path, echo, nil)
		require.NoError(w, idle.Drain(w.Ctx), "the worker has never run")
	})
}

// When Run's context ends, handlers are told, and tasks are given back without
// counting the attempt; finished tasks count.
func TestRunEndsInGoodOrder_M22(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		m := w.master(nil)
		r := w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			<-ctx.Done()
			if a.ID == "task-000" {
				return []byte("just in time"), nil
			}
			return nil, ctx.Err()
		}, &dispatch.WorkerOptions{Concurrency: 2, Prefetch: 2})
		q := w.queue()
		for n := range 4 {
			w.submit(q, numbered(n))
		}
		w.Settle()
		_ = m.end() // not needed for the end of the worker
		require.NoError(w, r.end())
		require.Empty(w, w.Children(path+"/workers"))
		require.Equal(w, []string{"task-000"}, idsOf(w, q, "done"))
		require.Equal(w, []string{"task-001", "task-002", "task-003"}, idsOf(w, q, "waiting"))
		for n := 1; n < 4; n++ {
			require.Equal(w, 1, w.get(q, numbered(n).ID).Attempt)
		}
	})
}

// A worker without a connection learns of the loss before its tasks are
// assigned to another worker, and its late writes are refused (M24: a worker
// fails while executing). Kazoo's and Curator's queues deliver twice then,
// without knowing: CH57, P21.
func TestZombieWorkerIsFencedOff_M24_P4(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		type seen struct {
			at    time.Time
			token int64
			guard error
		}
		var ends, begins []seen
		handler := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			begins = append(begins, seen{at: time.Now(), token: a.Token()})
			if a.Number > 1 {
				return []byte("second"), nil
			}
			<-ctx.Done()
			ends = append(ends, seen{at: time.Now()})
			world.Pause(time.Minute) // ignores its context
			s := w.Session(w.Client())
			_, err := s.Txn(w.Ctx, a.Guard())
			ends[0].guard = err
			return []byte("first"), nil
		}
		w.worker(handler, nil) // c2
		w.Settle()
		q := w.queue()
		id := w.submit(q, dispatch.Task{})
		w.Settle()
		w.worker(handler, nil)
		w.Settle()
		w.Server.BlackHole(linkOf(2), zktest.Both)
		r := w.collect(q, id)
		w.Server.Heal()
		w.Pass(2 * time.Minute)
		require.Equal(w, "second", string(r.Output))
		require.Equal(w, 2, r.Attempt)
		require.Len(w, begins, 2)
		require.False(w, begins[1].at.Before(ends[0].at), "the first was told before")
		require.Greater(w, begins[1].token, begins[0].token)
		require.ErrorIs(w, ends[0].guard, session.ErrNoNode)
	})
}

// The tasks of a dead worker go to another worker once, with the attempt
// counted, and a task without attempts left is dead.
func TestDeathCountsAsAnAttempt(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		q := w.queue()
		poison := w.submit(q, dispatch.Task{MaxAttempts: 3, Backoff: time.Millisecond})
		for n := range 3 {
			c, r := w.workerWith(takes(time.Hour), nil)
			w.Pass(time.Second)
			require.Equal(w, n+1, w.get(q, poison).Attempt)
			w.kill(c, r)
			w.Settle()
		}
		r := w.collect(q, poison)
		require.Equal(w, dispatch.State("dead"), r.State)
		require.Equal(w, "the worker has died", r.Error)
		w.empty()
	})
}

// Outputs that are too long for a znode make the task fail, and say so.
func TestOutputThatIsTooLong(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			return make([]byte, len(a.Payload)+1_000_000), nil
		}, nil)
		q := w.queue()
		require.Equal(w, dispatch.State("done"), w.collect(q, w.submit(q, dispatch.Task{})).State)
		r := w.collect(q, w.submit(q, dispatch.Task{Payload: make([]byte, 1_000_000)}))
		require.Equal(w, dispatch.State("failed"), r.State)
		require.Contains(w, r.Error, "2000000 bytes")
	})
}

// After foreign changes of the tree, wrong znodes are left alone or repaired,
// and the rest continues.
func TestMeddling(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(takes(time.Minute), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 1})
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "a", Payload: []byte("a")})
		w.submit(q, dispatch.Task{ID: "b", Payload: []byte("b")})
		w.Settle()
		in := w.get(q, "a")
		folder := path + "/workers/" + in.Worker
		// A malformed assignment, an assignment of a missing task, and a folder
		// without a worker.
		require.NoError(w, w.Server.Create(folder+"/junk", []byte("x")))
		require.NoError(w, w.Server.Create(path+"/workers/nobody", nil))
		require.NoError(w, w.Server.Create(path+"/workers/nobody/x", []byte("x")))
		// A malformed worker, and a worker without its own sign of life.
		require.NoError(w, w.Server.Create(path+"/alive/none", []byte("x")))
		require.NoError(w, w.Server.Delete(path+"/alive/"+in.Worker))
		w.Settle()
		require.NotEqual(w, in.Worker, w.get(q, "a").Worker, "the worker registered again under another id")
		require.Equal(w, 2, w.get(q, "a").Attempt)
		// The assignment of a prefetched task.
		in = w.get(q, "b")
		for _, name := range w.Children(path + "/workers/" + in.Worker) {
			if strings.HasPrefix(name, "b~") {
				require.NoError(w, w.Server.Delete(path+"/workers/"+in.Worker+"/"+name))
			}
		}
		w.submit(q, dispatch.Task{ID: "c"})
		w.Settle()
		inC := w.get(q, "c")
		for _, name := range w.Children(path + "/workers/" + inC.Worker) {
			if strings.HasPrefix(name, "c~") {
				require.NoError(w, w.Server.Delete(path+"/workers/"+inC.Worker+"/"+name))
			}
		}
		require.NoError(w, q.Cancel(w.Ctx, "c"), "its assignment is gone")
		require.Equal(w, "done", string(w.collect(q, "a").State))
		r := w.collect(q, "b")
		require.Equal(w, "done", string(r.State))
		require.Equal(w, 2, r.Attempt, "the master has checked; the task had not begun before")
		require.Equal(w, []string{in.Worker}, w.Children(path+"/workers"), "the folder without a worker is gone")
	})
}

func TestRunEndsWhenTheClientIsClosed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		k, m := w.beside(dispatch.NewWorker(c, path, echo, nil).Run), w.beside(dispatch.NewMaster(c, path, nil).Run)
		w.Settle()
		require.NoError(w, c.Close(w.Ctx))
		require.ErrorIs(w, <-k.done, session.ErrClosed)
		require.ErrorIs(w, <-m.done, session.ErrClosed)
		_, err := dispatch.New(c, path, nil).Submit(w.Ctx, dispatch.Task{})
		require.True(w, errors.Is(err, session.ErrClosed))
	})
}
