package workerctl_test

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

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/workerctl"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress runs workers that join, work, die, come back and leave, while the job
// grows and shrinks under faults.
type stress struct {
	w       *World
	workers int
	reuse   bool
	scales  bool
	world.History

	// mu guards the fields below.
	mu     sync.Mutex
	stays  []stay
	visits []visit
}

// excuse requires a known reason for a failed call.
func (s *stress) excuse(ctx context.Context, what string, err error) {
	var inUse *workerctl.InUseError
	for _, reason := range []error{
		workerctl.ErrFull, workerctl.ErrOver, workerctl.ErrNotRemoved, session.ErrLost, session.ErrUnknownOutcome,
	} {
		if errors.Is(err, reason) {
			return
		}
	}
	if err != nil && ctx.Err() == nil && !errors.As(err, &inUse) {
		s.Fail(fmt.Errorf("%s: %w", what, err))
	}
}

// work is the life of one identity, until the job or ctx ends.
func (s *stress) work(ctx context.Context, c *session.Client, name string, r *rand.Rand) {
	for ctx.Err() == nil {
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(4*time.Second))))
		short, cancel := context.WithTimeout(ctx, time.Duration(1+r.Int64N(int64(20*time.Second))))
		asked := time.Now()
		j, err := workerctl.Attach(short, c, "words", nil)
		if errors.Is(err, workerctl.ErrNoJob) {
			cancel()
			return // the job is over
		}
		var k *workerctl.Worker
		if err == nil {
			k, err = j.Join(short, named(name))
		}
		s.excuse(short, "join", err)
		cancel()
		if err == nil {
			s.stay(ctx, k, asked, r)
		}
	}
}

// stay works, and then leaves, or just goes away.
func (s *stress) stay(ctx context.Context, k *workerctl.Worker, asked time.Time, r *rand.Rand) {
	one := stay{
		name: k.Identity().Name, id: int64(k.ID()), session: k.Session().ID(), incarnation: k.Incarnation(),
		token: k.Token(), asked: asked, from: time.Now(), fixed: !s.reuse && !s.scales, forgotten: s.scales,
	}
	world.SleepContext(k.Context(), time.Duration(r.Int64N(int64(6*time.Second))))
	if r.IntN(3) == 0 {
		short, cancel := context.WithTimeout(ctx, 3*time.Second)
		s.excuse(short, "update", k.Update(short, map[string]string{"n": fmt.Sprint(r.IntN(9))}))
		cancel()
	}
	lost := k.Context().Err() != nil
	one.to = time.Now()
	short, cancel := context.WithTimeout(ctx, time.Duration(1+r.Int64N(int64(10*time.Second))))
	defer cancel()
	switch {
	case r.IntN(2) == 0 || lost:
		err := k.Leave(short)
		s.excuse(short, "leave", err)
		if lost && !errors.Is(err, session.ErrLost) && short.Err() == nil {
			s.Fail(fmt.Errorf("lost (%w), but Leave says %w", context.Cause(k.Context()), err))
		}
	case r.IntN(2) == 0:
		// The worker dies; the servers know at once.
		s.Expire(one.session)
		_ = s.w.Server.ExpireSession(one.session)
	default:
		// The worker is started again while this process goes on, until the next one joins.
		one.to = one.from
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stays = append(s.stays, one)
}

// check judges the history.
func (s *stress) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var stays []stay
	for _, one := range s.stays {
		var ever bool
		if one.to, ever = s.Until(one.session, one.from, one.to); ever {
			stays = append(stays, one)
		}
	}
	return errors.Join(s.Failed(), checkStays(stays), checkPhases(s.visits, s.workers))
}

// stressJob is a random history, drawn from seed.
func stressJob(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stress{w: w, workers: 2 + r.IntN(4), reuse: r.IntN(3) == 0}
	s.scales = r.IntN(3) == 0
	first := w.Client()
	clients := []*session.Client{first}
	for range 1 + r.IntN(3) {
		clients = append(clients, w.Client())
	}
	j := w.submitSpec(first, workerctl.Spec{Name: "words", Workers: s.workers, ReuseIDs: s.reuse})
	removals := 0
	w.Server.OnApply(func(txn zktest.Txn) {
		if txn.Op == "multi" && txn.Code == 0 && len(txn.Paths) == 3 && txn.Paths[2] == path {
			removals++
		}
		if !slices.ContainsFunc(txn.Paths, func(p string) bool { return strings.HasPrefix(p, path) }) {
			return // a heartbeat, or a lock
		}
		if err := checkTree(w.Server.Dump()); err != nil {
			s.Fail(fmt.Errorf("after %+v: %w", txn, err))
		}
	})
	var all sync.WaitGroup
	trouble, calm := context.WithTimeout(w.Ctx, 60*time.Second)
	defer calm()
	ctx, cancel := context.WithTimeout(w.Ctx, 90*time.Second)
	defer cancel()
	for i := range s.workers + r.IntN(2) {
		own := rand.New(rand.NewPCG(r.Uint64(), 2))
		// Waited for below; ends with ctx, or the job.
		all.Go(func() { s.work(ctx, clients[i%len(clients)], nth(i).Name, own) })
	}
	if s.scales {
		own := rand.New(rand.NewPCG(seed, 4))
		// Waited for below; ends with trouble.
		all.Go(func() {
			for trouble.Err() == nil {
				world.SleepContext(trouble, time.Duration(own.Int64N(int64(10*time.Second))))
				s.excuse(trouble, "scale", j.Scale(trouble, 1+own.IntN(6)))
			}
		})
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
	if len(s.stays) == 0 {
		return errors.New("no worker ever joined")
	}
	if err := s.checkRecovery(j); err != nil {
		return err
	}
	if removals != 1 {
		return fmt.Errorf("the job was removed %d times", removals)
	}
	return s.check()
}

// checkRecovery asserts, after the faults, that all workers get ids without a
// gap and that no znode is left when they have finished. It runs in a bubble.
func (s *stress) checkRecovery(j *workerctl.Job) error {
	ctx, cancel := context.WithTimeout(s.w.Ctx, 5*time.Minute)
	defer cancel()
	in, err := j.Info(ctx)
	if err == nil && !in.State.Over() {
		known, err := j.Members(ctx)
		if err != nil {
			return err
		}
		for i := len(known); i < in.Workers; i++ {
			known = append(known, workerctl.Member{ID: i, Identity: named(fmt.Sprintf("late-%d", i))})
		}
		var crew []*workerctl.Worker
		for i, m := range known {
			if s.reuse && m.State == "left" {
				m.Identity = named(fmt.Sprintf("late-%d", i)) // the former worker may have another id now
			}
			k, err := j.Join(ctx, m.Identity)
			if err != nil {
				return fmt.Errorf("%v does not get in any more: %w", m, err)
			}
			if k.ID() != i && !s.reuse && !s.scales {
				return fmt.Errorf("%w: %v, id %d", errMoved, m, k.ID())
			}
			crew = append(crew, k)
		}
		for _, k := range crew {
			if err := k.Leave(ctx); err != nil {
				return fmt.Errorf("worker %d does not get out: %w", k.ID(), err)
			}
		}
	} else if err != nil && !errors.Is(err, workerctl.ErrOver) {
		return err
	}
	if err := j.Remove(ctx); err != nil { // if the worker that should have removed the job was cut off
		return err
	}
	s.w.Pass(time.Minute)
	if err := nothingLeft(s.w.Server); err != nil {
		return err
	}
	return s.w.NoWatches()
}

// T1, T13, T16, T19, T20, W1, W3, W4, W7, W8 under random faults: ids are unique and
// without a gap at every moment, the job goes once.
func TestStressOneServer(t *testing.T) {
	world.RunSeeds(t, world.Seeds(40), 1, func(w *world.World, seed uint64) error {
		return stressJob(&World{w}, seed, 1)
	})
}

func TestStressEnsemble(t *testing.T) {
	world.RunSeeds(t, world.Seeds(16), 3, func(w *world.World, seed uint64) error {
		return stressJob(&World{w}, seed, 3)
	})
}
