package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// After any deletion by an operator, newly submitted tasks work.

// purges are the folders of a queue: each alone, each pair, and all.
func purges() [][]string {
	dirs := []string{"tasks", "data", "results", "workers", "alive", "clients", "admission", "admission/open", "masters"}
	var out [][]string
	for i, a := range dirs {
		out = append(out, []string{a})
		for _, b := range dirs[i+1:] {
			out = append(out, []string{a, b})
		}
	}
	return append(out, dirs, []string{"tasks/", "results/"}, []string{"data/"}, []string{"results/"}, []string{"workers/"})
}

// purge deletes folders; with a slash at the end, only the contents.
func (w *World) purge(dirs []string) {
	w.Helper()
	for _, dir := range dirs {
		parent, all := strings.CutSuffix(path+"/"+dir, "/")
		if !all {
			_ = w.Server.DeleteAll(parent) // may have gone with another folder
			continue
		}
		for _, name := range w.Children(parent) {
			require.NoError(w, w.Server.DeleteAll(parent+"/"+name))
		}
	}
	w.Settle()
}

// inEachState makes a waiting task, an assigned task, and ended tasks of all
// kinds.
func (w *World) inEachState(q *dispatch.Queue) []string {
	w.Helper()
	w.submit(q, dispatch.Task{ID: "waiting", Delay: 40 * time.Second})
	w.submit(q, dispatch.Task{ID: "assigned", Payload: []byte("20s")})
	w.submit(q, dispatch.Task{ID: "done", Payload: []byte("done")})
	w.submit(q, dispatch.Task{ID: "dead", Payload: []byte("dead"), MaxAttempts: 1})
	w.submit(q, dispatch.Task{ID: "canceled", Delay: time.Hour})
	require.NoError(w, q.Cancel(w.Ctx, "canceled"))
	w.Pass(5 * time.Second)
	return []string{"waiting", "assigned", "done", "dead", "canceled"}
}

// asTold works by the instructions of the payload.
func asTold(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
	if d, err := time.ParseDuration(string(a.Payload)); err == nil {
		world.SleepContext(ctx, d)
	}
	if string(a.Payload) == "dead" {
		return nil, context.DeadlineExceeded
	}
	return a.Payload, ctx.Err()
}

// works asserts that all operations of a queue succeed within five minutes, and
// that no former task leaves any znodes.
func (w *World) works(q *dispatch.Queue, former []string) {
	w.Helper()
	began := time.Now()
	ctx := w.Within(5 * time.Minute)
	for _, id := range []string{"new-1", "new-2", "new-3"} {
		w.submit(q, dispatch.Task{ID: id, Payload: []byte(id)})
		out, err := q.Collect(ctx, id)
		require.NoError(w, err)
		require.Equal(w, id, string(out.Output))
	}
	w.submit(q, dispatch.Task{ID: "other", Delay: time.Hour})
	require.NoError(w, q.Cancel(ctx, "other"))
	require.NoError(w, q.Requeue(ctx, "other"))
	_, err := q.Collect(ctx, "other")
	require.NoError(w, err)
	_, err = q.Stats(ctx)
	require.NoError(w, err)
	require.Less(w, time.Since(began), 30*time.Second)
	for _, id := range former {
		r, err := q.Collect(ctx, id)
		switch {
		case err == nil:
			require.True(w, r.State.Finished(), id)
		case id == "done": // its output may be missing
			require.True(w, isAny(err, dispatch.ErrNoTask, dispatch.ErrRecord), "%s: %v", id, err)
		default:
			require.ErrorIs(w, err, dispatch.ErrNoTask, id)
		}
	}
	found, err := q.List(ctx)
	require.NoError(w, err)
	require.Empty(w, found)
}

func TestTasksWorkAfterAnyFoldersWereDeletedUnderRunningRoles(t *testing.T) {
	for _, dirs := range purges() {
		t.Run(strings.Join(dirs, ","), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				master, worker := w.master(nil), w.worker(asTold, nil)
				former := w.inEachState(q)
				w.purge(dirs)
				w.works(q, former)
				require.NoError(w, master.end(), "the master was still running")
				require.NoError(w, worker.end(), "the worker was still running")
			})
		})
	}
}

func TestTasksWorkAfterAnyFoldersWereDeletedBetweenRuns(t *testing.T) {
	for _, dirs := range purges() {
		t.Run(strings.Join(dirs, ","), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				master, worker := w.master(nil), w.worker(asTold, nil)
				former := w.inEachState(q)
				require.NoError(w, master.end())
				require.NoError(w, worker.end())
				w.purge(dirs)
				w.master(nil)
				w.worker(asTold, nil)
				w.Settle()
				w.works(q, former)
			})
		})
	}
}

// A worker whose folder was deleted registers again at once under another id.
// The handlers of its former tasks get the cause of their end.
func TestWorkerWhoseFolderWasDeletedRegistersAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		begun, cause := make(chan string, 1), make(chan error, 1)
		r := w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.ID == "long" && a.Number == 1 {
				begun <- a.Path()
				<-ctx.Done()
				cause <- context.Cause(ctx)
			}
			return a.Payload, ctx.Err()
		}, nil)
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "long"})
		assignment := <-begun
		require.NoError(w, w.Server.DeleteAll(assignment[:strings.LastIndexByte(assignment, '/')]))
		require.ErrorIs(w, <-cause, session.ErrNodeDeleted)
		began := time.Now()
		w.collect(q, w.submit(q, dispatch.Task{}))
		require.Less(w, time.Since(began), 10*time.Second)
		require.Equal(w, 2, w.collect(q, "long").Attempt)
		require.NoError(w, r.end())
		w.empty()
	})
}

func isAny(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}
