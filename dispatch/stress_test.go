package dispatch_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress runs clients, masters and workers, which are killed, stopped, drained
// and started again under faults.
type stress struct {
	w *World
	world.History

	// mu guards the fields below.
	mu    sync.Mutex
	runs  []run
	fates map[string]*fate
	next  int
	there map[string]bool // existing results
}

// kill ends a client's session at once, as far as the servers know.
func (s *stress) kill(ctx context.Context, c *session.Client) {
	own, err := c.Session(ctx)
	if err != nil {
		return
	}
	s.Expire(own.ID())
	_ = s.w.Server.ExpireSession(own.ID())
}

// applied looks at the tree after each change, and counts the results.
func (s *stress) applied(txn zktest.Txn) {
	s.Fail(checkPaused(s.w.Server, txn))
	mine := false
	for _, p := range txn.Paths {
		rest, inside := strings.CutPrefix(p, path+"/")
		mine = mine || inside
		elems := strings.Split(rest, "/")
		if txn.Code != 0 || !inside || elems[0] != "results" || len(elems) != 3 {
			continue
		}
		s.mu.Lock()
		if s.there[p] = !s.there[p]; s.there[p] {
			s.fates[elems[2]].ends++
		}
		s.mu.Unlock()
	}
	if mine {
		if err := checkTree(s.w.Server.Dump()); err != nil {
			s.Fail(fmt.Errorf("after %+v: %w", txn, err))
		}
	}
}

// handle is the handler of all tasks: its work depends on task and attempt.
func (s *stress) handle(seed uint64) dispatch.Handler {
	return func(ctx context.Context, a *dispatch.Attempt) (out []byte, err error) {
		r := rand.New(rand.NewPCG(seed+uint64(a.Token()), 9))
		x := run{task: a.ID, attempt: a.Number, token: a.Token(), session: a.Session().ID(), from: time.Now()}
		defer func() {
			x.to, x.output = time.Now(), string(out)
			s.mu.Lock()
			s.runs = append(s.runs, x)
			s.mu.Unlock()
		}()
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(3*time.Second))))
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case r.IntN(10) == 0:
			return nil, fmt.Errorf("%s: %w", a.ID, dispatch.ErrPermanent)
		case r.IntN(6) == 0:
			return nil, errors.New("not this time")
		case r.IntN(12) == 0:
			panic("bad luck")
		}
		return fmt.Appendf(nil, "%s by %d", a.Payload, a.Token()), nil
	}
}

// playBoth is play of a master and a worker of one client.
func (s *stress) playBoth(ctx context.Context, c *session.Client, r *rand.Rand, h dispatch.Handler) {
	s.play(ctx, c, r, func() (func(context.Context) error, func(context.Context) error) {
		m, k := dispatch.NewMaster(c, path, nil), dispatch.NewWorker(c, path, h, nil)
		return func(ctx context.Context) error {
			var both sync.WaitGroup
			var err error
			// Waited for below; ends with ctx.
			both.Go(func() { err = m.Run(ctx) })
			err2 := k.Run(ctx)
			both.Wait()
			return errors.Join(err, err2)
		}, nil
	})
}

// play runs a role repeatedly, and ends the role in all ways.
func (s *stress) play(ctx context.Context, c *session.Client, r *rand.Rand, start func() (run func(context.Context) error, drain func(context.Context) error)) {
	var former sync.WaitGroup
	defer former.Wait()
	for ctx.Err() == nil {
		role, drain := start()
		own, stop := context.WithCancel(ctx)
		done := make(chan struct{})
		// Waited for above; ends with own.
		former.Go(func() {
			defer close(done)
			err := role(own)
			if err != nil && own.Err() == nil && !errors.Is(err, session.ErrLost) {
				s.Fail(fmt.Errorf("a role has ended: %w", err))
			}
		})
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(25*time.Second))))
		switch kind := r.IntN(3); {
		case kind == 0:
			s.kill(ctx, c)
		case kind == 1 && drain != nil:
			short, cancel := context.WithTimeout(ctx, 10*time.Second)
			_ = drain(short)
			cancel()
		case kind == 2:
			// A graceful stop, or an attempt.
			stop()
			<-done
		}
		stop()
	}
}

// submitted is the life of a client.
func (s *stress) submitted(ctx context.Context, c *session.Client, r *rand.Rand) {
	q := dispatch.New(c, path, nil)
	for ctx.Err() == nil {
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(4*time.Second))))
		s.mu.Lock()
		s.next++
		t := dispatch.Task{
			ID: fmt.Sprintf("t%d", s.next), Payload: fmt.Appendf(nil, "p%d", s.next), MaxAttempts: 1 + r.IntN(4),
			Priority: r.IntN(3), Backoff: time.Duration(1 + r.Int64N(int64(2*time.Second))),
		}
		f := &fate{maxAttempts: t.MaxAttempts}
		s.fates[t.ID] = f
		s.mu.Unlock()
		for ctx.Err() == nil && !s.submit(ctx, q, t, f, r) {
		}
		switch r.IntN(4) {
		case 0:
			s.mu.Lock()
			f.meddled = true
			s.mu.Unlock()
			short, cancel := context.WithTimeout(ctx, 5*time.Second)
			s.excuse(short, "cancel", q.Cancel(short, t.ID), dispatch.ErrState)
			cancel()
		case 1:
			s.collect(ctx, q, t.ID, f, time.Duration(1+r.Int64N(int64(20*time.Second))))
		case 2:
			s.pause(ctx, q, r)
		}
	}
}

// pause pauses the queue for a while, if no other client does or resumes it.
func (s *stress) pause(ctx context.Context, q *dispatch.Queue, r *rand.Rand) {
	short, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_, err := q.Pause(short, "ann", "why")
	s.excuse(short, "pause", err, session.ErrUnknownOutcome)
	world.SleepContext(ctx, time.Duration(r.Int64N(int64(2*time.Second))))
	for ctx.Err() == nil {
		again, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := q.Resume(again)
		s.excuse(again, "resume", err)
		cancel()
		if err == nil {
			return
		}
	}
}

func (s *stress) submit(ctx context.Context, q *dispatch.Queue, t dispatch.Task, f *fate, r *rand.Rand) (confirmed bool) {
	short, cancel := context.WithTimeout(ctx, time.Duration(1+r.Int64N(int64(10*time.Second))))
	defer cancel()
	_, err := q.Submit(short, t)
	s.excuse(short, "submit", err)
	s.mu.Lock()
	defer s.mu.Unlock()
	f.confirmed = f.confirmed || err == nil
	return err == nil
}

// collect collects a confirmed task; false if not in time.
func (s *stress) collect(ctx context.Context, q *dispatch.Queue, id string, f *fate, within time.Duration) bool {
	short, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	out, err := q.Collect(short, id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if out.ID != "" && (f.result == nil || err == nil) {
		f.result = &out
	}
	return err == nil || f.result != nil && errors.Is(err, dispatch.ErrNoTask)
}

// excuse requires a known reason for a failure.
func (s *stress) excuse(ctx context.Context, what string, err error, reasons ...error) {
	if err == nil || ctx.Err() != nil || slices.ContainsFunc(reasons, func(r error) bool { return errors.Is(err, r) }) {
		return
	}
	s.Fail(fmt.Errorf("%s: %w", what, err))
}

// history is a random history, drawn from seed.
func history(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stress{w: w, fates: map[string]*fate{}, there: map[string]bool{}}
	w.Server.OnApply(s.applied)
	trouble, calm := context.WithTimeout(w.Ctx, 60*time.Second)
	defer calm()
	ctx, cancel := context.WithCancel(w.Ctx)
	defer cancel()
	var roles, all sync.WaitGroup
	clients := 0
	fork := func(play func(c *session.Client, r *rand.Rand)) {
		c, own := w.Client(), rand.New(rand.NewPCG(r.Uint64(), 2))
		clients++
		// Waited for below; ends with trouble.
		roles.Go(func() { play(c, own) })
	}
	for range 1 + r.IntN(3) {
		fork(func(c *session.Client, r *rand.Rand) {
			s.play(trouble, c, r, func() (func(context.Context) error, func(context.Context) error) {
				return dispatch.NewMaster(c, path, nil).Run, nil
			})
		})
	}
	for range 1 + r.IntN(3) {
		o := &dispatch.WorkerOptions{Concurrency: 1 + r.IntN(3), Prefetch: r.IntN(4) - 1}
		fork(func(c *session.Client, r *rand.Rand) {
			s.play(trouble, c, r, func() (func(context.Context) error, func(context.Context) error) {
				k := dispatch.NewWorker(c, path, s.handle(seed), o)
				return k.Run, k.Drain
			})
		})
	}
	for range 1 + r.IntN(2) {
		fork(func(c *session.Client, r *rand.Rand) { s.submitted(trouble, c, r) })
	}
	g := &world.FaultInjector{
		Server: w.Server, Clients: clients, Servers: servers,
		Rand: rand.New(rand.NewPCG(seed, 3)), Expire: s.Expire,
	}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 3*time.Second) })
	all.Wait()
	roles.Wait()
	return errors.Join(s.checkRecovery(ctx, seed), s.check())
}

// checkRecovery asserts, after the faults, that every task ends, and that no
// znodes are left when all are collected. It runs in a bubble.
func (s *stress) checkRecovery(ctx context.Context, seed uint64) error {
	master := s.w.beside(dispatch.NewMaster(s.w.Client(), path, nil).Run)
	worker := s.w.beside(dispatch.NewWorker(s.w.Client(), path, s.handle(seed), nil).Run)
	q := dispatch.New(s.w.Client(), path, nil)
	if _, err := q.Resume(ctx); err != nil {
		return err
	}
	s.mu.Lock()
	all := map[string]*fate{}
	for id, f := range s.fates {
		if f.confirmed {
			all[id] = f
		}
	}
	s.mu.Unlock()
	for id, f := range all {
		if !s.collect(ctx, q, id, f, 5*time.Minute) {
			return fmt.Errorf("%w: %s does not end", errLost, id)
		}
	}
	// A submission that was given up may still be on its way.
	s.w.Pass(time.Minute)
	unsure, err := q.List(ctx)
	if err != nil {
		return err
	}
	for _, t := range unsure { // those whose client does not know
		if !s.collect(ctx, q, t.ID, s.fates[t.ID], 5*time.Minute) {
			return fmt.Errorf("%w: %s does not end", errLost, t.ID)
		}
	}
	s.w.Pass(2 * time.Minute)
	if st, err := q.Stats(ctx); err != nil || st.Published.IsZero() || len(st.Tasks) > 0 {
		return fmt.Errorf("the counts of an empty queue: %+v, %w", st, err)
	}
	_, _ = worker.end(), master.end()
	s.w.Pass(time.Minute)
	if left := remains(s.w.Server); len(left) > 0 {
		for _, p := range left {
			if !strings.HasPrefix(p, "workers/") {
				return fmt.Errorf("%q is left", left)
			}
		}
	}
	return s.unwatched()
}

// unwatched asserts that no watches are left. The test server keeps the watches
// of a connection turned into a hole, even after the session has moved: only
// connections listed by the server count.
func (s *stress) unwatched() error {
	if world.OnKeeper() {
		return nil
	}
	for _, one := range s.w.Server.Sessions() {
		for i := range 3 {
			id := fmt.Sprintf("0x%x", one.ID)
			text := s.w.Server.FourLetter(1+i, "wchc")
			if strings.Contains(s.w.Server.FourLetter(1+i, "cons"), "sid="+id+",") && strings.Contains(text, id) {
				return fmt.Errorf("watches are left:\n%s", text)
			}
		}
	}
	return nil
}

// check judges the history. From an early expiry of its session on, a handler
// cannot know.
func (s *stress) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var runs []run
	for _, x := range s.runs {
		x.to, _ = s.Until(x.session, x.from, x.to)
		runs = append(runs, x)
	}
	if len(runs) == 0 && s.Failed() == nil {
		return errors.New("no handler ever ran")
	}
	return errors.Join(s.Failed(), checkHistory(runs, s.fates))
}

func TestStressOneServer_M15_M24_P21(t *testing.T) {
	world.RunSeeds(t, world.Seeds(14), 1, func(w *world.World, seed uint64) error {
		return history(&World{World: w}, seed, 1)
	})
}

func TestStressEnsemble_M17_M18_M24(t *testing.T) {
	world.RunSeeds(t, world.Seeds(8), 3, func(w *world.World, seed uint64) error {
		return history(&World{World: w}, seed, 3)
	})
}
