package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Every operation under every fault at every request, and at every two requests
// where one fault hides the effect of another.

// quick has waits short enough for a trial.
var quick = &workerctl.Options{JoinWait: 20 * time.Second, BarrierWait: 20 * time.Second} // read only

// submitFirst submits a job with this number of workers, by the client without
// faults.
func submitFirst(workers int, reuse bool) func(*matrix.Env, *world.Party) error {
	return func(_ *matrix.Env, p *world.Party) error {
		j, err := workerctl.Submit(context.Background(), p.Other,
			workerctl.Spec{Name: "words", Workers: workers, ReuseIDs: reuse}, quick)
		p.State = j
		return err
	}
}

// attach finds the job by the client under test.
func attach(ctx context.Context, p *world.Party) (*workerctl.Job, error) {
	return workerctl.Attach(ctx, p.Tested, "words", quick)
}

// attachAndJoin makes the tested client the worker "x" of the job.
func attachAndJoin(ctx context.Context, p *world.Party) (*workerctl.Worker, error) {
	j, err := attach(ctx, p)
	if err != nil {
		return nil, err
	}
	return j.Join(ctx, named("x"))
}

// gapless asserts that the other workers get the remaining ids, that "x" gets
// its own id whenever it joins, and that no znode is left when all have
// finished. The fate of "x" before does not matter.
func gapless(workers int) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		j := p.State.(*workerctl.Job)
		members, err := j.Members(ctx)
		if err != nil {
			return err
		}
		for i, m := range members {
			if m.ID != i {
				return fmt.Errorf("a gap: member %d has id %d", i, m.ID)
			}
		}
		seen := map[int]bool{}
		var crew []*workerctl.Worker
		for i := range workers {
			identity := nth(i)
			if i == 0 {
				identity = named("x")
			}
			k, err := j.Join(ctx, identity)
			if err != nil {
				return fmt.Errorf("%s: %w", identity.Name, err)
			}
			for _, m := range members {
				if m.Identity.Name == identity.Name && m.ID != k.ID() {
					return fmt.Errorf("%s had id %d and got %d", identity.Name, m.ID, k.ID())
				}
				if m.Identity.Name == identity.Name && m.Incarnation >= k.Incarnation() {
					return fmt.Errorf("incarnation %d after %d", k.Incarnation(), m.Incarnation)
				}
			}
			if seen[k.ID()] || k.ID() < 0 || k.ID() >= workers {
				return fmt.Errorf("id %d twice, or beyond", k.ID())
			}
			seen[k.ID()] = true
			crew = append(crew, k)
		}
		if _, err := j.Join(ctx, named("one too many")); !errors.Is(err, workerctl.ErrFull) {
			return fmt.Errorf("one too many: %w", err)
		}
		for _, k := range crew {
			if err := k.Leave(ctx); err != nil {
				return err
			}
		}
		return nil
	}
}

// T19, W1, W3, W4: a join under every fault; the faults include an expiry
// before and after every request, as if the worker had died. The ids stay
// without a gap.
func TestJoinUnderEveryFault_T1_T19_W1_W3_W4(t *testing.T) {
	t.Parallel()
	for name, reuse := range map[string]bool{"fixed": false, "reuse": true} {
		t.Run(name, func(t *testing.T) {
			tr := world.Trial{
				Name: "Join", Setup: submitFirst(3, reuse), Next: next(gapless(3)),
				Op: func(ctx context.Context, p *world.Party) error {
					k, err := attachAndJoin(ctx, p)
					if err != nil {
						return err
					}
					return judge(p, k)
				},
			}
			c := tr.Case()
			c.Pairs = world.Pairs(matrix.LostReply, matrix.ExpireAfter)
			report(t, c)
		})
	}
}

// report runs a case and logs its size.
func report(t *testing.T, c matrix.Case) {
	t.Helper()
	res := matrix.Run(t, c)
	if res.Requests == 0 || res.Cases == 0 {
		t.Errorf("%s: nothing was tried", c.Name)
	}
	t.Logf("%s: %d requests, %d cases", c.Name, res.Requests, res.Cases)
}

// next wraps the check of a trial, and then asserts that no znode is left.
func next(f func(context.Context, *world.Party) error) func(context.Context, *world.Party) error {
	return func(ctx context.Context, p *world.Party) error {
		if err := f(ctx, p); err != nil {
			return err
		}
		all, err := workerctl.List(ctx, p.Other, quick)
		if err == nil && len(all) > 0 {
			err = fmt.Errorf("left: %+v", all)
		}
		return err
	}
}

// judge asserts that a worker that has just joined is listed as running.
func judge(p *world.Party, k *workerctl.Worker) error {
	members, err := p.State.(*workerctl.Job).Members(context.Background())
	if err != nil {
		return err
	}
	excused := p.Expires || context.Cause(k.Context()) != nil
	for _, m := range members {
		if m.ID == k.ID() && m.Incarnation == k.Incarnation() && (m.State == "running" || excused) {
			return nil
		}
	}
	return fmt.Errorf("worker %d, incarnation %d, is not one of %v", k.ID(), k.Incarnation(), members)
}

// A worker comes back while its former process seems to live.
func TestComingBackUnderEveryFault_T20_W8(t *testing.T) {
	t.Parallel()
	for name, finished := range map[string]bool{"it runs": false, "it has left": true} {
		t.Run(name, func(t *testing.T) {
			tr := world.Trial{
				Name: "Join again", Next: next(gapless(3)),
				Setup: func(e *matrix.Env, p *world.Party) error {
					if err := submitFirst(3, false)(e, p); err != nil {
						return err
					}
					k, err := p.State.(*workerctl.Job).Join(context.Background(), named("x"))
					if err == nil && finished {
						err = k.Leave(context.Background())
					}
					return err
				},
				Op: func(ctx context.Context, p *world.Party) error {
					k, err := attachAndJoin(ctx, p)
					if err != nil {
						return err
					}
					if k.ID() != 0 || k.Incarnation() < 2 {
						return fmt.Errorf("id %d, incarnation %d", k.ID(), k.Incarnation())
					}
					return judge(p, k)
				},
			}
			c := tr.Case()
			c.Pairs = world.Pairs(matrix.LostReply)
			report(t, c)
		})
	}
}

// The last one out, under every fault: the job is finished and removed once, or
// the worker has not left and can come back to do so (T13, T16, W7).
func TestLastLeaveUnderEveryFault_T13_W7(t *testing.T) {
	t.Parallel()
	for name, reuse := range map[string]bool{"fixed": false, "reuse": true} {
		t.Run(name, func(t *testing.T) {
			tr := world.Trial{
				Name: "Leave", Excuses: []error{workerctl.ErrNotRemoved},
				Setup: func(e *matrix.Env, p *world.Party) error {
					if err := submitFirst(2, reuse)(e, p); err != nil {
						return err
					}
					job := p.State.(*workerctl.Job)
					first, err := job.Join(context.Background(), nth(0))
					if err != nil {
						return err
					}
					mine, err := attach(context.Background(), p)
					if err != nil {
						return err
					}
					k, err := mine.Join(context.Background(), nth(1))
					if err != nil {
						return err
					}
					p.State = departure{job, k}
					return first.Leave(context.Background())
				},
				Op: func(ctx context.Context, p *world.Party) error {
					err := p.State.(departure).Leave(ctx)
					if errors.Is(err, session.ErrUnknownOutcome) && ctx.Err() == nil {
						return fmt.Errorf("no other client was present, so the outcome can be known: %w", err)
					}
					return err
				},
			}
			tr.Next = func(ctx context.Context, p *world.Party) error {
				d := p.State.(departure)
				in, err := d.job.Info(ctx)
				switch {
				case errors.Is(err, workerctl.ErrOver):
				case err != nil:
					return err
				case in.State.Over():
					// Like the next caller of Remove.
					if err := d.job.Remove(ctx); err != nil {
						return err
					}
				default:
					k, err := d.job.Join(ctx, nth(1))
					if err != nil {
						return err
					}
					if err := k.Leave(ctx); err != nil {
						return err
					}
				}
				all, err := workerctl.List(ctx, p.Other, quick)
				if err == nil && len(all) > 0 {
					err = fmt.Errorf("left: %+v", all)
				}
				return err
			}
			c := tr.Case()
			if !reuse {
				c.Pairs = world.Pairs(matrix.LostReply)
			}
			check := c.Check
			c.Check = func(e *matrix.Env) error {
				k := e.State.(*world.Party).State.(departure)
				in, err := k.job.Info(context.Background())
				if e.Err == nil && (err != nil || in.State != "finished") {
					return fmt.Errorf("Leave returned nil; the job: %+v, %w", in, err)
				}
				if left := nothingLeft(e.Server); e.Err == nil && left != nil {
					return fmt.Errorf("Leave returned nil: %w", left)
				}
				return check(e)
			}
			report(t, c)
		})
	}
}

// departure is a worker about to leave.
type departure struct {
	job *workerctl.Job
	*workerctl.Worker
}

func TestSubmitUnderEveryFault_T6(t *testing.T) {
	t.Parallel()
	tr := world.Trial{
		Name: "Submit",
		Op: func(ctx context.Context, p *world.Party) error {
			j, err := workerctl.Submit(ctx, p.Tested, workerctl.Spec{Name: "words", Workers: 3}, quick)
			p.State = j
			if err != nil {
				return err
			}
			if _, err := workerctl.Submit(context.Background(), p.Other, workerctl.Spec{Name: "words", Workers: 3}, quick); !errors.Is(err, workerctl.ErrRunning) {
				return fmt.Errorf("a second one: %w", err)
			}
			return nil
		},
		Next: next(func(ctx context.Context, p *world.Party) error {
			j, err := workerctl.Submit(ctx, p.Other, workerctl.Spec{Name: "words", Workers: 3}, quick)
			if errors.Is(err, workerctl.ErrRunning) {
				j, err = workerctl.Attach(ctx, p.Other, "words", quick)
			}
			if err != nil {
				return err
			}
			p.State = j
			return gapless(3)(ctx, p)
		}),
	}
	c := tr.Case()
	c.Pairs = world.Pairs(matrix.LostReply)
	report(t, c)
}

func TestKillUnderEveryFault_T17(t *testing.T) {
	t.Parallel()
	tr := world.Trial{
		Name: "Kill", Setup: submitFirst(3, false),
		Op: func(ctx context.Context, p *world.Party) error {
			j, err := attach(ctx, p)
			if err != nil {
				return err
			}
			if _, err := p.State.(*workerctl.Job).Join(context.Background(), nth(0)); err != nil {
				return err
			}
			return j.Kill(ctx)
		},
		Next: next(func(ctx context.Context, p *world.Party) error { return p.State.(*workerctl.Job).Kill(ctx) }),
	}
	report(t, tr.Case())
}

// Heartbeats of running workers are requests too, and can suffer faults.
func TestLongWorkUnderEveryFaultAtEveryHeartbeat(t *testing.T) {
	t.Parallel()
	tr := world.Trial{
		Name: "Join, work", Setup: submitFirst(3, false), Next: next(gapless(3)),
		Op: func(ctx context.Context, p *world.Party) error {
			k, err := attachAndJoin(ctx, p)
			if err != nil {
				return err
			}
			world.Pause(4 * time.Second)
			return judge(p, k)
		},
		Counts: func(r zktest.Request) bool { return r.Op != "connect" && r.Op != "ping" && r.Op != "closeSession" },
	}
	report(t, tr.Case())
}
