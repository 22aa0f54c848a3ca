package dispatch_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Retention and delays count by the servers' clock, not by the writer's clock.
func TestRetentionAndDelaysCountByTheServersClock(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		inWorld(t, nil, func(w *World) {
			w.master(nil)
			w.worker(echo, nil)
			q := w.queue()
			w.submit(q, dispatch.Task{ID: "x", Delay: time.Minute, Retention: 10 * time.Minute})
			w.rewrite(map[string]any{"notBefore": time.Now().Add(wrong)})
			w.Pass(50 * time.Second)
			require.Equal(w, "waiting", string(w.get(q, "x").State))
			w.Pass(20 * time.Second)
			require.Equal(w, "done", string(w.get(q, "x").State))
			w.rewrite(map[string]any{"finished": time.Now().Add(wrong)})
			w.Pass(9 * time.Minute)
			w.get(q, "x")
			w.Pass(2 * time.Minute)
			_, err := q.Get(w.Ctx, "x")
			require.ErrorIs(w, err, dispatch.ErrNoTask)
		})
	}
}

// A deadline after the submission does not depend on the client's clock, which the record's
// date is by; not for a task that waits, and not for a running task.
func TestDeadlineAfterTheSubmissionCountsByTheServersClock(t *testing.T) {
	for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
		for _, runs := range []bool{false, true} {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				began := time.Now()
				w.submit(q, dispatch.Task{ID: "x", DeadlineAfter: time.Minute})
				w.rewrite(map[string]any{"deadline": began.Add(wrong)})
				list, err := q.List(w.Ctx)
				require.NoError(w, err)
				require.Len(w, list, 1)
				require.WithinDuration(w, began.Add(time.Minute), list[0].Deadline, time.Second)
				stopped := make(chan time.Time, 1)
				w.master(nil)
				if runs {
					w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
						if a.Deadline.IsZero() {
							return nil, nil // requeued
						}
						require.WithinDuration(w, began.Add(time.Minute), a.Deadline, time.Second)
						<-ctx.Done()
						stopped <- time.Now()
						return nil, ctx.Err()
					}, nil)
				}
				w.Pass(50 * time.Second)
				state := w.get(q, "x")
				require.Equal(w, map[bool]string{true: "assigned", false: "waiting"}[runs], string(state.State))
				require.WithinDuration(w, began.Add(time.Minute), state.Deadline, time.Second)
				w.Pass(20 * time.Second)
				require.Equal(w, "failed", string(w.get(q, "x").State))
				if runs {
					require.WithinDuration(w, began.Add(time.Minute), <-stopped, time.Second)
				}
				require.NoError(w, q.Requeue(w.Ctx, "x"))
				require.Zero(w, w.get(q, "x").Deadline)
			})
		}
	}
}

// A former version removes the deadline of a task that it requeues, and keeps the field that
// it does not know.
func TestDeadlineThatAFormerVersionHasRemovedIsGone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x", DeadlineAfter: time.Minute})
		w.rewrite(map[string]any{"deadline": time.Time{}})
		w.Pass(time.Hour)
		require.Zero(w, w.get(q, "x").Deadline)
		w.master(nil)
		w.worker(echo, nil)
		require.Equal(w, "done", string(w.collect(q, "x").State))
	})
}

func TestDeadlineAfterTheSubmissionIsChecked(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		for want, task := range map[string]dispatch.Task{
			"DeadlineAfter is -1s":           {DeadlineAfter: -time.Second},
			"Deadline and DeadlineAfter are": {DeadlineAfter: time.Second, Deadline: time.Now()},
		} {
			_, err := q.Submit(w.Ctx, task)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
			require.ErrorContains(w, err, want)
		}
		w.submit(q, dispatch.Task{ID: "x", DeadlineAfter: time.Nanosecond})
		w.rewrite(map[string]any{"deadline": time.Now().Add(time.Hour)})
		w.master(nil)
		w.Pass(time.Second)
		require.Equal(w, "failed", string(w.get(q, "x").State), "the shortest is not taken for none")
	})
}

// A master that begins to lead writes once to learn the servers' time.
func TestMasterAsksTheServersForTheTime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.submit(q, dispatch.Task{ID: "x", Delay: time.Hour})
		writes := 0
		w.Server.OnApply(func(tx zktest.Txn) {
			if tx.Code == 0 && slices.Contains(tx.Paths, path+"/admission") {
				writes++
			}
		})
		w.master(nil)
		w.Pass(time.Hour)
		require.Equal(w, 1, writes)
	})
}
