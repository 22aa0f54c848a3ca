package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/session"
)

// pause pauses the queue, which is not paused.
func (w *World) pause(q *dispatch.Queue) {
	w.Helper()
	isNew, err := q.Pause(w.Within(time.Minute), "ann", "migration")
	require.NoError(w, err)
	require.True(w, isNew)
}

// resume resumes the queue, which is paused.
func (w *World) resume(q *dispatch.Queue) {
	w.Helper()
	existed, err := q.Resume(w.Within(time.Minute))
	require.NoError(w, err)
	require.True(w, existed)
}

// pauseShown is the pause of the queue as Stats shows it.
type pauseShown struct {
	by, reason string
	since      time.Time
}

// paused is the pause of the queue; nil for none.
func (w *World) paused(q *dispatch.Queue) *pauseShown {
	w.Helper()
	st, err := q.Stats(w.Within(time.Minute))
	require.NoError(w, err)
	p := pauseShown{st.PausedBy, st.PauseReason, st.PausedSince}
	if !st.Paused {
		require.Zero(w, p)
		return nil
	}
	return &p
}

// limit is MaxTasks of the queue.
func (w *World) limit(q *dispatch.Queue) int {
	w.Helper()
	st, err := q.Stats(w.Within(time.Minute))
	require.NoError(w, err)
	return st.MaxTasks
}

// The queue takes tasks while it is paused, and the tasks that a worker has go on, also those that
// it has not begun; no worker gets a task, and none has to give a task back for another.
func TestPausedQueueAssignsNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		w.worker(takes(10*time.Second), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 1})
		for n := range 3 {
			w.submit(q, numbered(n))
		}
		w.Settle()
		before := time.Now()
		w.pause(q)
		p := w.paused(q)
		require.Equal(w, []string{"ann", "migration"}, []string{p.by, p.reason})
		require.WithinDuration(w, before, p.since, time.Second)
		w.worker(echo, nil)
		w.submit(q, numbered(3))
		w.Pass(9 * time.Second)
		require.Len(w, w.running(q), 2, "an idle worker gets none of them")
		w.Pass(15 * time.Second)
		require.EqualValues(w, "done", w.get(q, "task-000").State)
		require.EqualValues(w, "done", w.get(q, "task-001").State)
		w.Pass(time.Hour)
		for _, id := range []string{"task-002", "task-003"} {
			require.EqualValues(w, "waiting", w.get(q, id).State)
		}
		w.resume(q)
		w.Settle()
		require.Len(w, w.running(q), 1, "at once; the idle worker has done the other task")
		require.Nil(w, w.paused(q))
	})
}

// Everything but the assignment goes on: deadlines, dead workers, retries, retention, a full queue,
// slots of schedules, and the calls of clients.
func TestPausedQueueIsTakenCareOf(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(&dispatch.Options{MaxTasks: 10})
		c, r := w.workerWith(takes(time.Hour), nil)
		w.submit(q, dispatch.Task{ID: "held", Backoff: time.Second})
		w.submit(q, dispatch.Task{ID: "last attempt", MaxAttempts: 1})
		w.Settle()
		w.pause(q)
		w.submit(q, dispatch.Task{ID: "late", DeadlineAfter: time.Minute})
		w.submit(q, dispatch.Task{ID: "canceled", Retention: time.Minute})
		require.NoError(w, q.Cancel(w.Ctx, "canceled"))
		w.set(q, minutely("x"))
		w.kill(c, r)
		w.Pass(2 * time.Minute)
		require.EqualValues(w, "waiting", w.get(q, "held").State)
		require.Equal(w, 2, w.get(q, "held").Attempt)
		require.EqualValues(w, "dead", w.get(q, "last attempt").State)
		require.EqualValues(w, "failed", w.get(q, "late").State)
		_, err := q.Get(w.Ctx, "canceled")
		require.ErrorIs(w, err, dispatch.ErrNoTask)
		require.Equal(w, "01:00", strings.TrimSpace(strings.Join(w.slots(q), "")), "of later slots, the former task has not ended")
		for n := range 8 {
			w.submit(q, numbered(n))
		}
		w.Settle()
		_, err = q.Submit(w.Ctx, numbered(8))
		require.ErrorIs(w, err, dispatch.ErrFull)
		require.NotNil(w, w.paused(q))
	})
}

// A pause outlives the master, the client that has paused the queue, and a change of MaxTasks.
func TestPauseOutlivesEveryone(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, q := w.Client(), w.queue()
		mc, m := w.masterWith(nil)
		w.pause(dispatch.New(c, path, nil))
		w.Expire(c)
		w.worker(echo, nil)
		w.submit(q, numbered(0))
		w.kill(mc, m)
		for _, limit := range []int{0, 77, 0} {
			m = w.master(&dispatch.Options{MaxTasks: limit})
			w.Pass(time.Minute)
			require.EqualValues(w, "waiting", w.get(q, "task-000").State)
			require.NoError(w, m.end())
		}
		require.Equal(w, 77, w.limit(q))
		require.Equal(w, "ann", w.paused(q).by)
		w.master(nil)
		w.Settle()
		w.resume(q)
		require.Equal(w, "0", string(w.collect(q, "task-000").Output))
	})
}

// The first pause stays, and only calls that change something say so.
func TestPauseAndResumeAreIdempotent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		existed, err := q.Resume(w.Ctx)
		require.NoError(w, err)
		require.False(w, existed)
		_, err = w.Server.Get(path)
		require.Error(w, err, "Resume creates no queue")
		isNew, err := q.Pause(w.Ctx, "", "why")
		require.NoError(w, err)
		require.True(w, isNew)
		first := w.paused(q)
		require.NotEmpty(w, first.by)
		w.Pass(time.Minute)
		isNew, err = w.queue().Pause(w.Ctx, "bob", "another reason")
		require.NoError(w, err)
		require.False(w, isNew)
		require.Equal(w, first, w.paused(q))
		w.resume(q)
		existed, err = q.Resume(w.Ctx)
		require.NoError(w, err)
		require.False(w, existed)
		w.pause(q)
	})
}

// Of clients that pause the queue at the same time, one does, and knows.
func TestPausesAtTheSameTime(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		type result struct {
			by    string
			isNew bool
			err   error
		}
		out := make(chan result, 8)
		queues := []*dispatch.Queue{}
		for range cap(out) {
			queues = append(queues, w.queue())
		}
		w.submit(queues[0], numbered(0))
		for n, q := range queues {
			// Waited for below; ends with the call.
			go func() {
				by := fmt.Sprint("by ", n)
				isNew, err := q.Pause(w.Ctx, by, "why")
				out <- result{by, isNew, err}
			}()
		}
		made := []string{}
		for range queues {
			r := <-out
			require.NoError(w, r.err)
			if r.isNew {
				made = append(made, r.by)
			}
		}
		require.Equal(w, []string{w.paused(queues[0]).by}, made)
	})
}

func TestRequestsOfPauseAndResume(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c, mc := w.Client(), w.Client()
		q := dispatch.New(c, path, nil)
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.submit(q, numbered(0))
		w.Settle()
		two := map[string]int{"getData": 1, "multi": 1}
		learn := map[string]int{"getData": 4, "exists": 1, "sync": 1} // two by its view
		require.Equal(w, learn, w.counts(mc, func() {
			require.Equal(w, two, w.counts(c, func() { w.pause(q) }))
		}))
		require.Equal(w, learn, w.counts(mc, func() {
			require.Equal(w, two, w.counts(c, func() { w.resume(q) }))
		}))
	})
}

func TestInvalidPausesAreRefused(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		long := strings.Repeat("x", 1025)
		for _, bad := range [][2]string{{"ann", ""}, {"ann", long}, {long, "why"}, {"\xff", "why"}, {"ann", "\xff"}} {
			_, err := q.Pause(w.Ctx, bad[0], bad[1])
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument, "%q", bad)
		}
		_, err := w.Server.Get(path)
		require.Error(w, err, "nothing was sent")
		isNew, err := q.Pause(w.Ctx, long[1:], long[1:])
		require.NoError(w, err)
		require.True(w, isNew)
	})
}

// An operator deletes or overwrites admission: the queue is resumed. A record of a newer version
// stays, and its fields do.
func TestPauseWhoseZnodeWasDamaged(t *testing.T) {
	at := path + "/admission"
	for name, damage := range map[string]func(w *World) error{
		"deleted":   func(w *World) error { return w.Server.DeleteAll(at) },
		"garbage":   func(w *World) error { return w.Server.Set(at, []byte("garbage")) },
		"a garbled": func(w *World) error { return w.Server.Set(at, []byte(`{"format":1,"maxTasks":7,"paused":17}`)) },
		"empty":     func(w *World) error { return w.Server.Set(at, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				m := w.master(nil)
				w.worker(echo, nil)
				w.pause(q)
				w.submit(q, numbered(0))
				require.NoError(w, damage(w))
				require.EqualValues(w, "done", w.collect(q, "task-000").State)
				require.Nil(w, w.paused(q))
				w.pause(q)
				require.NoError(w, m.end())
				require.NoError(w, damage(w))
				w.pause(q) // without a master
				require.Equal(w, 100_000, w.limit(q))
			})
		})
	}
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		w.worker(echo, nil)
		w.pause(q)
		w.extend(at)
		node, err := w.Server.Get(at)
		require.NoError(w, err)
		require.NoError(w, w.Server.Set(at, []byte(strings.Replace(string(node.Data), `"by"`, `"ticket":"T-7","by"`, 1))))
		w.Pass(time.Second)
		m := w.master(&dispatch.Options{MaxTasks: 77})
		w.Pass(time.Second)
		require.NoError(w, m.end())
		require.Equal(w, map[string]any{"name": "a"}, w.tenantIn(at))
		isNew, err := q.Pause(w.Ctx, "bob", "why")
		require.NoError(w, err)
		require.False(w, isNew)
		node, err = w.Server.Get(at)
		require.NoError(w, err)
		require.Contains(w, string(node.Data), `"ticket":"T-7"`)
		w.resume(q)
		require.Equal(w, map[string]any{"name": "a"}, w.tenantIn(at))
		require.NoError(w, w.Server.Set(at, []byte(`{"format":2}`)))
		_, err = q.Pause(w.Ctx, "ann", "why")
		require.ErrorIs(w, err, dispatch.ErrRecord)
		require.ErrorContains(w, err, at)
		_, err = q.Resume(w.Ctx)
		require.ErrorIs(w, err, dispatch.ErrRecord)
	})
}

// An operator writes a pause by hand, without a name and a reason.
func TestPauseThatWasWrittenByHand(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		w.worker(echo, nil)
		w.Settle()
		require.NoError(w, w.Server.Set(path+"/admission", []byte(`{"format":1,"maxTasks":100,"paused":{}}`)))
		w.submit(q, numbered(0))
		w.Pass(time.Minute)
		require.EqualValues(w, "waiting", w.get(q, "task-000").State)
		require.Equal(w, pauseShown{}, *w.paused(q))
		w.resume(q)
		w.collect(q, "task-000")
	})
}

// A client that may read the queue only can neither pause nor resume it.
func TestPauseNeedsTheRightToWrite(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		ann := session.Options{Credentials: []session.Credential{session.Digest("ann", "secret")}}
		own := dispatch.New(w.ClientWith(ann), path, &dispatch.Options{ACL: slices.Concat(session.CreatorACL(), session.WorldACL(session.PermRead))})
		w.pause(own)
		q := w.queue()
		_, err := q.Resume(w.Ctx)
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Equal(w, "ann", w.paused(q).by)
		w.resume(own)
		_, err = q.Pause(w.Ctx, "bob", "why")
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.Nil(w, w.paused(q))
	})
}
