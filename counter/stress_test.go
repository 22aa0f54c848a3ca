package counter_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
)

// stress has the workers of several clients on one counter, and their results.
type stress struct {
	counters []*counter.Counter
	deleter  *session.Client // may be nil

	// mu guards the fields below.
	mu     sync.Mutex
	clock  int64 // counts calls and returns
	calls  []call
	failed error // the first unexcused error
}

func (s *stress) tick() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	return s.clock
}

// do runs a random operation of a client and records the outcome.
func (s *stress) do(ctx context.Context, i int, r *rand.Rand) {
	long := 30 * time.Second
	if r.IntN(4) == 0 {
		long = time.Duration(r.Int64N(int64(2 * time.Second)))
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	c := call{begin: s.tick(), from: r.Int64N(5), to: 1 + r.Int64N(4)}
	var err error
	switch k := r.IntN(12); {
	case k < 5:
		c.op = "add"
		c.value, err = s.counters[i].Add(ctx, c.to)
	case k < 6:
		c.op = "set"
		err = s.counters[i].Set(ctx, c.to)
	case k < 8:
		c.op = "swap"
		c.ok, err = s.counters[i].CompareAndSwap(ctx, c.from, c.to)
	case k == 8 && s.deleter != nil:
		c.op = "delete"
		err = s.remove(ctx)
	default:
		c.op = "get"
		c.value, err = s.counters[i].Get(ctx)
	}
	c.fate = history.FateOf(err)
	c.end = s.tick()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, c)
	// A session lost during a write can cost only the outcome. The deletion of
	// the counter also deletes the markers, which tell the outcome of lost
	// replies.
	lost := errors.Is(err, session.ErrLost) && (c.fate == maybe || c.op == "delete")
	deleted := s.deleter != nil && c.fate == maybe
	if err != nil && ctx.Err() == nil && !lost && !deleted && s.failed == nil {
		s.failed = fmt.Errorf("%v: %w", c, err)
	}
}

// remove deletes the counter with its markers, at once or not at all.
func (s *stress) remove(ctx context.Context) error {
	sess, err := s.deleter.Session(ctx)
	if err != nil {
		return err
	}
	for {
		names, _, err := sess.Children(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			// As good as a set to 0, if the leader knows of no node either.
			if _, err = sess.Txn(ctx, session.CheckOp(path, -1)); errors.Is(err, session.ErrNoNode) {
				return nil
			}
			names = nil
		}
		if err != nil {
			return err
		}
		var ops []session.Op
		for _, name := range names {
			ops = append(ops, session.DeleteOp(path+"/"+name, -1))
		}
		_, err = sess.Txn(ctx, append(ops, session.DeleteOp(path, -1))...)
		if !errors.Is(err, session.ErrNoNode) && !errors.Is(err, session.ErrNotEmpty) {
			return err
		}
	}
}

// stressWorld is a random history, drawn from seed.
func stressWorld(w *World, seed uint64, servers int) error {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stress{}
	copts := session.Options{}
	if r.IntN(2) == 0 {
		copts = session.Options{Timeout: 6 * time.Second}
	}
	clients := 2 + r.IntN(2)
	for range clients {
		s.counters = append(s.counters, counter.New(w.ClientWith(copts), path, nil))
	}
	observer := counter.New(w.Client(), path, nil)
	if r.IntN(3) == 0 {
		s.deleter = w.Client()
		w.add(observer, 0)
	}
	var all sync.WaitGroup
	trouble, calm := context.WithTimeout(w.Ctx, 25*time.Second)
	defer calm()
	for i := range s.counters {
		for range 1 + r.IntN(2) {
			own := rand.New(rand.NewPCG(r.Uint64(), 2))
			// Waited for below; ends after its calls.
			all.Go(func() {
				for range 4 + own.IntN(8) {
					s.do(w.Ctx, i, own)
					world.SleepContext(w.Ctx, time.Duration(own.Int64N(int64(3*time.Second))))
				}
			})
		}
	}
	g := &world.FaultInjector{Server: w.Server, Clients: clients, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 3))}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 2*time.Second) })
	all.Wait()
	return s.checkRecovery(w, observer)
}

// checkRecovery checks the history after the faults: every client succeeds, and
// no unused marker is left.
func (s *stress) checkRecovery(w *World, observer *counter.Counter) error {
	w.Pass(time.Minute)
	for i := range s.counters {
		// A late attachment can still cost a client its connection once, together
		// with the reply.
		err := s.last(w, i)
		if s.deleter != nil && history.FateOf(err) == maybe {
			err = s.last(w, i)
		}
		if err != nil {
			return fmt.Errorf("client %d does not get through any more: %w", i, err)
		}
	}
	last := call{op: "get", fate: once, begin: s.tick()}
	var err error
	if last.value, err = observer.Get(w.Ctx); err != nil {
		return err
	}
	last.end = s.tick()
	s.calls = append(s.calls, last)
	if n := len(w.Children(path)); n > len(s.counters)+1 {
		return fmt.Errorf("%d markers of %d counters", n, len(s.counters)+1)
	}
	return errors.Join(s.failed, checkHistory(s.calls))
}

// last adds once more.
func (s *stress) last(w *World, i int) (err error) {
	c := call{op: "add", to: 1, begin: s.tick()}
	ctx, cancel := context.WithTimeout(w.Ctx, time.Minute)
	defer cancel()
	c.value, err = s.counters[i].Add(ctx, 1)
	c.fate, c.end = history.FateOf(err), s.tick()
	s.calls = append(s.calls, c)
	return err
}

// runSeeds runs n histories.
func runSeeds(t *testing.T, n, servers int) {
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers)
	})
}

// CL1, CL2, N3, N4, N5: under all losses, the answers are those of a single
// counter.
func TestStressOneServer_CL1_CL2(t *testing.T) { runSeeds(t, 100, 1) }

func TestStressEnsemble_CL1_CL2(t *testing.T) { runSeeds(t, 50, 3) }

// Sequences under random faults: each number once, and each process's in order;
// with a block of 1 those of all processes.
func TestStressSequence(t *testing.T) {
	world.RunSeeds(t, world.Seeds(60), 1, func(w *world.World, seed uint64) error {
		r := rand.New(rand.NewPCG(seed, 4))
		block := 1 + 4*r.IntN(2)
		var mu sync.Mutex
		var failed error
		seen := map[int64]bool{}
		highest := int64(0) // handed out so far
		var all sync.WaitGroup
		trouble, calm := context.WithTimeout(w.Ctx, 20*time.Second)
		defer calm()
		for range 3 {
			q := counter.NewSequence(w.Client(), path, &counter.Options{Block: block})
			for range 2 {
				own := rand.New(rand.NewPCG(r.Uint64(), 5))
				// Waited for below; ends after its numbers.
				all.Go(func() {
					last := int64(0)
					for range 15 {
						ctx, cancel := context.WithTimeout(w.Ctx, time.Duration(own.Int64N(int64(20*time.Second))>>own.IntN(12)))
						if mu.Lock(); block == 1 {
							last = highest
						}
						mu.Unlock()
						n, err := q.Next(ctx)
						ended := ctx.Err() != nil
						cancel()
						mu.Lock()
						switch {
						case err != nil && !ended:
							failed = errors.Join(failed, err)
						case err == nil && (seen[n] || n <= last):
							failed = errors.Join(failed, fmt.Errorf("%d after %d, seen: %v", n, last, seen[n]))
						case err == nil:
							seen[n], last, highest = true, n, max(n, highest)
						}
						mu.Unlock()
						world.SleepContext(w.Ctx, time.Duration(own.Int64N(int64(time.Second))))
					}
				})
			}
		}
		g := &world.FaultInjector{Server: w.Server, Clients: 3, Servers: 1, Rand: rand.New(rand.NewPCG(seed, 6))}
		// Waited for below; ends with trouble.
		all.Go(func() { g.Run(trouble, 2*time.Second) })
		all.Wait()
		if len(seen) == 0 {
			failed = errors.Join(failed, errors.New("no numbers"))
		}
		return failed
	})
}

// The stress must include faults, and calls that succeed in spite of them.
func TestStressIsOne(t *testing.T) {
	var kinds strings.Builder
	count := map[fate]int{}
	for seed := range 20 {
		inWorld(t, nil, func(w *World) {
			s := &stress{counters: []*counter.Counter{counter.New(w.Client(), path, nil)}}
			ctx, calm := context.WithTimeout(w.Ctx, time.Minute)
			defer calm()
			g := &world.FaultInjector{Server: w.Server, Clients: 1, Servers: 1, Rand: rand.New(rand.NewPCG(uint64(seed), 3))}
			done := make(chan struct{})
			// Waited for below; ends with ctx.
			go func() { defer close(done); g.Run(ctx, time.Second) }()
			own := rand.New(rand.NewPCG(uint64(seed), 2))
			for ctx.Err() == nil {
				s.do(w.Ctx, 0, own)
				world.SleepContext(w.Ctx, time.Second)
			}
			<-done
			for _, c := range s.calls {
				count[c.fate]++
			}
			fmt.Fprintf(&kinds, "%d calls; ", len(s.calls))
		})
	}
	t.Log(kinds.String(), count)
	require.Greater(t, count[once], 100)
	require.Positive(t, count[maybe])
	require.Positive(t, count[never])
}
