package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A leader that has lost its followers answers every sync, and does not know a
// task that a majority has confirmed: no caller may be told that the task does
// not exist.
func TestTaskExistsThoughALeaderWithoutFollowersDoesNotKnowIt(t *testing.T) {
	for name, call := range map[string]func(w *World, q *dispatch.Queue) error{
		"Get":     func(w *World, q *dispatch.Queue) error { _, err := q.Get(w.Within(time.Minute), "x"); return err },
		"Wait":    func(w *World, q *dispatch.Queue) error { _, err := q.Wait(w.Within(time.Minute), "x"); return err },
		"Cancel":  func(w *World, q *dispatch.Queue) error { return q.Cancel(w.Within(time.Minute), "x") },
		"Remove":  func(w *World, q *dispatch.Queue) error { return q.Remove(w.Within(time.Minute), "x") },
		"Requeue": func(w *World, q *dispatch.Queue) error { return q.Requeue(w.Within(time.Minute), "x") },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := dispatch.New(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), path, nil)
				other := dispatch.New(w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{}), path, nil)
				w.submit(mine, dispatch.Task{ID: "first", Delay: time.Hour})
				w.submit(other, dispatch.Task{ID: "second", Delay: time.Hour})
				w.Settle()
				w.Server.IsolateServer(alone)
				w.submit(other, dispatch.Task{ID: "x", Delay: time.Hour})
				require.NotEqual(w, alone, w.Server.Leader())
				require.NotErrorIs(w, call(w, mine), dispatch.ErrNoTask)
			})
		})
	}
}

// Such a leader denies neither the tasks nor the workers nor the master, and does not say
// that the queue is closed: the answer comes once the server follows again.
func TestDeposedServerDoesNotReportAnEmptyQueue(t *testing.T) {
	stats := func(check func(w *World, s dispatch.Stats)) func(w *World, q *dispatch.Queue) {
		return func(w *World, q *dispatch.Queue) {
			s, err := q.Stats(w.Within(time.Minute))
			require.NoError(w, err)
			check(w, s)
		}
	}
	list := func(states ...dispatch.State) func(w *World, q *dispatch.Queue) {
		return func(w *World, q *dispatch.Queue) {
			list, err := q.List(w.Within(time.Minute), states...)
			require.NoError(w, err)
			require.NotEmpty(w, list)
		}
	}
	for name, ask := range map[string]func(w *World, q *dispatch.Queue){
		"List":       list(),
		"List state": list("canceled"),
		"Workers": func(w *World, q *dispatch.Queue) {
			list, err := q.Workers(w.Within(time.Minute))
			require.NoError(w, err)
			require.NotEmpty(w, list)
		},
		"Stats tasks":   stats(func(w *World, s dispatch.Stats) { require.NotEmpty(w, s.Tasks) }),
		"Stats workers": stats(func(w *World, s dispatch.Stats) { require.NotEmpty(w, s.Workers) }),
		"Stats master":  stats(func(w *World, s dispatch.Stats) { require.NotEmpty(w, s.Master) }),
		"Stats open":    stats(func(w *World, s dispatch.Stats) { require.True(w, s.Open) }),
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				require.NoError(w, w.Server.WaitLeader(w.Ctx))
				alone := w.Server.Leader()
				mine := dispatch.New(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), path, nil)
				near := w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{})
				other := dispatch.New(near, path, nil)
				w.submit(other, dispatch.Task{ID: "first", Delay: time.Hour})
				require.NoError(w, other.Remove(w.Ctx, "first"))
				require.NoError(w, w.Server.Delete(path+"/admission/open"))
				before, err := mine.Stats(w.Ctx)
				require.NoError(w, err)
				require.Equal(w, dispatch.Stats{Tasks: before.Tasks, MaxTasks: before.MaxTasks}, before)
				require.Empty(w, before.Tasks)
				w.Settle()
				w.Server.IsolateServer(alone)
				w.beside(dispatch.NewMaster(near, path, nil).Run)
				w.beside(dispatch.NewWorker(near, path, echo, nil).Run)
				_, err = other.Submit(w.Ctx, dispatch.Task{ID: "x", Delay: time.Hour})
				for err != nil { // until the master has opened the queue
					require.ErrorIs(w, err, dispatch.ErrFull)
					w.Pass(time.Millisecond)
					_, err = other.Submit(w.Ctx, dispatch.Task{ID: "x", Delay: time.Hour})
				}
				require.NoError(w, other.Cancel(w.Ctx, "x"))
				workers, err := other.Workers(w.Ctx)
				for ; len(workers) == 0; workers, err = other.Workers(w.Ctx) {
					require.NoError(w, err)
					w.Pass(time.Millisecond)
				}
				require.NoError(w, err)
				require.NotEqual(w, alone, w.Server.Leader())
				back := time.AfterFunc(10*time.Second, w.Server.HealPeers) // for an answer to come
				defer back.Stop()
				ask(w, mine)
			})
		})
	}
}
