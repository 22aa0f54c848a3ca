package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// The whole way of a task with faults in a role: the master, the worker, or
// both. A role without its session gets events again in the next session: CH56.
func TestRolesUnderEveryFault_M24(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{"master": "Mw", "worker": "mW", "master with a backup": "Mmw", "both": "MW"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tr := world.Trial{
				Name: name,
				Setup: func(_ *matrix.Env, p *world.Party) error {
					q := dispatch.New(p.Other, path, nil) // so only the roles suffer faults
					_, err := q.Submit(context.Background(), dispatch.Task{ID: "first", Payload: []byte("first")})
					return err
				},
				Counts: func(r zktest.Request) bool {
					return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" && !r.OnlyChecks
				},
			}
			c := tr.Case()
			c.Op = func(ctx context.Context, e *matrix.Env) error {
				p := e.State.(*world.Party)
				crew := startCrew(e, p, parts, echo)
				for n := range 3 {
					if _, err := crew.queue.Submit(context.Background(), numbered(n)); err != nil {
						return err
					}
				}
				for _, id := range []string{"first", "task-000", "task-001", "task-002"} {
					over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
					r, err := crew.queue.Collect(over, id)
					cancel()
					if err != nil || r.State != "done" {
						return fmt.Errorf("%+v: %w", r, err)
					}
				}
				return nil
			}
			c.Check = checkRest
			explore(t, c, parts == "MW")
		})
	}
}

// explore is report for a case without canceled contexts and without faults of
// the calling client. explore uses all faults, or only two.
func explore(t *testing.T, c matrix.Case, all bool) {
	t.Helper()
	c.Faults = []matrix.Fault{matrix.LostReply, matrix.ExpireAfter}
	switch {
	case testing.Short():
		c.Faults = c.Faults[1:]
	case all:
		c.Faults = append(c.Faults, matrix.LostRequest, matrix.Cut, matrix.BlackHole, matrix.SilentReply, matrix.Expire, matrix.Pause)
	}
	res := matrix.Run(t, c)
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", c.Name)
	}
	t.Logf("%s: %d requests, %d cases", c.Name, res.Requests, res.Cases)
}

// registered asserts that no worker is registered after the Run of the only
// worker has returned nil.
func registered(e *matrix.Env) error {
	for _, name := range remains(e.Server) {
		if strings.HasPrefix(name, "alive/") || strings.HasPrefix(name, "workers/") && strings.Count(name, "/") > 1 {
			return fmt.Errorf("Run has returned nil, and there is %s", name)
		}
	}
	return nil
}

// A fault while a worker is drained, or its Run ends: its tasks are done or
// given back, and the worker leaves no znodes.
func TestLeavingUnderEveryFault_M22(t *testing.T) {
	t.Parallel()
	for name, drain := range map[string]bool{"drain": true, "stop": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			type leaver struct {
				*crew
				worker *dispatch.Worker
				stop   context.CancelFunc
				done   chan error
			}
			tr := world.Trial{
				Name: name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					c := startCrew(e, p, "m", nil)
					ctx, cancel := context.WithCancel(context.Background())
					k := leaver{c, dispatch.NewWorker(p.Tested, path, takes(10*time.Second), &dispatch.WorkerOptions{Concurrency: 1}), cancel, make(chan error, 1)}
					p.State = k
					// The clean-up waits for this goroutine; ends with ctx.
					go func() { k.done <- k.worker.Run(ctx); close(k.done) }()
					e.Cleanup(func() { cancel(); <-k.done })
					for n := range 3 {
						task := numbered(n)
						task.MaxAttempts = 2
						if _, err := c.queue.Submit(context.Background(), task); err != nil {
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
				k := e.State.(*world.Party).State.(leaver)
				if !drain {
					k.stop()
					if err := <-k.done; err == nil {
						return registered(e)
					}
					return nil
				}
				over, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
				defer cancel()
				if err := k.worker.Drain(over); err != nil {
					return err
				}
				switch err := <-k.done; {
				case errors.Is(err, session.ErrLost):
					return nil // its tasks go to others
				case err != nil:
					return err
				}
				return registered(e)
			}
			c.Check = func(e *matrix.Env) error {
				p := e.State.(*world.Party)
				k := p.State.(leaver)
				if e.Err != nil {
					return e.Err
				}
				p.State = k.crew
				over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
				defer cancel()
				// Another worker of the other client does the rest.
				k.crew.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
				if err := sound(1)(over, p); err != nil {
					return err
				}
				return left(e)
			}
			explore(t, c, true)
		})
	}
}
