package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server.

// counts are c's requests during f, without pings, heartbeats and publications.
func (w *World) counts(c *session.Client, f func()) map[string]int {
	w.Helper()
	w.Settle()
	w.ResetStats()
	w.resetBeats()
	f()
	w.Settle()
	out := w.Server.Stats().BySession[w.ID(c)]
	delete(out, "ping")
	w.mu.Lock()
	defer w.mu.Unlock()
	if out["multi"] -= w.beats[w.ID(c)]; out["multi"] <= 0 {
		delete(out, "multi")
	}
	return out
}

// countBeats tells heartbeats, and the master's publications of counts, from other
// transactions from now on.
func (w *World) countBeats() {
	w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if r.OnlyChecks || publishes(r.Paths) {
			w.mu.Lock()
			w.beats[r.Session]++
			w.mu.Unlock()
		}
		return zktest.Action{}
	})
	w.resetBeats()
}

func (w *World) resetBeats() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.beats = map[int64]int{}
}

func TestRequestsOfEachOperation(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c, mc, kc := w.Client(), w.Client(), w.Client()
		q := dispatch.New(c, path, nil)
		task := dispatch.Task{ID: "a", Payload: []byte("x")}
		w.submit(q, task)
		w.submit(q, dispatch.Task{ID: "b", Delay: time.Hour})
		require.NoError(w, q.Cancel(w.Ctx, "a"))
		w.collect(q, "a")
		// Clients.
		require.Equal(w, map[string]int{"multi": 1}, w.counts(c, func() { w.submit(q, task) }), "submit")
		require.Equal(w, map[string]int{"multi": 1, "sync": 1, "getData": 1}, w.counts(c, func() { w.submit(q, task) }), "again")
		require.Equal(w, map[string]int{"sync": 1, "getData": 1}, w.counts(c, func() { w.get(q, "a") }), "get")
		require.Equal(w, map[string]int{"getData": 1, "multi": 1}, w.counts(c, func() { require.NoError(w, q.Cancel(w.Ctx, "b")) }), "cancel")
		require.Equal(w, map[string]int{"getData": 1, "multi": 1}, w.counts(c, func() { require.NoError(w, q.Requeue(w.Ctx, "b")) }), "requeue")
		require.NoError(w, q.Cancel(w.Ctx, "b"))
		require.Equal(w, map[string]int{"exists": 1, "getData": 2, "multi": 1}, w.counts(c, func() { w.collect(q, "b") }), "collect")
		// A master takes over, and a worker comes.
		takeOver := w.counts(mc, func() { w.beside(dispatch.NewMaster(mc, path, nil).Run); w.Settle() })
		w.beside(dispatch.NewWorker(kc, path, echo, nil).Run)
		w.Settle()
		require.Equal(w, "done", string(w.get(q, "a").State))
		w.collect(q, "a")
		// One task, from end to end, on a slow network.
		w.Server.Delay(zktest.Link{}, zktest.Both, 5*time.Millisecond)
		one := func() {
			w.submit(q, task)
			w.collect(q, "a")
		}
		client := w.counts(c, one)
		require.Equal(w, map[string]int{"multi": 2, "exists": 1, "getData": 2}, client)
		master := w.counts(mc, one)
		require.Equal(w, map[string]int{"getData": 2, "multi": 1}, master)
		worker := w.counts(kc, one)
		require.Equal(w, map[string]int{"getData": 2, "multi": 1}, worker)
		t.Logf("to take over with one task: %v; a task alone takes 11 requests: client %v, master %v, worker %v", takeOver, client, master, worker)
	})
}

// With many tasks, a task takes fewer requests than a single task (11): the
// master combines many assignments into one transaction.
func TestRequestsPerTask(t *testing.T) {
	n := 2000
	if testing.Short() {
		n = 500
	}
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c, mc, kc := w.Client(), w.Client(), w.Client()
		q := dispatch.New(c, path, nil)
		for i := range n / 2 { // half of them wait already
			w.submit(q, numbered(i))
		}
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.beside(dispatch.NewWorker(kc, path, echo, &dispatch.WorkerOptions{Concurrency: 64}).Run)
		w.ResetStats()
		w.resetBeats()
		for i := n / 2; i < n; i++ {
			w.submit(q, numbered(i))
		}
		for i := range n {
			w.collect(q, numbered(i).ID)
		}
		w.Settle()
		total, requests := 0, w.Server.Stats().Requests
		delete(requests, "ping")
		for _, k := range requests {
			total += k
		}
		w.mu.Lock()
		for _, k := range w.beats {
			total -= k
		}
		w.mu.Unlock()
		per := float64(total) / float64(n)
		t.Logf("%d tasks: %.2f requests each: %v", n, per, requests)
		require.Less(w, per-float64(2*len(w.Children(path+"/tasks")))/float64(n), 11.0, "without the making of buckets: %v", requests)
	})
}
