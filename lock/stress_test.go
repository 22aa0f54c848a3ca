package lock_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// stress is the workers of several clients, which take and give back a lock, or
// permits of a semaphore, and their observations.
type stress struct {
	mutexes []*lock.Mutex
	semas   []*lock.Semaphore // instead of mutexes, if there are any
	permits int
	*world.Stress
}

// prize is a held lock, or held permits.
type prize struct {
	world.Holding
	permits int
	release func(context.Context) error
}

func (s *stress) takePrize(ctx context.Context, i int, r *rand.Rand) (prize, error) {
	if s.semas == nil {
		take := s.mutexes[i].Lock
		switch r.IntN(8) {
		case 0:
			take = s.mutexes[i].TryLock
		case 1:
			take = s.awaitPlace(i, r)
		}
		h, err := take(ctx)
		if err != nil {
			return prize{}, err
		}
		return prize{h, 1, h.Unlock}, nil
	}
	take, n := s.semas[i].Acquire, 1+r.IntN(s.permits)
	if r.IntN(4) == 0 {
		take = s.semas[i].TryAcquire
	}
	p, err := take(ctx, n)
	if err != nil {
		return prize{}, err
	}
	return prize{p, n, p.Release}, nil
}

// runWorker takes and gives back until ctx ends.
func (s *stress) runWorker(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		asked := time.Now()
		var g prize
		take := func(ctx context.Context) (err error) {
			g, err = s.takePrize(ctx, i, r)
			return err
		}
		if s.Attempt(ctx, r, take) {
			s.usePrize(ctx, i, g, asked, r)
		}
	}
}

// usePrize uses a granted prize, and gives it back.
func (s *stress) usePrize(ctx context.Context, i int, g prize, asked time.Time, r *rand.Rand) {
	h := world.Hold{Client: i, Session: g.Session().ID(), Permits: g.permits, Token: g.Token(), Asked: asked, From: time.Now()}
	if r.IntN(2) == 0 {
		s.Write(g.Context(), g.Session(), g.Guard(), g.Token())
	}
	h.To = s.Use(g.Context(), h.From, r)
	lost := context.Cause(g.Context())
	s.Hold(h)
	s.GiveBack(ctx, r, lost, g.release)
	if lost != nil && r.IntN(2) == 0 {
		s.WriteLate(ctx, i, g)
	}
}

// checkHistory judges the history.
func (s *stress) checkHistory() error {
	holds := s.Judged()
	if s.semas != nil {
		return errors.Join(s.Failed(), world.CheckCapacity(holds, s.permits))
	}
	return errors.Join(s.Failed(), world.CheckCapacity(holds, 1), world.CheckTokens(holds, true),
		world.CheckWrites(s.Wrote()), world.CheckLinear(holds, true))
}

// stressWorld runs one random history, drawn from seed.
func stressWorld(w *World, seed uint64, servers int, semaphore *lock.Options, trust session.TrustRule) error {
	u := w.FaultSchedule(seed, servers, trust)
	s := &stress{Stress: u.Stress(lock.ErrBusy), permits: 1 + u.Rand.IntN(3)}
	lopts := &lock.Options{}
	if u.Rand.IntN(4) == 0 {
		lopts.LocalHandover = -1
	}
	if seed%3 == 0 { // most wait in the room
		lopts.MaxQueue = 1
		if semaphore != nil {
			semaphore = &lock.Options{MaxQueue: 1, CuratorV2: semaphore.CuratorV2}
		}
	}
	for _, c := range s.Clients {
		s.mutexes = append(s.mutexes, lock.New(c, dir, lopts))
		if semaphore != nil {
			s.semas = append(s.semas, lock.NewSemaphore(c, dir, s.permits, semaphore))
		}
	}
	u.Run(3, s.runWorker, s.Expire)
	if err := s.checkHistory(); err != nil {
		return err
	}
	if len(s.Holds()) == 0 {
		return errors.New("nothing was ever held")
	}
	return s.checkAftermath(w)
}

// checkAftermath requires, after the faults, that every client gets in, and that
// nothing is left. checkAftermath runs in a bubble.
func (s *stress) checkAftermath(w *World) error {
	for i := range s.Clients {
		ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Minute)
		g, err := s.takePrize(ctx, i, rand.New(rand.NewPCG(0, 1<<63)))
		for err != nil && ctx.Err() == nil { // a Try, or the session was just lost
			world.SleepContext(ctx, time.Second)
			g, err = s.takePrize(ctx, i, rand.New(rand.NewPCG(0, 5)))
		}
		if err == nil {
			err = g.release(ctx)
		}
		cancel()
		if err != nil {
			return fmt.Errorf("client %d does not get in any more: %w\n%s", i, err, s.describeState(w))
		}
	}
	time.Sleep(20 * time.Second)
	for _, name := range w.Children(dir) {
		if name != "locks" && name != "leases" {
			return fmt.Errorf("orphan %s/%s", dir, name)
		}
	}
	return w.NothingLeft(dir+"/locks", dir+"/leases", dir+".waiting")
}

// describeState shows where everything stands.
func (s *stress) describeState(w *World) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, leader %d\n", time.Now(), w.Server.Leader())
	for i, c := range s.Clients {
		fmt.Fprintf(&b, "client %d: %+v\n", i, c.State())
	}
	for _, sess := range w.Server.Sessions() {
		fmt.Fprintf(&b, "session %#x: %+v\n", sess.ID, sess)
	}
	for _, n := range w.Server.Dump() {
		fmt.Fprintf(&b, "%s owner %#x czxid %d\n", n.Path, n.EphemeralOwner, n.Czxid)
	}
	fmt.Fprintf(&b, "watches %v\n", w.Server.Watches())
	return b.String()
}

// runSeeds runs n histories.
func runSeeds(t *testing.T, n, servers int, semaphore *lock.Options) {
	t.Parallel()
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers, semaphore, session.TrustQuorum)
	})
}

// P2, P4, P15, P16, P17, N18, N20 to N24, N32: no fault makes two hold a lock.
func TestStressOneServer(t *testing.T) { runSeeds(t, 100, 1, nil) }

func TestStressEnsemble(t *testing.T) { runSeeds(t, 50, 3, nil) }

func TestStressSemaphore_P16(t *testing.T) { runSeeds(t, 40, 1, &lock.Options{}) }

func TestStressCuratorSemaphore_P15(t *testing.T) {
	runSeeds(t, 30, 1, &lock.Options{CuratorV2: true})
}

// The stress test must notice two holders.
func TestStressNoticesTheWeakerRule(t *testing.T) {
	world.NoticesWeakTrust(t, func(w *world.World, trust session.TrustRule) error { return isolatedHolder(&World{w}, trust) })
}

// isolatedHolder has a holder at a follower that is then isolated, and a second
// holder elsewhere. isolatedHolder runs in a bubble.
func isolatedHolder(w *World, trust session.TrustRule) error {
	s := &stress{Stress: &world.Stress{}}
	w.IsolateHolder(s.Stress, trust, func(c *session.Client, _ int) (world.Holding, error) {
		return lock.New(c, dir, nil).Lock(w.Ctx)
	}, func(h world.Hold, _ world.Holding) { s.Hold(h) })
	return s.checkHistory()
}
