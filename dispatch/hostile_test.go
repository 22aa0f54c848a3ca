package dispatch_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// rewrite changes the record of the only task in the queue.
func (w *World) rewrite(changes map[string]any) {
	w.Helper()
	bucket := w.Children(path + "/tasks")
	require.Len(w, bucket, 1)
	dir := path + "/tasks/" + bucket[0]
	at := dir + "/" + w.Children(dir)[0]
	n, err := w.Server.Get(at)
	require.NoError(w, err)
	fields := map[string]any{}
	require.NoError(w, json.Unmarshal(n.Data, &fields))
	for k, v := range changes {
		fields[k] = v
	}
	data, err := json.Marshal(fields)
	require.NoError(w, err)
	require.NoError(w, w.Server.Set(at, data))
}

// A task with an impossible record is left alone, and the master continues.
func TestMasterGoesOnWhateverATaskSays(t *testing.T) {
	for _, changes := range []map[string]any{
		{"state": "assigned", "worker": "a//b", "assignment": "x"},
		{"state": "assigned", "worker": "..", "assignment": "x"},
		{"state": "assigned", "worker": "w", "assignment": "x/y"},
		{"owner": "a//b"},
		{"notBefore": time.Time{}, "run": "/234567890123456"},
		{"state": "done", "finished": time.Now(), "retentionMs": int64(math.MaxInt64)},
	} {
		inWorld(t, nil, func(w *World) {
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "bad", Delay: time.Hour})
			w.rewrite(changes)
			m := w.master(nil)
			w.worker(echo, nil)
			id := w.submit(q, dispatch.Task{})
			require.Equal(w, "done", string(w.collect(q, id).State))
			w.Pass(3 * time.Minute)
			select {
			case err := <-m.done:
				require.NoError(w, err)
			default:
			}
			found, err := q.List(w.Ctx)
			require.NoError(w, err)
			require.Len(w, found, 1, "the task is left alone")
		})
	}
}

// A task whose record is spoiled by hand takes no slot of its worker.
func TestSpoiledTaskTakesNoPlace(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(takes(time.Second), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "bad"})
		w.Settle()
		w.rewrite(map[string]any{"format": 2})
		require.NoError(w, w.Server.Delete(path+"/workers/"+w.Children(path + "/workers")[0]+"/"+w.assignments()[0]))
		began := time.Now()
		id := w.submit(q, dispatch.Task{})
		require.Equal(w, "done", string(w.collect(q, id).State))
		require.Less(w, time.Since(began), 10*time.Second)
	})
}

// assignments are those of the only worker.
func (w *World) assignments() []string {
	return w.Children(path + "/workers/" + w.Children(path + "/workers")[0])
}

// A handler that ends its goroutine, as testing's FailNow does, has failed.
func TestHandlerThatEndsItsGoroutineHasFailed(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		r := w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.Number < 3 {
				runtime.Goexit()
			}
			return []byte(a.LastFailure), nil
		}, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1})
		q := w.queue()
		out := w.collect(q, w.submit(q, dispatch.Task{}))
		require.Equal(w, 3, out.Attempt)
		require.Contains(w, string(out.Output), "goroutine")
		require.NoError(w, r.end())
		w.empty()
	})
}

// A worker can be drained although it cannot write the end of a task.
func TestDrainEndsThoughATaskCannot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		worker := dispatch.NewWorker(w.Client(), path, takes(time.Second), &dispatch.WorkerOptions{Concurrency: 2})
		r := w.beside(worker.Run)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "bad"})
		w.Settle()
		below := path + "/workers/" + w.Children(path + "/workers")[0] + "/" + w.assignments()[0] + "/below"
		require.NoError(w, w.Server.Create(below, nil))
		id := w.submit(q, dispatch.Task{})
		require.Equal(w, "done", string(w.collect(q, id).State))
		require.NoError(w, worker.Drain(w.Within(time.Minute)))
		err := <-r.done
		require.ErrorIs(w, err, session.ErrNotEmpty)
		require.ErrorContains(w, err, `task "bad" could not be given back`)
	})
}

// A result keeps its output when the record of its task was written by hand.
func TestCollectRemovesATaskThatWasWrittenByHand(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		worker := w.worker(echo, nil)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "bad", Payload: []byte("kept")})
		_, err := q.Wait(w.Within(time.Minute), "bad")
		require.NoError(w, err)
		w.rewrite(map[string]any{"priority": 1})
		require.Equal(w, "kept", string(w.collect(q, "bad").Output))
		require.NoError(w, worker.end())
		w.empty()
	})
}

func TestNumbersThatAreTooLarge(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		_, err := dispatch.New(c, path, nil).Submit(w.Ctx, dispatch.Task{Deadline: time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)})
		require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		for _, o := range []dispatch.WorkerOptions{{Concurrency: math.MaxInt}, {Prefetch: math.MaxInt}} {
			err := dispatch.NewWorker(c, path, echo, &o).Run(w.Ctx)
			require.True(w, errors.Is(err, dispatch.ErrInvalidArgument), err)
		}
	})
}

// A request that costs the connection each time (a server whose jute.maxbuffer
// is smaller, a proxy) is not repeated at the speed of the network.
func TestRequestsThatCostTheConnectionAreRepeatedWithPauses(t *testing.T) {
	for name, prefix := range map[string]string{"submit": "/clients/", "assign": "/masters/", "done": "/workers/"} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				w.master(nil)
				w.worker(echo, nil)
				q := w.queue()
				w.collect(q, w.submit(q, dispatch.Task{}))
				w.Settle()
				tries := 0
				stop := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if r.Op == "multi" && !r.OnlyChecks && strings.HasPrefix(r.Path, path+prefix) {
						tries++
						return zktest.Action{Do: zktest.CutBefore}
					}
					return zktest.Action{}
				})
				out := make(chan error, 1)
				// Waited for below; ends when nothing is in its way.
				go func() {
					id, err := q.Submit(w.Ctx, dispatch.Task{})
					if err == nil {
						_, err = q.Collect(w.Ctx, id)
					}
					out <- err
				}()
				w.Pass(time.Minute)
				require.Greater(w, tries, 3)
				require.Less(w, tries, 100)
				stop()
				w.Pass(time.Minute)
				require.NoError(w, <-out)
			})
		})
	}
}

// Each lost connection tells waiting callers to look for news: they survive any
// number of lost connections.
func TestWaitOutlastsLostConnections(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x"})
		over, cancel := context.WithCancel(w.Ctx)
		out := make(chan error, 1)
		looks := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Op != "exists" || !strings.HasPrefix(r.Path, path+"/results/") || looks == 2_100 {
				return zktest.Action{}
			}
			looks++
			return zktest.Action{Do: zktest.CutAfter}
		})
		// Waited for below; ends with over.
		go func() { _, err := q.Wait(over, "x"); out <- err }()
		w.Pass(3 * time.Hour) // a lost session takes longer than a lost connection
		cancel()
		require.ErrorIs(w, <-out, context.Canceled)
		require.Equal(w, 2_100, looks)
	})
}

// A foreign znode below an assignment keeps the task from ending. Cancel
// returns at once an error that names the znode, because the znode never goes
// by itself.
func TestCancelSaysWhatKeepsATaskFromEnding(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		begun, end := make(chan string, 1), make(chan struct{})
		w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			begun <- a.Path()
			<-end
			return nil, nil
		}, nil)
		q, c := w.queue(), w.Client()
		w.submit(q, dispatch.Task{ID: "x"})
		assignment := <-begun
		require.NoError(w, w.Server.Create(assignment+"/strange", nil))
		w.ResetStats()
		err := dispatch.New(c, path, nil).Cancel(w.Ctx, "x")
		require.ErrorIs(w, err, session.ErrNotEmpty)
		require.Less(w, w.Requests(c), 10)
		require.NoError(w, w.Server.Delete(assignment+"/strange"))
		require.NoError(w, q.Cancel(w.Ctx, "x"))
		close(end)
	})
}

// A task whose assignment was deleted by hand can be canceled, even without a
// master to take the task back.
func TestTaskWithoutItsAssignmentIsCanceled(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		master := w.master(nil)
		begun := make(chan string, 1)
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			begun <- a.Path()
			<-ctx.Done()
			return nil, ctx.Err()
		}, nil)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x"})
		assignment := <-begun
		require.NoError(w, master.end())
		require.NoError(w, w.Server.Delete(assignment))
		w.Settle()
		require.NoError(w, q.Cancel(w.Ctx, "x"))
		require.Equal(w, "canceled", string(w.get(q, "x").State))
		require.Equal(w, "canceled", string(w.collect(q, "x").State))
	})
}
