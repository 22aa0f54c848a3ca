package workerctl_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest/matrix"
)

// Waits, and changes of a running job, under every fault.

// crewOfTwo submits a job of two: worker 0 suffers no faults, worker 1 is under
// test.
func crewOfTwo(e *matrix.Env, p *world.Party) error {
	if err := submitFirst(2, false)(e, p); err != nil {
		return err
	}
	j := p.State.(*workerctl.Job)
	first, err := j.Join(context.Background(), nth(0))
	if err != nil {
		return err
	}
	mine, err := attach(context.Background(), p)
	if err != nil {
		return err
	}
	k, err := mine.Join(context.Background(), nth(1))
	p.State = pair{j, first, k}
	return err
}

// pair is a job of two, and its workers.
type pair struct {
	job         *workerctl.Job
	other, mine *workerctl.Worker
}

// kill ends the job in any state.
func kill(ctx context.Context, p *world.Party) error { return p.State.(pair).job.Kill(ctx) }

func TestBarrierAndPhaseUnderEveryFault_T4_W10(t *testing.T) {
	t.Parallel()
	meet := map[string]func(ctx context.Context, k *workerctl.Worker) error{
		"Barrier": func(ctx context.Context, k *workerctl.Worker) error { _, err := k.Barrier(ctx, "b"); return err },
		"Phase":   func(ctx context.Context, k *workerctl.Worker) error { return k.Phase(ctx, "p") },
	}
	for name, f := range meet {
		t.Run(name, func(t *testing.T) {
			tr := world.Trial{
				Name: name, Setup: crewOfTwo, Next: next(kill), Excuses: []error{session.ErrUnknownOutcome},
				Op: func(ctx context.Context, p *world.Party) error {
					both, other := p.State.(pair), make(chan error, 1)
					came := make(chan struct{})
					// Waited for below; ends with the wait, which has a limit.
					go func() {
						world.Pause(time.Second)
						close(came)
						other <- f(context.Background(), both.other)
					}()
					err := f(ctx, both.mine)
					select {
					case <-came:
					default:
						if err == nil {
							return errors.New("it passed alone")
						}
					}
					if e := <-other; err == nil && e != nil {
						return fmt.Errorf("one has passed, and the other not: %w", e)
					}
					return err
				},
			}
			report(t, tr.Case())
		})
	}
}

func TestWaitAllUnderEveryFault_T3(t *testing.T) {
	t.Parallel()
	report(t, world.Trial{
		Name: "WaitAll", Setup: submitFirst(1, false),
		Next: next(func(ctx context.Context, p *world.Party) error { return p.State.(*workerctl.Job).Kill(ctx) }),
		Op: func(ctx context.Context, p *world.Party) error {
			j, err := attach(ctx, p)
			if err != nil {
				return err
			}
			joined := make(chan error, 1)
			// Waited for below; ends with the join.
			go func() {
				world.Pause(3 * time.Second)
				_, err := p.State.(*workerctl.Job).Join(context.Background(), nth(0))
				joined <- err
			}()
			err = j.WaitAll(ctx)
			return errors.Join(err, <-joined)
		},
	}.Case())
}

func TestUpdateUnderEveryFault(t *testing.T) {
	t.Parallel()
	report(t, world.Trial{
		Name: "Update", Setup: crewOfTwo, Next: next(kill),
		Op: func(ctx context.Context, p *world.Party) error {
			k := p.State.(pair).mine
			if err := k.Update(ctx, map[string]string{"n": "1"}); err != nil {
				return err
			}
			all, err := p.State.(pair).job.Members(context.Background())
			if err != nil {
				return err
			}
			if all[1].Identity.KV["n"] != "1" {
				return fmt.Errorf("lost: %+v", all[1])
			}
			return nil
		},
	}.Case())
}

func TestScaleUnderEveryFault(t *testing.T) {
	t.Parallel()
	for name, n := range map[string]int{"up": 5, "down": 2} {
		t.Run(name, func(t *testing.T) {
			tr := world.Trial{
				Name: "Scale " + name,
				Setup: func(e *matrix.Env, p *world.Party) error {
					if err := submitFirst(3, false)(e, p); err != nil {
						return err
					}
					for i := range 3 {
						k, err := p.State.(*workerctl.Job).Join(context.Background(), nth(i))
						if err == nil && i == 2 {
							err = k.Leave(context.Background())
						}
						if err != nil {
							return err
						}
					}
					return nil
				},
				Op: func(ctx context.Context, p *world.Party) error {
					j, err := attach(ctx, p)
					if err != nil {
						return err
					}
					if err := j.Scale(ctx, n); err != nil {
						return err
					}
					in, err := p.State.(*workerctl.Job).Info(context.Background())
					if err == nil && in.Workers != n {
						err = fmt.Errorf("%+v", in)
					}
					return err
				},
				Next: next(func(ctx context.Context, p *world.Party) error {
					j := p.State.(*workerctl.Job)
					if err := j.Scale(ctx, n); err != nil {
						return err
					}
					in, err := j.Info(ctx)
					if err != nil || in.Joined != min(3, n) || in.Running != 2 {
						return fmt.Errorf("%+v, %w", in, err)
					}
					return j.Kill(ctx)
				}),
			}
			report(t, tr.Case())
		})
	}
}

func TestSweepUnderEveryFault_T14(t *testing.T) {
	t.Parallel()
	o := &workerctl.Options{Abandoned: time.Millisecond}
	report(t, world.Trial{
		Name: "Sweep", Setup: submitFirst(2, false),
		Op: func(ctx context.Context, p *world.Party) error {
			n := workerctl.NewJanitor(p.Tested, o)
			_, first := n.Sweep(ctx)
			world.Pause(time.Second)
			_, second := n.Sweep(ctx)
			return errors.Join(first, second)
		},
		Next: next(func(ctx context.Context, p *world.Party) error {
			n := workerctl.NewJanitor(p.Other, o)
			for range 3 {
				if _, err := n.Sweep(ctx); err != nil {
					return err
				}
				world.Pause(time.Second)
			}
			return nil
		}),
	}.Case())
}

// walk goes through the phases, from the beginning again after each death.
func (s *stress) walk(ctx context.Context, c *session.Client, name string, phases int, r *rand.Rand) {
	var k *workerctl.Worker
	for phase := 0; phase < phases && ctx.Err() == nil; {
		if k == nil || k.Context().Err() != nil {
			j, err := workerctl.Attach(ctx, c, "words", &workerctl.Options{BarrierWait: 15 * time.Second})
			if err == nil {
				k, err = j.Join(ctx, named(name))
			}
			s.excuse(ctx, "join", err)
			phase = 0
			continue
		}
		if r.IntN(6) == 0 {
			s.Expire(k.Session().ID())
			_ = s.w.Server.ExpireSession(k.Session().ID())
			world.SleepContext(k.Context(), 20*time.Second)
			continue
		}
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(2*time.Second))))
		s.note(visit{phase, k.ID(), false})
		err := k.Phase(ctx, fmt.Sprint("phase ", phase))
		var missing *workerctl.MissingError
		if err == nil {
			s.note(visit{phase, k.ID(), true})
			phase++
		} else if !errors.As(err, &missing) && !errors.Is(err, context.DeadlineExceeded) {
			s.excuse(ctx, "phase", err)
		}
	}
	if ctx.Err() != nil {
		s.Fail(fmt.Errorf("%s does not come to the end", name))
	}
}

func (s *stress) note(v visit) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.visits = append(s.visits, v)
}

// T4, T21, T22, W9, W10: workers die and come back on their way through the
// phases; no worker passes a phase before all have come to its end, and all
// pass the last.
func TestStressPhases_T22_W9(t *testing.T) {
	for _, servers := range []int{1, 3} {
		world.RunSeeds(t, world.Seeds(8), servers, func(ww *world.World, seed uint64) error {
			w := &World{ww}
			r := rand.New(rand.NewPCG(seed, 1))
			s := &stress{w: w, workers: 2 + r.IntN(3)}
			var clients []*session.Client
			for range s.workers {
				clients = append(clients, w.Client())
			}
			j := w.submit(clients[0], s.workers)
			var all sync.WaitGroup
			trouble, calm := context.WithTimeout(w.Ctx, time.Minute)
			defer calm()
			ctx, cancel := context.WithTimeout(w.Ctx, 30*time.Minute)
			defer cancel()
			for i, c := range clients {
				own := rand.New(rand.NewPCG(r.Uint64(), 2))
				// Waited for below; ends with the last phase, or ctx.
				all.Go(func() { s.walk(ctx, c, nth(i).Name, 5, own) })
			}
			g := &world.FaultInjector{
				Server: w.Server, Clients: len(clients), Servers: servers,
				Rand: rand.New(rand.NewPCG(seed, 3)), Expire: s.Expire,
			}
			// Waited for below; ends with trouble.
			all.Go(func() { g.Run(trouble, 3*time.Second) })
			all.Wait()
			if err := s.check(); err != nil {
				return err
			}
			if err := j.Kill(ctx); err != nil {
				return err
			}
			w.Pass(time.Minute)
			return nothingLeft(w.Server)
		})
	}
}
