package dispatch_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// ledger counts the begun handlers of each task.
type ledger struct {
	// mu guards the fields below.
	mu   sync.Mutex
	runs map[string]int
}

// counting is takes with a count of the calls.
func (l *ledger) counting(d time.Duration) dispatch.Handler {
	return func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		l.mu.Lock()
		l.runs[a.ID]++
		l.mu.Unlock()
		return takes(d)(ctx, a)
	}
}

// Prefetched tasks of a worker do not wait when an idle worker joins.
func TestPrefetchedTasksGoToAnIdleWorker(t *testing.T) {
	for _, slots := range []int{8, 1} {
		t.Run(fmt.Sprint(slots, " slots"), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				l := ledger{runs: map[string]int{}}
				w.master(nil)
				o := dispatch.WorkerOptions{Concurrency: slots, Prefetch: 16 - slots}
				w.worker(l.counting(5*time.Second), &o)
				w.Settle()
				q := w.queue()
				began := time.Now()
				var ids []string
				for n := range 16 {
					ids = append(ids, w.submit(q, numbered(n)))
				}
				w.Pass(time.Second)
				require.Len(w, idsOf(w, q, "assigned"), 16)
				w.worker(l.counting(5*time.Second), &o)
				workers := map[string]int{}
				for _, id := range ids {
					r := w.collect(q, id)
					require.Equal(w, 1, r.Attempt)
					workers[r.Worker]++
				}
				// The second worker comes a second later, in the middle of a task of the first.
				require.InDelta(w, 1+5*8/slots, time.Since(began).Seconds(), 0.6)
				require.Len(w, workers, 2)
				for id, n := range l.runs {
					require.Equal(w, 1, n, id)
				}
				require.Len(w, l.runs, 16)
			})
		})
	}
}

// A take-back costs a read and a write of the master for each worker, a read of that
// worker, and for each task the requests to give the task back and to assign it again.
func TestRequestsOfATakeBack(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		mc, kc, q := w.Client(), w.Client(), w.queue()
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		o := dispatch.WorkerOptions{Concurrency: 1, Prefetch: 5}
		w.beside(dispatch.NewWorker(kc, path, takes(time.Hour), &o).Run)
		w.Settle()
		for n := range 4 {
			w.submit(q, numbered(n))
		}
		w.Pass(time.Second)
		other := w.Client()
		var worker map[string]int
		master := w.counts(mc, func() {
			worker = w.counts(kc, func() {
				w.beside(dispatch.NewWorker(other, path, takes(time.Hour), &o).Run)
				w.Pass(time.Minute)
			})
		})
		require.Len(w, idsOf(w, q, "assigned"), 4)
		require.Equal(w, 1, worker["getData"], "the folder: %v", worker)
		require.LessOrEqual(w, worker["multi"], 2, "two tasks, at once or one after the other: %v", worker)
		require.LessOrEqual(w, len(worker), 2, worker)
		t.Logf("master: %v", master)
	})
}

// Workers are not asked for tasks that no other worker can take.
func TestTasksThatNoOtherWorkerTakesAreNotAskedFor(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		q := w.queue()
		k := w.Client()
		w.beside(dispatch.NewWorker(k, path, takes(time.Hour), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 3, Labels: []string{"gpu"}}).Run)
		w.Settle()
		for n := range 4 {
			task := numbered(n)
			task.Labels = []string{"gpu"}
			w.submit(q, task)
		}
		w.worker(takes(time.Hour), nil)
		w.Pass(time.Minute)
		in := w.get(q, "task-003")
		data, _, err := w.Session(k).Get(w.Ctx, path+"/workers/"+in.Worker)
		require.NoError(w, err)
		require.NotContains(w, string(data), "recalled")
	})
}

// Tasks that the first worker has prefetched are taken back for the second
// worker, with faults in the master or in one of the workers: every task ends
// once, and no task begins twice in the same attempt.
func TestTakeBackUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, tested := range map[string]string{"master": "M", "the worker that has them": "A", "the idle worker": "B"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &ledger{}
			tr := world.Trial{
				Name: name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					c := startCrew(e, p, "", nil)
					l.runs = map[string]int{}
					master := dispatch.NewMaster(p.Other, path, nil)
					if tested == "M" {
						master = dispatch.NewMaster(p.Tested, path, nil)
					}
					c.start(master.Run)
					first := p.Other
					if tested == "A" {
						first = p.Tested
					}
					c.start(dispatch.NewWorker(first, path, l.counting(5*time.Second), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 5}).Run)
					for n := range 4 {
						if _, err := c.queue.Submit(context.Background(), numbered(n)); err != nil {
							return err
						}
					}
					world.Pause(time.Second)
					return nil
				},
				Counts: func(r zktest.Request) bool {
					return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" && !r.OnlyChecks
				},
			}
			c := tr.Case()
			c.Op = func(ctx context.Context, e *matrix.Env) error {
				p := e.State.(*world.Party)
				crew := p.State.(*crew)
				second := p.Other
				if tested == "B" {
					second = p.Tested
				}
				crew.start(dispatch.NewWorker(second, path, l.counting(5*time.Second), &dispatch.WorkerOptions{Concurrency: 1, Prefetch: 5}).Run)
				for n := range 4 {
					over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					r, err := crew.queue.Wait(over, numbered(n).ID)
					cancel()
					if err != nil || r.State != "done" {
						return fmt.Errorf("%+v: %w", r, err)
					}
					l.mu.Lock()
					runs := l.runs[r.ID]
					l.mu.Unlock()
					if runs > r.Attempt {
						return fmt.Errorf("%w: it has begun %d times: %+v", errOrder, runs, r)
					}
				}
				return nil
			}
			c.Check = checkRest
			explore(t, c, true)
		})
	}
}
