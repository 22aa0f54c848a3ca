package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// closeClient closes c, and lets the roles of c end: Run returns nil if its context ends
// between the loss of a session and the next session.
func (w *World) closeClient(c *session.Client) {
	w.Helper()
	require.NoError(w, c.Close(w.Ctx))
	w.Settle()
}

// Run returns nil when its context has ended and everything was given back;
// otherwise the error names the parts that were not.
func TestHowRunOfAWorkerEnds(t *testing.T) {
	for name, x := range map[string]struct {
		before func(w *World, c *session.Client)
		want   error // nil: Run returns nil
	}{
		"with a task":    {func(*World, *session.Client) {}, nil},
		"without a task": {func(w *World, _ *session.Client) { w.collect(w.queue(), "a"); w.collect(w.queue(), "b") }, nil},
		"lost": {func(w *World, c *session.Client) {
			w.Server.BlackHole(linkOf(1), zktest.Both)
			require.NoError(w, w.Server.ExpireSession(w.ID(c)))
		}, session.ErrLost},
		"unreachable":          {func(w *World, _ *session.Client) { w.Server.BlackHole(linkOf(1), zktest.Both) }, session.ErrLost},
		"cut off for a moment": {func(w *World, c *session.Client) { w.Server.Cut(w.ID(c)) }, nil},
		"closed":               {func(w *World, c *session.Client) { w.closeClient(c) }, session.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off for a moment" {
				world.Needs(t, world.Resumes)
			}
			inWorld(t, nil, func(w *World) {
				c := w.Client() // c1
				m := w.master(nil)
				r := w.beside(dispatch.NewWorker(c, path, takes(time.Minute), &dispatch.WorkerOptions{Concurrency: 1}).Run)
				q := w.queue()
				w.submit(q, dispatch.Task{ID: "a"})
				w.submit(q, dispatch.Task{ID: "b"})
				w.Pass(time.Second)
				_ = m.end()
				if name == "without a task" {
					w.master(nil)
				}
				x.before(w, c)
				err := r.end()
				w.Server.Heal()
				if x.want != nil {
					require.ErrorIs(w, err, x.want)
					require.NotErrorIs(w, err, context.Canceled, "a caller that ignores cancellations must not miss this error")
					return
				}
				require.NoError(w, err)
				require.Empty(w, w.Children(path+"/workers"))
				require.Empty(w, w.Children(path+"/alive"))
				require.Empty(w, idsOf(w, q, "assigned"))
			})
		})
	}
}

// A drained worker ends with its session, and does not wait for a server to begin
// another session.
func TestHowADrainedWorkerEnds(t *testing.T) {
	unreachable := func(w *World, _ *session.Client) { w.Server.BlackHole(linkOf(1), zktest.Both) }
	for name, x := range map[string]struct {
		tasks  int
		before func(w *World, c *session.Client)
		within time.Duration
		want   error // nil: Run returns nil
	}{
		"with a task":                 {1, func(*World, *session.Client) {}, 2 * time.Minute, nil},
		"without a task":              {0, func(*World, *session.Client) {}, time.Second, nil},
		"unreachable, with a task":    {1, unreachable, 15 * time.Second, session.ErrLost},
		"unreachable, without a task": {0, unreachable, 15 * time.Second, session.ErrLost},
		"expired": {1, func(w *World, c *session.Client) {
			unreachable(w, c)
			require.NoError(w, w.Server.ExpireSession(w.ID(c)))
		}, 15 * time.Second, session.ErrLost},
		"without a session": {1, func(w *World, c *session.Client) {
			unreachable(w, c)
			w.Pass(time.Minute)
		}, time.Second, nil},
		"cut off for a moment": {0, func(w *World, c *session.Client) { w.Server.Cut(w.ID(c)) }, time.Minute, nil},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off for a moment" {
				world.Needs(t, world.Resumes)
			}
			inWorld(t, nil, func(w *World) {
				c := w.Client() // c1
				w.master(nil)
				worker := dispatch.NewWorker(c, path, takes(time.Minute), nil)
				r := w.beside(worker.Run)
				q := w.queue()
				for n := range x.tasks {
					w.submit(q, numbered(n))
				}
				w.Pass(time.Second)
				x.before(w, c)
				require.NoError(w, worker.Drain(w.Within(x.within)), "Run has ended")
				err := <-r.done
				if x.want == nil {
					require.NoError(w, err)
				} else {
					require.ErrorIs(w, err, x.want)
				}
				w.Server.Heal()
				w.Pass(time.Minute)
				require.Empty(w, w.Children(path+"/workers"))
				require.Empty(w, w.Children(path+"/alive"))
			})
		})
	}
}

// The same of a master.
func TestHowRunOfAMasterEnds(t *testing.T) {
	for name, x := range map[string]struct {
		before func(w *World, c *session.Client)
		second bool
		want   error // nil: Run returns nil
	}{
		"leading":     {func(*World, *session.Client) {}, false, nil},
		"standing by": {func(*World, *session.Client) {}, true, nil},
		"lost": {func(w *World, c *session.Client) {
			w.Server.BlackHole(linkOf(1), zktest.Both)
			require.NoError(w, w.Server.ExpireSession(w.ID(c)))
		}, false, session.ErrLost},
		"unreachable":          {func(w *World, _ *session.Client) { w.Server.BlackHole(linkOf(1), zktest.Both) }, false, session.ErrLost},
		"cut off for a moment": {func(w *World, c *session.Client) { w.Server.Cut(w.ID(c)) }, false, nil},
		"closed":               {func(w *World, c *session.Client) { w.closeClient(c) }, false, session.ErrClosed},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off for a moment" {
				world.Needs(t, world.Resumes)
			}
			inWorld(t, nil, func(w *World) {
				c := w.Client() // c1
				if x.second {
					w.master(nil)
					w.Settle()
				}
				r := w.beside(dispatch.NewMaster(c, path, nil).Run)
				w.Pass(time.Second)
				before := len(w.Children(path + "/masters"))
				x.before(w, c)
				err := r.end()
				w.Server.Heal()
				if x.want != nil {
					require.ErrorIs(w, err, x.want)
					return
				}
				require.NoError(w, err)
				w.Settle()
				require.Len(w, w.Children(path+"/masters"), before-1)
			})
		})
	}
}

// There is nothing to give back as long as there is no session.
func TestRunOfAWorkerWithoutAServerReturnsNil(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.Expire(c)
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Minute)
		r := w.beside(dispatch.NewWorker(c, path, echo, nil).Run)
		w.Pass(time.Minute)
		require.NoError(w, r.end())
		require.NoError(w, w.Server.Restart(1))
	})
}

// Grace lets handlers go on after the end of Run's context, and no longer. Nothing new
// begins meanwhile.
func TestGraceOfAWorker(t *testing.T) {
	for name, x := range map[string]struct {
		grace, takes, want time.Duration
		outage, drain      bool
		states             []dispatch.State
	}{
		"none":                    {grace: 0, takes: time.Minute, want: 0, states: []dispatch.State{"waiting", "waiting"}},
		"enough":                  {grace: time.Minute, takes: 10 * time.Second, want: 9 * time.Second, states: []dispatch.State{"done", "waiting"}},
		"not enough":              {grace: 5 * time.Second, takes: time.Minute, want: 5 * time.Second, states: []dispatch.State{"waiting", "waiting"}},
		"in an outage":            {grace: time.Second, takes: time.Minute, want: 3 * time.Second, outage: true, states: []dispatch.State{"waiting", "waiting"}},
		"counts from the context": {grace: 5 * time.Second, takes: time.Minute, want: 25 * time.Second, drain: true, states: []dispatch.State{"waiting", "waiting"}},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "cut off for a moment" {
				world.Needs(t, world.Resumes)
			}
			inWorld(t, nil, func(w *World) {
				m := w.master(nil) // c1
				var told time.Time
				worker := dispatch.NewWorker(w.Client(), path, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
					world.SleepContext(ctx, x.takes)
					told = time.Now()
					return nil, context.Cause(ctx)
				}, &dispatch.WorkerOptions{Concurrency: 1, Grace: x.grace}) // c2
				r := w.beside(worker.Run)
				q := w.queue()
				w.submit(q, numbered(0))
				w.Settle()
				w.submit(q, numbered(1))
				w.Pass(time.Second)
				_ = m.end()
				began := time.Now()
				if x.drain {
					require.Error(w, worker.Drain(w.Within(20*time.Second)))
				}
				if x.outage {
					w.Server.BlackHole(linkOf(2), zktest.Both)
					r.stop()
					w.Pass(3 * time.Second)
					require.Equal(w, x.grace, told.Sub(began), "whatever the network does")
					w.Server.Heal()
				}
				require.NoError(w, r.end())
				if !x.outage {
					require.InDelta(w, x.want.Seconds(), told.Sub(began).Seconds(), 0.1)
				}
				for n, state := range x.states {
					in := w.get(q, numbered(n).ID)
					require.Equal(w, state, in.State)
					require.Equal(w, 1, in.Attempt)
				}
			})
		})
	}
}

// A handler that fails by itself during its grace has used up an attempt.
func TestFailureDuringTheGraceCounts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		r := w.worker(func(ctx context.Context, _ *dispatch.Attempt) ([]byte, error) {
			world.SleepContext(ctx, 5*time.Second)
			return nil, errors.New("no")
		}, &dispatch.WorkerOptions{Grace: time.Minute})
		q := w.queue()
		id := w.submit(q, dispatch.Task{})
		w.Pass(time.Second)
		require.NoError(w, r.end())
		in := w.get(q, id)
		require.Equal(w, 2, in.Attempt)
		require.Equal(w, "no", in.LastFailure)
	})
}
