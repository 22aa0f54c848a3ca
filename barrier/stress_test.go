package barrier_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// stress has parties that meet at random, under faults, and their observations.
type stress struct {
	clients  []*session.Client
	barriers []*barrier.Barrier
	doubles  []*barrier.Double
	parties  int
	real     bool // time is

	// mu guards the fields below.
	mu       sync.Mutex
	calls    []call
	openings []opening
	stays    []stay
	forced   map[int64]time.Time // sessions expired early
	failed   error               // the first unexcused error
}

func (s *stress) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

func name(i int) string { return fmt.Sprintf("p%d", i) }

// passes is the number of passes of a barrier, or of stays inside, by all
// parties.
func (s *stress) passes() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := len(s.stays)
	for _, c := range s.calls {
		if c.err == nil {
			n++
		}
	}
	return n
}

// await meets again and again, and gives up now and then, until ctx ends.
func (s *stress) await(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(30*time.Second))))
		c := call{id: name(i), start: time.Now()}
		c.round, c.err = s.barriers[i].Await(wait)
		c.end = time.Now()
		if c.err != nil && wait.Err() == nil && !c.unknown() {
			s.fail(fmt.Errorf("%s: %w", c.id, c.err))
		}
		if late := c.end.Sub(c.start); c.err != nil && wait.Err() != nil && late > 32*time.Second && !s.real {
			s.fail(fmt.Errorf("%s: it returns after %v", c.id, late))
		}
		cancel()
		s.mu.Lock()
		s.calls = append(s.calls, c)
		s.mu.Unlock()
		if r.IntN(8) > 0 {
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(time.Second))))
		}
	}
}

// stay enters and leaves, until ctx ends.
func (s *stress) stay(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(30*time.Second))))
		st := stay{id: name(i), asked: time.Now()}
		seat, err := s.doubles[i].Enter(wait)
		doubtful := world.OnKeeper() && errors.Is(err, session.ErrUnknownOutcome)
		if err != nil && wait.Err() == nil && !doubtful {
			s.fail(fmt.Errorf("%s: enter: %w", st.id, err))
		}
		cancel()
		if err != nil {
			continue
		}
		st.from, st.round = time.Now(), seat.Round()
		long := time.Duration(r.Int64N(int64(2 * time.Second)))
		if s.real {
			st.to = world.LastSeen(seat.Context(), st.from, long/4)
		} else {
			world.SleepContext(seat.Context(), long)
			st.to = time.Now()
		}
		lost := seat.Context().Err() != nil
		over, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(30*time.Second))))
		err = seat.Leave(over)
		switch {
		case err == nil:
			st.left = time.Now()
		case errors.Is(err, session.ErrLost):
		case lost, over.Err() == nil:
			s.fail(fmt.Errorf("%s: leave: %w", st.id, err))
		}
		cancel()
		s.mu.Lock()
		if at, ok := s.forced[seat.Session().ID()]; !ok || at.After(st.from) {
			if ok && at.Before(st.to) {
				st.to = at // the party could not know
			}
			s.stays = append(s.stays, st)
		}
		s.mu.Unlock()
	}
}

// expire records an early expiry of a session, before the expiry.
func (s *stress) expire(id int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, known := s.forced[id]; !known {
		s.forced[id] = time.Now()
	}
}

// stressWorld is a random history, drawn from seed.
func stressWorld(w *World, seed uint64, servers int, double bool) error {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &stress{parties: 2 + r.IntN(2), forced: map[int64]time.Time{}}
	n := s.parties
	if !double {
		n += r.IntN(3) // P12: more than there may be
	}
	for i := range n {
		c := w.Client()
		o := &barrier.Options{ID: name(i)}
		s.clients = append(s.clients, c)
		s.barriers = append(s.barriers, barrier.New(c, dir, s.parties, o))
		if i%2 == 0 {
			o = nil // then the Double itself recognizes returning parties
		}
		s.doubles = append(s.doubles, barrier.NewDouble(c, dir, s.parties, o))
	}
	opened(w.Server, s.parties, func(o opening) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.openings = append(s.openings, o)
	})
	var all sync.WaitGroup
	trouble, calm := context.WithTimeout(w.Ctx, 40*time.Second)
	defer calm()
	ctx, cancel := context.WithTimeout(w.Ctx, 70*time.Second)
	defer cancel()
	for i := range n {
		own := rand.New(rand.NewPCG(r.Uint64(), 2))
		work := s.await
		if double {
			work = s.stay
		}
		// Waited for below; ends with ctx.
		all.Go(func() { work(ctx, i, own) })
	}
	g := &world.FaultInjector{Server: w.Server, Clients: n, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 3)), Expire: s.expire}
	// Waited for below; ends with trouble.
	all.Go(func() { g.Run(trouble, 3*time.Second) })
	all.Wait()
	s.mu.Lock()
	err := s.failed
	if double {
		err = errors.Join(err, checkStays(s.stays, s.parties))
	} else {
		err = errors.Join(err, checkAwaits(s.openings, s.calls, s.parties))
	}
	met := len(s.openings)
	s.mu.Unlock()
	if err == nil && met == 0 {
		err = errors.New("no parties ever met")
	}
	if err != nil {
		return err
	}
	return s.checkRecovery(w, double)
}

// checkRecovery asserts, after the faults, that the first parties can meet once
// more, and that no znodes are left. It runs in a bubble.
func (s *stress) checkRecovery(w *World, double bool) error {
	world.Pause(30 * time.Second) // the remains of abandoned calls are gone
	errs := make([]error, s.parties)
	ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Minute)
	defer cancel()
	var all sync.WaitGroup
	for i := range s.parties {
		// Waited for below; ends with ctx.
		all.Go(func() {
			if !double {
				_, errs[i] = s.barriers[i].Await(ctx)
				return
			}
			seat, err := s.doubles[i].Enter(ctx)
			if err == nil {
				err = seat.Leave(ctx)
			}
			errs[i] = err
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("they do not meet any more: %w", err)
	}
	world.Pause(20 * time.Second)
	return w.NothingLeft(dir)
}

func runSeeds(t *testing.T, n, servers int, double bool) {
	t.Parallel()
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers, double)
	})
}

// P11, P12, CH11, CL7: whatever breaks, and however many come.
func TestStressBarrierOneServer_P11_P12(t *testing.T) { runSeeds(t, 50, 1, false) }

func TestStressBarrierEnsemble(t *testing.T) { runSeeds(t, 25, 3, false) }

func TestStressDoubleOneServer_CL7_CL8(t *testing.T) { runSeeds(t, 30, 1, true) }

func TestStressDoubleEnsemble(t *testing.T) { runSeeds(t, 20, 3, true) }
