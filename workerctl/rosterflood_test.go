package workerctl_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// While workers come, leave and die all the time, Stale stays below its bound, and the view
// shows all changes that are older.
func TestStaleWhileWorkersComeAndGo(t *testing.T) {
	t.Run("recursive watch", func(t *testing.T) {
		world.Needs(t, world.Subscriptions)
		for seed := range uint64(2) {
			staleWhileWorkersComeAndGo(t, nil, seed)
		}
	})
	t.Run("3.5", func(t *testing.T) {
		for seed := range uint64(2) {
			staleWhileWorkersComeAndGo(t, &zktest.Options{OldServer: true}, seed)
		}
	})
}

func staleWhileWorkersComeAndGo(t *testing.T, so *zktest.Options, seed uint64) {
	t.Helper()
	inWorld(t, so, func(w *World) {
		const n = 80
		type place struct {
			job    *workerctl.Job
			worker *workerctl.Worker // nil if it has left or died
			state  workerctl.State
			since  time.Time
		}
		j := w.submit(w.Client(), n)
		places := make([]place, n)
		for i := range places {
			places[i] = place{job: w.attach(w.Client())}
			places[i].worker = w.join(places[i].job, nth(i))
			places[i].state, places[i].since = "running", time.Now()
		}
		r := w.attach(w.Client()).Roster()
		ctx, cancel := context.WithCancel(w.Ctx)
		ran := make(chan error, 1)
		// Waited for below; ends with ctx.
		go func() { ran <- r.Run(ctx) }()
		require.NoError(w, r.WaitSynced(w.Ctx))
		random := rand.New(rand.NewPCG(seed, 1))
		limit, longest, late := session.DefaultTimeout/3, time.Duration(0), 0
		for range 2000 {
			id := random.IntN(n)
			p := &places[id]
			switch {
			case p.worker == nil:
				p.worker, p.state = w.join(p.job, nth(id)), "running"
			case random.IntN(2) == 0:
				w.leave(p.worker)
				p.worker, p.state = nil, "left"
			default:
				require.NoError(w, w.Server.ExpireSession(p.worker.Session().ID()))
				p.worker, p.state = nil, "dead"
			}
			p.since = time.Now()
			w.Pass(time.Duration(random.IntN(8)) * time.Millisecond)
			stale := r.Stale()
			require.Less(w, stale, limit)
			longest = max(longest, stale)
			shown := r.Joined()
			for i := range places {
				if time.Since(places[i].since) > stale+time.Millisecond {
					late++
					require.Equal(w, places[i].state, shown[i].State, "worker %d, %v ago", i, time.Since(places[i].since))
				}
			}
		}
		w.Logf("at most %v stale, %d states compared", longest, late)
		require.Positive(w, late)
		w.Pass(10 * time.Second)
		truth, err := j.Members(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, truth, r.Joined())
		cancel()
		require.NoError(w, <-ran)
	})
}
