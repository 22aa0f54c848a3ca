package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

func TestRemoveRemovesATaskInAnyState(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		worker := w.worker(asTold, nil)
		for _, id := range w.inEachState(q) {
			require.NoError(w, q.Remove(w.Ctx, id), id)
			_, err := q.Get(w.Ctx, id)
			require.ErrorIs(w, err, dispatch.ErrNoTask, id)
			require.ErrorIs(w, q.Remove(w.Ctx, id), dispatch.ErrNoTask, id)
		}
		require.NoError(w, worker.end())
		w.empty()
	})
}

// A caller that waits for a task gets an error when the task is removed.
func TestRemoveEndsTheWaitingForATask(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, other := w.queue(), w.queue()
		w.submit(q, dispatch.Task{ID: "x", Delay: time.Hour})
		out := make(chan error, 1)
		// Waited for below; ends with the task.
		go func() { _, err := other.Wait(w.Ctx, "x"); out <- err }()
		w.Settle()
		began := time.Now()
		require.NoError(w, q.Remove(w.Ctx, "x"))
		if err := <-out; err != nil { // otherwise the task was canceled
			require.ErrorIs(w, err, dispatch.ErrNoTask)
		}
		require.Less(w, time.Since(began), time.Second)
	})
}

func TestPurgeRemovesByState(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		worker := w.worker(asTold, nil)
		w.inEachState(q)
		n, err := q.Purge(w.Ctx, "dead", "done")
		require.NoError(w, err)
		require.Equal(w, 2, n)
		found, err := q.List(w.Ctx)
		require.NoError(w, err)
		require.Len(w, found, 3)
		n, err = q.Purge(w.Ctx, "waiting", "assigned", "canceled")
		require.NoError(w, err)
		require.Equal(w, 3, n)
		require.NoError(w, worker.end())
		w.empty()
		for _, bad := range [][]dispatch.State{nil, {"doen"}} {
			_, err = q.Purge(w.Ctx, bad...)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		}
	})
}

// The first purge removes payloads and results without a task and, on request,
// unreadable records. Tasks in other states stay whole.
func TestPurgeRemovesWhatBelongsToNoTask(t *testing.T) {
	for _, dirs := range [][]string{{"tasks"}, {"tasks/"}, {"tasks", "data"}, {"tasks", "results"}} {
		inWorld(t, nil, func(w *World) {
			q := w.queue()
			master, worker := w.master(nil), w.worker(asTold, nil)
			w.inEachState(q)
			require.NoError(w, worker.end())
			require.NoError(w, master.end())
			w.purge(dirs)
			w.submit(q, dispatch.Task{ID: "stays", Delay: time.Hour})
			n, err := q.Purge(w.Ctx, "done")
			require.NoError(w, err)
			require.Zero(w, n)
			require.Len(w, remains(w.Server), 2, "%v: record and payload of the remaining task", remains(w.Server))
			require.NoError(w, q.Remove(w.Ctx, "stays"))
		})
	}
}

func TestPurgeAndRemoveTakeGarbageAndLeaveWhatIsNewer(t *testing.T) {
	for name, remove := range map[string]func(w *World, q *dispatch.Queue) error{
		"purge": func(w *World, q *dispatch.Queue) error {
			n, err := q.Purge(w.Ctx, "waiting")
			require.NoError(w, err)
			require.Zero(w, n)
			n, err = q.Purge(w.Ctx, "")
			require.Equal(w, 1-len(w.Children(path+"/tasks/"+w.Children(path + "/tasks")[0])), n)
			return err
		},
		"remove": func(w *World, q *dispatch.Queue) error { return q.Remove(w.Ctx, "bad") },
	} {
		for what, changes := range map[string]map[string]any{
			"garbage": {"state": "sleeping"}, "no format": {"format": nil}, "a newer format": {"format": 2}, "a newer format, other types": {"format": 2, "id": 7},
		} {
			t.Run(name+", "+what, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					q := w.queue()
					w.submit(q, dispatch.Task{ID: "bad"})
					require.NoError(w, q.Cancel(w.Ctx, "bad")) // a canceled task has a result, too
					w.rewrite(changes)
					err := remove(w, q)
					if what == "garbage" || what == "no format" {
						require.NoError(w, err)
						require.Empty(w, remains(w.Server))
						require.ErrorIs(w, q.Remove(w.Ctx, "bad"), dispatch.ErrNoTask)
						w.submit(q, dispatch.Task{ID: "bad"})
						return
					}
					require.Len(w, remains(w.Server), 3)
					if name == "remove" {
						require.ErrorIs(w, err, dispatch.ErrRecord)
						require.ErrorContains(w, err, "has format 2")
					}
				})
			})
		}
	}
}
