package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// A thousand workers join, meet and leave on a real server.
func TestThousandWorkersOnApache_T1_T4_T13(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	n, sessions := 1000, 4
	if testing.Short() {
		n = 200
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	o := &workerctl.Options{Root: "/thousand"}
	clients := make([]*session.Client, sessions)
	for i := range clients {
		clients[i] = world.Connect(t, cluster.Connect(), session.Options{})
	}
	j, err := workerctl.Submit(ctx, clients[0], workerctl.Spec{Name: "words", Workers: n}, o)
	require.NoError(t, err)
	crew := make([]*workerctl.Worker, n)
	began := time.Now()
	var all sync.WaitGroup
	for i := range sessions {
		// Waited for below; ends with the joins.
		all.Go(func() {
			mine, err := workerctl.Attach(ctx, clients[i], "words", o)
			if err != nil {
				t.Error(err)
				return
			}
			for k := i; k < n; k += sessions {
				w, err := mine.Join(ctx, nth(k))
				if err != nil {
					t.Error(err)
					return
				}
				crew[k] = w
			}
		})
	}
	all.Wait()
	require.False(t, t.Failed())
	t.Logf("%d workers of %d sessions have joined in %v", n, sessions, time.Since(began).Round(time.Millisecond))
	require.NoError(t, j.WaitAll(ctx))
	seen := map[int]bool{}
	for _, w := range crew {
		seen[w.ID()] = true
		require.Less(t, w.ID(), n)
	}
	require.Len(t, seen, n)
	began = time.Now()
	for _, w := range crew {
		// Waited for below; ends with the barrier.
		all.Go(func() {
			if _, err := w.Barrier(ctx, "b"); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("a barrier in %v", time.Since(began).Round(time.Millisecond))
	began = time.Now()
	for _, w := range crew {
		// Waited for below; ends with the leaving.
		all.Go(func() {
			if err := w.Leave(ctx); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("all have left at once, and the job is removed, in %v", time.Since(began).Round(time.Millisecond))
	jobs, err := workerctl.List(ctx, clients[0], o)
	require.NoError(t, err)
	require.Empty(t, jobs)
}

// TestStressOnApache has workers join, die, come back and leave while the server
// is killed, paused and restarted.
func TestStressOnApache_T16_T20(t *testing.T) {
	trouble := 3 * time.Second
	if testing.Short() {
		trouble = 2 * time.Second
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const n = 4
	o := &workerctl.Options{Root: "/stress"}
	first := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second}) // the client for the end of the test; no other client loses sessions then
	j, err := workerctl.Submit(ctx, first, workerctl.Spec{Name: "words", Workers: n}, o)
	require.NoError(t, err)
	var mu sync.Mutex
	var stays []stay
	busy, calm := context.WithTimeout(ctx, trouble)
	defer calm()
	var all sync.WaitGroup
	for i := range n {
		c := world.Connect(t, cluster.Connect(), session.Options{Timeout: 2 * time.Second})
		r := rand.New(rand.NewPCG(uint64(i), 1))
		// Waited for below; ends with busy.
		all.Go(func() {
			for busy.Err() == nil {
				mine, err := workerctl.Attach(busy, c, "words", o)
				var w *workerctl.Worker
				if err == nil {
					w, err = mine.Join(busy, nth(i))
				}
				if err != nil {
					if busy.Err() == nil && !errors.Is(err, session.ErrLost) {
						t.Error(err)
					}
					continue
				}
				one := stay{name: nth(i).Name, id: int64(w.ID()), incarnation: w.Incarnation(), token: w.Token(), from: time.Now(), fixed: true}
				one.to = world.LastSeen(w.Context(), one.from, time.Duration(r.Int64N(int64(300*time.Millisecond))))
				mu.Lock()
				stays = append(stays, one)
				mu.Unlock()
				if i > 0 && r.IntN(3) == 0 { // the first stays, so the job does not end
					err := w.Leave(busy)
					if err != nil && busy.Err() == nil && !errors.Is(err, session.ErrLost) {
						t.Error(err)
					}
				}
			}
		})
	}
	kinds := rand.New(rand.NewPCG(1, 3))
	for busy.Err() == nil {
		world.SleepContext(busy, time.Duration(kinds.Int64N(int64(time.Second))))
		if kinds.IntN(2) == 0 {
			require.NoError(t, cluster.Pause(t.Context(), 0))
			world.SleepContext(busy, time.Duration(kinds.Int64N(int64(2*time.Second))))
			require.NoError(t, cluster.Resume(t.Context(), 0))
		} else {
			require.NoError(t, cluster.Restart(t.Context(), 0))
		}
	}
	require.NoError(t, cluster.Await(t.Context()))
	all.Wait()
	require.NoError(t, checkStays(stays))
	t.Logf("%d stays", len(stays))
	var crew []*workerctl.Worker
	seen := map[int]bool{}
	for i := range n {
		w, err := j.Join(ctx, nth(i))
		require.NoError(t, err)
		crew, seen[w.ID()] = append(crew, w), true
	}
	require.Len(t, seen, n, fmt.Sprint(seen))
	for _, w := range crew {
		require.NoError(t, w.Leave(ctx))
	}
	jobs, err := workerctl.List(ctx, first, o)
	require.NoError(t, err)
	require.Empty(t, jobs)
}
