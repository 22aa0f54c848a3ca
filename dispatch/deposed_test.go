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
func TestTaskExistsThoughALeaderThatLeadsNobodyDoesNotKnowIt(t *testing.T) {
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
