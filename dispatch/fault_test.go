package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation, and every role, under every fault at every request.

// crew has the roles that run concurrently with the operation under test. Their
// client suffers no faults, unless the role itself is tested.
type crew struct {
	ctx   context.Context
	stop  context.CancelFunc
	all   sync.WaitGroup
	queue *dispatch.Queue // of the other client

	server *zktest.Server

	// mu guards the fields below.
	mu    sync.Mutex
	ends  map[string]int
	there map[string]bool
	bad   error
}

// start runs a role until the crew is stopped.
func (c *crew) start(run func(context.Context) error) {
	// Waited for by sound; ends with ctx.
	c.all.Go(func() {
		if err := run(c.ctx); c.ctx.Err() == nil && !errors.Is(err, session.ErrLost) {
			c.mu.Lock()
			c.bad = errors.Join(c.bad, fmt.Errorf("a role has ended: %w", err))
			c.mu.Unlock()
		}
	})
}

// startCrew starts parts: "m" is a master, "w" a worker, of the other client;
// capitals are roles of the tested client.
func startCrew(e *matrix.Env, p *world.Party, parts string, h dispatch.Handler) *crew {
	ctx, cancel := context.WithCancel(context.Background())
	c := &crew{server: e.Server, ctx: ctx, stop: cancel, queue: dispatch.New(p.Other, path, nil), ends: map[string]int{}, there: map[string]bool{}}
	candidate := make(chan struct{})
	var first sync.Once
	e.Server.OnApply(func(txn zktest.Txn) {
		c.mu.Lock()
		defer c.mu.Unlock()
		mine := false
		for _, name := range txn.Paths {
			rest, inside := strings.CutPrefix(name, path+"/")
			mine = mine || inside
			if inside && txn.Code == 0 && strings.HasPrefix(rest, "masters/") {
				first.Do(func() { close(candidate) })
			}
			if elems := strings.Split(rest, "/"); txn.Code == 0 && inside && elems[0] == "results" && len(elems) == 3 {
				if c.there[name] = !c.there[name]; c.there[name] {
					c.ends[elems[2]]++
				}
			}
		}
		if mine && c.bad == nil {
			c.bad = checkTree(e.Server.Dump())
		}
	})
	for _, part := range parts {
		client := p.Other
		if part == 'M' || part == 'W' {
			client = p.Tested
		}
		run := dispatch.NewMaster(client, path, nil).Run
		if part == 'w' || part == 'W' {
			run = dispatch.NewWorker(client, path, h, nil).Run
		}
		if lead := run; part == 'm' && strings.ContainsRune(parts, 'M') {
			// The backup waits behind the faulted master, which must lead first.
			run = func(ctx context.Context) error {
				select {
				case <-candidate:
					return lead(ctx)
				case <-ctx.Done():
					return nil
				}
			}
		}
		c.start(run)
	}
	e.Cleanup(func() { cancel(); c.all.Wait() })
	p.State = c
	return c
}

// sound wants all tasks to end, once each, and to be collected, and nothing to be
// left behind.
func sound(ends int) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		c := p.State.(*crew)
		list, err := c.queue.List(ctx)
		if err != nil {
			return err
		}
		for _, t := range list {
			if _, err := c.queue.Collect(ctx, t.ID); err != nil {
				return fmt.Errorf("%s: %w", t.ID, err)
			}
		}
		if _, err := c.queue.Submit(ctx, dispatch.Task{ID: "next", Payload: []byte("next")}); err != nil {
			return err
		}
		r, err := c.queue.Collect(ctx, "next")
		if err != nil || string(r.Output) != "next" {
			return fmt.Errorf("the next one: %+v, %w", r, err)
		}
		c.tidied()
		c.stop()
		c.all.Wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		for id, n := range c.ends {
			if n > ends {
				return fmt.Errorf("%w: %s, %d times", errTwice, id, n)
			}
		}
		return c.bad
	}
}

// tidied waits, as long as necessary, until no dead worker has a folder.
func (c *crew) tidied() {
	if !world.Has(world.Resumes) {
		world.Pause(30 * time.Second) // sessions that a fault has cost live on until then
	}
	for range 130 {
		folders, _ := c.server.Children(path + "/workers")
		alive, _ := c.server.Children(path + "/alive")
		if len(folders) <= len(alive) {
			return
		}
		world.Pause(time.Second)
	}
}

// checkRest is the check of a case: the operation has succeeded, all tasks end, and nothing is
// left.
func checkRest(e *matrix.Env) error {
	if e.Err != nil {
		return e.Err
	}
	over, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	if err := sound(1)(over, e.State.(*world.Party)); err != nil {
		return err
	}
	return left(e)
}

// left wants nothing to be left but folders, before long.
func left(e *matrix.Env) error {
	for range 130 {
		if len(remains(e.Server)) == 0 {
			return nil
		}
		world.Pause(time.Second)
	}
	return fmt.Errorf("left: %q", remains(e.Server))
}

// report runs a case and logs its size. With -short, report tries one fault of
// each kind: the loss of a request, a reply, a session and a caller.
func report(t *testing.T, tr world.Trial, pairs ...matrix.Fault) {
	t.Helper()
	tr.Watched = true // watched by the roles beside the operation
	c := tr.Case()
	check := c.Check
	c.Check = func(e *matrix.Env) error {
		if err := check(e); err != nil {
			return err
		}
		return left(e)
	}
	if testing.Short() {
		c.Faults = []matrix.Fault{matrix.LostRequest, matrix.LostReply, matrix.ExpireAfter, matrix.CancelUnknown}
	} else {
		c.Pairs = pairs
	}
	res := matrix.Run(t, c)
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", c.Name)
	}
	t.Logf("%s: %d requests, %d cases", c.Name, res.Requests, res.Cases)
}

// with is a Setup with roles and waiting tasks.
func with(parts string, h dispatch.Handler, tasks ...dispatch.Task) func(*matrix.Env, *world.Party) error {
	return func(e *matrix.Env, p *world.Party) error {
		c := startCrew(e, p, parts, h)
		for _, t := range tasks {
			if _, err := c.queue.Submit(context.Background(), t); err != nil {
				return err
			}
		}
		world.Pause(time.Second)
		return nil
	}
}

// CL3: a task whose answer was lost is not there twice.
func TestSubmitUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, attached := range map[string]bool{"detached": false, "attached": true} {
		t.Run(name, func(t *testing.T) {
			pairs := []matrix.Fault{matrix.LostReply}
			if attached {
				pairs = nil
			}
			report(t, world.Trial{
				Name: "Submit", Setup: with("", nil),
				Op: func(ctx context.Context, p *world.Party) error {
					q := dispatch.New(p.Tested, path, nil)
					_, err := q.Submit(ctx, dispatch.Task{ID: "x", Payload: []byte("x"), Attached: attached})
					if err != nil {
						return err
					}
					in, err := p.State.(*crew).queue.Get(context.Background(), "x")
					if err != nil || in.State != "waiting" && !attached {
						return fmt.Errorf("%+v: %w", in, err)
					}
					return nil
				},
				Next: func(ctx context.Context, p *world.Party) error {
					c := p.State.(*crew)
					c.start(dispatch.NewMaster(p.Other, path, nil).Run)
					c.start(dispatch.NewWorker(p.Other, path, echo, nil).Run)
					// A client without a known outcome submits the same task again.
					if _, err := c.queue.Submit(ctx, dispatch.Task{ID: "x", Payload: []byte("x")}); err != nil {
						return err
					}
					return sound(1)(ctx, p)
				},
			}, pairs...)
		})
	}
}

// slow works long enough for a task to be still assigned at the operation.
var slow = takes(5 * time.Second) // read only

func TestCancelUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{"it waits": "", "it runs": "mw"} {
		t.Run(name, func(t *testing.T) {
			report(t, world.Trial{
				Name: "Cancel", Setup: with(parts, slow, dispatch.Task{ID: "x"}),
				Excuses: []error{dispatch.ErrState}, // the task has ended before
				Op: func(ctx context.Context, p *world.Party) error {
					if err := dispatch.New(p.Tested, path, nil).Cancel(ctx, "x"); err != nil {
						return err
					}
					in, err := p.State.(*crew).queue.Get(context.Background(), "x")
					if err != nil || in.State != "canceled" {
						return fmt.Errorf("%+v: %w", in, err)
					}
					return nil
				},
				Next: func(ctx context.Context, p *world.Party) error {
					if parts == "" {
						p.State.(*crew).start(dispatch.NewMaster(p.Other, path, nil).Run)
						p.State.(*crew).start(dispatch.NewWorker(p.Other, path, slow, nil).Run)
					}
					return sound(1)(ctx, p)
				},
			}, matrix.LostReply)
		})
	}
}

func TestRequeueUnderEveryFault(t *testing.T) {
	t.Parallel()
	setup := with("mw", func(_ context.Context, a *dispatch.Attempt) ([]byte, error) {
		if a.ID == "x" {
			return nil, errors.New("no")
		}
		return a.Payload, nil
	}, dispatch.Task{ID: "x", MaxAttempts: 1})
	report(t, world.Trial{
		Name: "Requeue", Setup: setup,
		Op: func(ctx context.Context, p *world.Party) error {
			if err := dispatch.New(p.Tested, path, nil).Requeue(ctx, "x"); err != nil {
				return err
			}
			world.Pause(time.Second)
			in, err := p.State.(*crew).queue.Get(context.Background(), "x")
			if err != nil || in.State != "dead" {
				return fmt.Errorf("it has been tried again, and failed again: %+v: %w", in, err)
			}
			return nil
		},
		Next: sound(2),
	}, matrix.LostReply)
}

// CL4: a Collect without an answer is not mistaken for the end of another call.
func TestWaitAndCollectUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]string{"it runs": "mw", "it has ended": "done"} {
		t.Run(name, func(t *testing.T) {
			h := slow
			if parts == "done" {
				parts, h = "mw", echo
			}
			report(t, world.Trial{
				Name: "Collect", Setup: with(parts, h, dispatch.Task{ID: "x", Payload: []byte("x")}),
				Op: func(ctx context.Context, p *world.Party) error {
					q := dispatch.New(p.Tested, path, nil)
					first, err := q.Wait(ctx, "x")
					if err != nil {
						return err
					}
					r, err := q.Collect(ctx, "x")
					if err != nil {
						return err
					}
					if string(first.Output) != "x" || string(r.Output) != "x" {
						return fmt.Errorf("%+v, %+v", first, r)
					}
					if _, err := p.State.(*crew).queue.Get(context.Background(), "x"); !errors.Is(err, dispatch.ErrNoTask) {
						return fmt.Errorf("it is still there: %w", err)
					}
					return nil
				},
				Next: sound(1),
			}, matrix.LostReply)
		})
	}
}

func TestListAndStatsUnderEveryFault(t *testing.T) {
	t.Parallel()
	report(t, world.Trial{
		Name: "Stats", Setup: with("mw", slow, numbered(1), numbered(2)),
		Op: func(ctx context.Context, p *world.Party) error {
			st, err := dispatch.New(p.Tested, path, nil).Stats(ctx)
			if err != nil {
				return err
			}
			if st.Tasks["assigned"]+st.Tasks["done"] != 2 || len(st.Workers) != 1 || st.Master == "" {
				return fmt.Errorf("%+v", st)
			}
			return nil
		},
		Next: sound(1),
	})
}
