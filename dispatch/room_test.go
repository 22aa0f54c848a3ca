package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// Ended, uncollected tasks do not close a queue: the oldest ended tasks make
// way, dead tasks only without others.
func TestTasksThatHaveEndedMakeWay(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(&dispatch.Options{MaxTasks: 10})
		w.worker(func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
			if a.ID == "task-000" || a.ID >= "task-040" {
				return nil, errors.New("it fails")
			}
			return nil, nil
		}, nil)
		q := w.queue()
		for n := range 40 {
			task := numbered(n)
			task.MaxAttempts, task.DeadRetention = 1, time.Minute
			w.submit(q, task)
			w.Settle()
		}
		kept := idsOf(w, q)
		require.Len(w, kept, 10)
		require.Equal(w, "task-000", kept[0], "a dead task stays")
		require.Equal(w, "task-031", kept[1])
		for n := 40; n < 60; n++ {
			task := numbered(n)
			task.MaxAttempts, task.DeadRetention = 1, time.Minute
			w.submit(q, task)
			w.Settle()
		}
		kept = idsOf(w, q)
		require.Len(w, kept, 10)
		require.Equal(w, "task-050", kept[0], "the dead make way for the dead")
		w.Pass(2 * time.Minute)
		require.Empty(w, idsOf(w, q), "they have a retention")
	})
}

// A submission waits for room if requested, and at most until its context ends.
func TestSubmitWaitsForRoom(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(&dispatch.Options{MaxTasks: 2})
		w.Settle()
		q := dispatch.New(w.Client(), path, &dispatch.Options{WaitForRoom: true})
		other := w.queue()
		w.submit(other, numbered(0))
		w.submit(other, numbered(1))
		w.Settle()
		_, err := q.Submit(w.Within(time.Minute), numbered(2))
		require.ErrorIs(w, err, dispatch.ErrFull)
		require.ErrorIs(w, err, context.DeadlineExceeded)
		out := make(chan error, 1)
		// Waited for below; ends when there is room.
		go func() { _, err := q.Submit(w.Ctx, numbered(2)); out <- err }()
		w.Pass(35 * time.Second)
		require.Empty(w, out)
		require.NoError(w, other.Cancel(w.Ctx, numbered(0).ID))
		require.NoError(w, other.Cancel(w.Ctx, numbered(1).ID))
		began := time.Now()
		require.NoError(w, <-out)
		require.Less(w, time.Since(began), time.Second, "the waiting call is woken")
	})
}
