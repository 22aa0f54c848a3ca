package dispatch_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// ofTasks selects the events of this package: the recipes of which it is made report
// their own.
func ofTasks(e observe.Event) bool {
	switch e := e.(type) {
	case observe.TaskChanged:
		return true
	case observe.HoldBegun:
		return e.Kind == observe.Attempt
	case observe.HoldEnded:
		return e.Kind == observe.Attempt
	}
	return false
}

// events collects the events of a client.
type events struct {
	mu      sync.Mutex
	begun   []observe.HoldBegun
	ended   []observe.HoldEnded
	changes []observe.TaskChanged
	also    func(e observe.Event) // may be nil
}

func (s *events) Observe(_ context.Context, e observe.Event) {
	if !ofTasks(e) {
		return
	}
	s.mu.Lock()
	switch e := e.(type) {
	case observe.HoldBegun:
		s.begun = append(s.begun, e)
	case observe.HoldEnded:
		s.ended = append(s.ended, e)
	case observe.TaskChanged:
		s.changes = append(s.changes, e)
	}
	s.mu.Unlock()
	if s.also != nil {
		s.also(e)
	}
}

// change is the next change of a task.
func (w *World) change(s *events) observe.TaskChanged {
	w.Helper()
	w.Settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.NotEmpty(w, s.changes)
	e := s.changes[0]
	s.changes = s.changes[1:]
	return e
}

// end is the one end of an attempt since the last call, whose beginning fits.
func (w *World) end(s *events) observe.HoldEnded {
	w.Helper()
	w.Settle()
	s.mu.Lock()
	defer s.mu.Unlock()
	require.Len(w, s.begun, 1)
	require.Len(w, s.ended, 1)
	e := s.ended[0]
	require.Equal(w, s.begun[0].Hold, e.Hold)
	s.begun, s.ended = nil, nil
	return e
}

// observed is a client whose events are collected.
func (w *World) observed() (*session.Client, *events) {
	s := &events{}
	return w.ClientWith(session.Options{Observer: s}), s
}

func (w *World) none(all ...*events) {
	w.Helper()
	w.Settle()
	for _, s := range all {
		s.mu.Lock()
		require.Empty(w, s.changes)
		require.Empty(w, s.begun)
		require.Empty(w, s.ended)
		s.mu.Unlock()
	}
}

func TestEventsOfTasksUnderEveryFault(t *testing.T) {
	t.Parallel()
	world.Trial{
		Name: "Submit, Cancel, Requeue, Cancel, Collect", Shows: ofTasks, Watched: true,
		Setup: func(e *matrix.Env, p *world.Party) error { startCrew(e, p, "", echo); return nil },
		Op: func(ctx context.Context, p *world.Party) error {
			q := dispatch.New(p.Tested, path, nil)
			_, err := q.Submit(ctx, numbered(1))
			for _, call := range []func(context.Context, string) error{q.Cancel, q.Requeue, q.Cancel} {
				if err == nil {
					err = call(ctx, numbered(1).ID)
				}
			}
			if err == nil {
				_, err = q.Collect(ctx, numbered(1).ID)
			}
			return err
		},
	}.RunObserved(t, *update, "tasks")
}

// A task's life: it fails, is retried, and is collected.
func TestEventsOfATaskSayWhatHappened(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		cq, client := w.observed()
		cm, master := w.observed()
		cw, worker := w.observed()
		var a atomic.Pointer[dispatch.Attempt]
		w.beside(dispatch.NewMaster(cm, path, nil).Run)
		w.beside(dispatch.NewWorker(cw, path, func(ctx context.Context, at *dispatch.Attempt) ([]byte, error) {
			a.Store(at)
			world.SleepContext(ctx, time.Second)
			if at.Number == 1 {
				return nil, errors.New("broken")
			}
			return nil, nil
		}, nil).Run)
		q := dispatch.New(cq, path, nil)
		task := numbered(1)
		task.Backoff = 10 * time.Second
		id := w.submit(q, task)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, To: "waiting"}, w.change(client))
		e := w.change(master)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: "waiting", To: "assigned", Attempt: 1, Took: e.Took}, e)
		w.Pass(time.Second)
		e = w.change(worker)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: "assigned", To: "waiting", Attempt: 1, Took: e.Took}, e)
		require.InDelta(w, time.Second, e.Took, float64(100*time.Millisecond))
		end := w.end(worker)
		require.Equal(w, observe.HoldEnded{
			Hold: observe.Hold{
				ID: end.ID, Kind: observe.Attempt, Path: path, Znode: a.Load().Path(), Token: a.Load().Token(),
				Session: w.ID(cw), Begun: end.Begun,
			},
			Took: time.Second, End: observe.Released,
		}, end)
		require.NotZero(w, end.ID)

		w.Pass(12 * time.Second)
		e = w.change(master)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: "waiting", To: "assigned", Attempt: 2, Took: e.Took}, e)
		require.InDelta(w, 10*time.Second, e.Took, float64(100*time.Millisecond))
		e = w.change(worker)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: "assigned", To: "done", Attempt: 2, Took: e.Took}, e)
		require.NoError(w, w.end(worker).Err)
		w.collect(q, id)
		e = w.change(client)
		require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: "done", Took: e.Took}, e)
		require.Positive(w, e.Took)
		w.none(client, master, worker)
	})
}

func TestEventsOfChangesByRequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, s := w.observed()
		q := dispatch.New(c, path, nil)
		id := w.submit(q, numbered(1))
		w.change(s)
		w.submit(q, numbered(1))
		w.none(s) // it is the same task
		change := func(from, to string) {
			w.Helper()
			e := w.change(s)
			require.Equal(w, observe.TaskChanged{Path: path, Task: id, From: from, To: to, Took: e.Took}, e)
		}
		require.NoError(w, q.Requeue(w.Ctx, id))
		w.none(s)
		require.NoError(w, q.Cancel(w.Ctx, id))
		change("waiting", "canceled")
		require.NoError(w, q.Cancel(w.Ctx, id))
		w.none(s)
		require.NoError(w, q.Requeue(w.Ctx, id))
		change("canceled", "waiting")
		require.NoError(w, q.Remove(w.Ctx, id))
		change("waiting", "canceled")
		change("canceled", "")
		require.ErrorIs(w, q.Cancel(w.Ctx, id), dispatch.ErrNoTask)
		w.none(s)
	})
}

// The ways in which an attempt ends other than by its outcome.
func TestEndOfAnAttemptIsReportedOnce(t *testing.T) {
	for name, tc := range map[string]struct {
		task    func(*dispatch.Task)
		end     func(w *World, a *dispatch.Attempt, c *session.Client)
		how     observe.End
		err     error
		changes []string // by the worker
	}{
		"canceled": {
			end: func(w *World, a *dispatch.Attempt, _ *session.Client) {
				require.NoError(w, w.queue().Cancel(w.Ctx, a.ID))
			},
			how: observe.Lost, err: session.ErrNodeDeleted,
		},
		"session lost": {
			end: func(w *World, a *dispatch.Attempt, _ *session.Client) { w.Away(a.Context()) },
			how: observe.Lost, err: session.ErrTrustRanOut,
		},
		"deadline": {
			task: func(t *dispatch.Task) { t.DeadlineAfter = 5 * time.Second },
			end:  func(w *World, _ *dispatch.Attempt, _ *session.Client) { w.Pass(5 * time.Second) },
			how:  observe.Released, changes: []string{"failed"},
		},
		"released": {
			end: func(w *World, a *dispatch.Attempt, _ *session.Client) { require.NoError(w, a.Release(w.Ctx)) },
			how: observe.Released, changes: []string{"waiting"},
		},
		"released after the loss": {
			end: func(w *World, a *dispatch.Attempt, _ *session.Client) {
				require.NoError(w, w.queue().Cancel(w.Ctx, a.ID))
				require.ErrorIs(w, a.Release(w.Ctx), session.ErrLost)
			},
			how: observe.Lost, err: session.ErrNodeDeleted,
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				master := w.master(nil)
				c, s := w.observed()
				attempts := make(chan *dispatch.Attempt, 10)
				worker := w.beside(dispatch.NewWorker(c, path, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
					attempts <- a
					<-ctx.Done()
					return nil, ctx.Err()
				}, nil).Run)
				task := numbered(1)
				if tc.task != nil {
					tc.task(&task)
				}
				w.submit(w.queue(), task)
				a := <-attempts
				require.NoError(w, master.end()) // it gives the task to no other attempt
				tc.end(w, a, c)
				w.Pass(time.Second)
				end := w.end(s)
				require.Equal(w, tc.how, end.End)
				require.Equal(w, a.Path(), end.Znode)
				if tc.err == nil {
					require.NoError(w, end.Err)
				} else {
					require.ErrorIs(w, end.Err, tc.err)
				}
				for _, to := range tc.changes {
					e := w.change(s)
					require.Equal(w, "assigned", e.From)
					require.Equal(w, to, e.To)
				}
				w.none(s)
				_ = worker.end()
			})
		})
	}
}

// A worker that ends gives its attempt back, after the handler has returned.
func TestEndOfAWorkerEndsItsAttempts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		c, s := w.observed()
		worker := w.beside(dispatch.NewWorker(c, path, takes(time.Hour), nil).Run)
		w.submit(w.queue(), numbered(1))
		w.Pass(time.Second)
		require.NoError(w, worker.end())
		end := w.end(s)
		require.Equal(w, observe.Released, end.End)
		require.NoError(w, end.Err)
		e := w.change(s)
		require.Equal(w, "waiting", e.To)
		require.Equal(w, 1, e.Attempt)
	})
}

// A lost reply does not hide a change of the master or of a worker, and does not double it.
func TestChangesWhoseReplyWasLostAreReportedOnce(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		cm, master := w.observed()
		w.beside(dispatch.NewMaster(cm, path, nil).Run)
		w.Pass(time.Second)
		var lost []string
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			for _, dir := range []string{"/workers/", "/results/"} {
				named := slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasPrefix(p, path+dir) && strings.Count(p, "/") == 4 })
				if r.Op == "multi" && named && !slices.Contains(lost, dir) {
					lost = append(lost, dir)
					return zktest.Action{Do: zktest.DropReplyCut}
				}
			}
			return zktest.Action{}
		})
		cw, worker := w.observed()
		w.beside(dispatch.NewWorker(cw, path, echo, nil).Run)
		for i := range 3 {
			w.submit(q, numbered(i))
		}
		w.Pass(time.Minute)
		require.Len(w, lost, 2)
		for _, s := range []*events{master, worker} {
			seen := map[string]int{}
			for range 3 {
				e := w.change(s)
				seen[e.Task+" "+e.From]++
			}
			require.Len(w, seen, 3)
			s.begun, s.ended = nil, nil
			w.none(s)
		}
	})
}

// A change whose request was lost, and that another client has made meanwhile, is reported by
// that client.
func TestChangeThatAnotherClientHasMadeIsNotReported(t *testing.T) {
	for name, x := range map[string]struct {
		canceled bool
		change   func(*dispatch.Queue, context.Context, string) error
	}{
		"cancel":  {false, (*dispatch.Queue).Cancel},
		"requeue": {true, (*dispatch.Queue).Requeue},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c, s := w.observed() // the link c1
				q, other := dispatch.New(c, path, nil), w.queue()
				id := w.submit(other, numbered(1))
				if x.canceled {
					require.NoError(w, other.Cancel(w.Ctx, id))
				}
				w.Server.FailNth(func(r zktest.Request) bool {
					return r.Client == "c1" && r.Op == "multi" && !r.OnlyChecks
				}, 1, zktest.Action{Do: zktest.DropRequest})
				done := make(chan error, 1)
				// Waited for below; ends with the call.
				go func() { done <- x.change(q, w.Within(5*time.Minute), id) }()
				w.Pass(time.Second)
				require.NoError(w, x.change(other, w.Ctx, id))
				require.NoError(w, <-done)
				w.none(s)
			})
		})
	}
}

// An outcome whose request was lost is not reported if another client has ended the task
// before the worker could repeat it.
func TestOutcomeThatWasNeverWrittenIsNotReported(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		c, s := w.observed() // the link c1
		q := w.queue()
		w.master(nil)
		dropped := make(chan struct{})
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			outcome := slices.ContainsFunc(r.Paths, func(p string) bool { return strings.HasPrefix(p, path+"/results/") })
			if r.Client == "c1" && r.Op == "multi" && outcome {
				select {
				case <-dropped:
				default:
					close(dropped)
					w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
					return zktest.Action{Do: zktest.DropRequest}
				}
			}
			return zktest.Action{}
		})
		w.beside(dispatch.NewWorker(c, path, echo, nil).Run)
		id := w.submit(q, numbered(1))
		<-dropped
		require.NoError(w, q.Cancel(w.Ctx, id))
		w.Server.CutLink(zktest.Link{Client: "c1"})
		w.Server.HealLink(zktest.Link{Client: "c1"})
		w.Pass(5 * time.Second)
		end := w.end(s)
		require.Equal(w, observe.Lost, end.End)
		require.ErrorIs(w, end.Err, session.ErrNodeDeleted)
		w.none(s) // the client that canceled the task has changed it
	})
}

// An observer may call the queue of the client that reports to it.
func TestObserverMayCallTheQueue(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		s := &events{}
		c := w.ClientWith(session.Options{Observer: s})
		q := dispatch.New(c, path, nil)
		var calls atomic.Int64
		s.also = func(e observe.Event) {
			within, cancel := context.WithTimeout(context.Background(), 10*time.Second)
			defer cancel()
			if _, err := q.Stats(within); err != nil && !errors.Is(err, session.ErrClosed) {
				w.Errorf("%s: %v", e.Name(), err)
			}
			if _, err := q.List(within); err != nil && !errors.Is(err, session.ErrClosed) {
				w.Errorf("%s: %v", e.Name(), err)
			}
			calls.Add(1)
		}
		w.beside(dispatch.NewMaster(c, path, nil).Run)
		w.beside(dispatch.NewWorker(c, path, takes(time.Second), nil).Run)
		for i := range 3 {
			w.submit(q, numbered(i))
		}
		for i := range 3 {
			w.collect(q, numbered(i).ID)
		}
		w.Settle()
		require.EqualValues(w, 3*(4+2), calls.Load())
	})
}
