package dispatch

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/optimistic"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/stm"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// leading is a mastership with the task "x".
func leading(w *world.World) *mastership {
	w.Helper()
	m := NewMaster(w.Client(), "/queue", nil)
	_, err := New(m.client, "/queue", nil).Submit(w.Ctx, Task{ID: "x"})
	require.NoError(w, err)
	l, err := election.New(m.client, m.at(mastersDir), nil).Campaign(w.Ctx)
	require.NoError(w, err)
	return &mastership{store: m.store, l: l, s: l.Session(), scheduler: newScheduler(), kick: make(chan struct{}, 1), open: true, limit: 1}
}

// deposed is a mastership whose leadership has ended on the servers, unknown to
// the master.
func deposed(w *world.World) *mastership {
	w.Helper()
	m := leading(w)
	require.NoError(w, w.Server.Create(m.workerPath("w"), encode(profile{Format: format, Concurrency: 1})))
	require.NoError(w, w.Server.Create(m.at(dataDir, bucketOf("x"), "x~0123456789abcdef"), nil))
	require.NoError(w, w.Server.Delete(m.l.Path()))
	return m
}

// Every write of a master has the guard of its leadership.
func TestDeposedMasterWritesNothing(t *testing.T) {
	for name, write := range map[string]func(ctx context.Context, m *mastership) error{
		"closing":         func(ctx context.Context, m *mastership) error { return m.openOrClose(ctx, 5) },
		"admission":       func(ctx context.Context, m *mastership) error { return m.setAdmission(ctx, nil, session.Stat{}) },
		"worker's folder": func(ctx context.Context, m *mastership) error { return m.removeWorkerFolder(ctx, "w") },
		"recall": func(ctx context.Context, m *mastership) error {
			return m.askBack(ctx, []recall{{worker: "w", serials: []string{"1"}}})
		},
		"strays": func(ctx context.Context, m *mastership) error {
			_, err := m.sweepBucket(ctx, bucketNumber("x"))
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				m := deposed(w)
				before := w.Server.Dump()
				err := write(w.Ctx, m)
				require.True(w, m.isDeposed(err), "%v", err)
				require.Equal(w, before, w.Server.Dump())
			})
		})
	}
}

// Ephemeral znodes of a session are created in that session, or not at all.
func TestTransactionInASessionIsNotAppliedInTheNextOne(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		q := New(w.Client(), "/queue", nil)
		_, err := q.Submit(w.Ctx, Task{})
		require.NoError(w, err)
		old := w.Session(q.client)
		require.NoError(w, w.Server.ExpireSession(old.ID()))
		w.Pass(time.Minute)
		require.NotEqual(w, old.ID(), w.Session(q.client).ID())
		path := q.at(clientsDir, "late")
		err = q.applyIn(w.Ctx, old, func(tx *stm.Tx) error { return tx.Create(path, nil, session.Ephemeral, nil) })
		require.ErrorIs(w, err, session.ErrLost)
		_, err = w.Server.Get(path)
		require.Error(w, err)
	})
}

// A worker whose assignment is gone learns of the loss from the single request
// of its outcome.
func TestOutcomeOfATaskWhoseAssignmentIsGoneIsOneRequest(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		q := New(w.Client(), "/queue", nil)
		_, err := q.Submit(w.Ctx, Task{ID: "x"})
		require.NoError(w, err)
		task, err := q.readTask(w.Ctx, w.Session(q.client), "x")
		require.NoError(w, err)
		worker := NewWorker(q.client, "/queue", func(context.Context, *Attempt) ([]byte, error) { return nil, nil }, nil)
		h := &heldTask{ws: &workerSession{Worker: worker}, name: "x~1-a.1", assignment: assignment{Task: task.record, Version: task.version}}
		path := q.assignmentPath("w", h.name)
		require.NoError(w, q.Cancel(w.Ctx, "x")) // its version is another
		w.ResetStats()
		_, err = h.writeOutcomeOnce(w.Ctx, path, task.endedAs(done, "", time.Now()), nil, false)
		culprit, reason := optimistic.Culprit(err)
		require.Equal(w, path, culprit)
		require.ErrorIs(w, reason, session.ErrNoNode)
		require.Equal(w, 1, w.Requests(q.client))
	})
}

// A transaction without a way to recognize its effect is not sent again when its reply is
// lost: the servers could apply both requests.
func TestTransactionThatNothingRecognizesIsSentOnce(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		q := New(w.Client(), "/queue", nil)
		_, err := q.Submit(w.Ctx, Task{})
		require.NoError(w, err)
		w.Server.FailNth(func(r zktest.Request) bool { return r.Op == "multi" && !r.OnlyChecks }, 1, zktest.Action{Do: zktest.DropRequest})
		calls, path := 0, q.at(clientsDir, "once")
		create := func(tx *stm.Tx) error {
			calls++
			return tx.Create(path, nil, session.Ephemeral, nil)
		}
		require.ErrorIs(w, q.applyOnce(w.Ctx, create), session.ErrUnknownOutcome)
		require.Equal(w, 1, calls)
		require.NoError(w, q.applyOnce(w.Ctx, create))
	})
}
