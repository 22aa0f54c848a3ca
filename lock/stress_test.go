package lock_test

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
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
)

// stress is the workers of several clients, which take and give back a lock, or
// permits of a semaphore, and their observations.
type stress struct {
	clients []*session.Client
	mutexes []*lock.Mutex
	semas   []*lock.Semaphore // instead of mutexes, if there are any
	permits int
	maxHold time.Duration
	real    bool // time is
	world.History
}

// prize is a held lock, or held permits.
type prize struct {
	ctx     context.Context
	s       *session.Session
	guard   session.Op
	token   int64
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
		return prize{h.Context(), h.Session(), h.Guard(), h.Token(), 1, h.Unlock}, nil
	}
	take, n := s.semas[i].Acquire, 1+r.IntN(s.permits)
	if r.IntN(4) == 0 {
		take = s.semas[i].TryAcquire
	}
	p, err := take(ctx, n)
	if err != nil {
		return prize{}, err
	}
	return prize{p.Context(), p.Session(), p.Guard(), p.Token(), n, p.Release}, nil
}

// runWorker takes and gives back until ctx ends.
func (s *stress) runWorker(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		asked := time.Now()
		wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold*12))))
		g, err := s.takePrize(wait, i, r)
		if err != nil {
			s.excuseError(wait, err)
			cancel()
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(s.maxHold/8+1))))
			continue
		}
		cancel()
		s.usePrize(ctx, i, g, asked, r)
	}
}

// usePrize uses a granted prize, and gives it back.
func (s *stress) usePrize(ctx context.Context, i int, g prize, asked time.Time, r *rand.Rand) {
	h := world.Hold{Client: i, Session: g.s.ID(), Permits: g.permits, Token: g.token, Asked: asked, From: time.Now()}
	long := time.Duration(r.Int64N(int64(s.maxHold)))
	if r.IntN(2) == 0 {
		long /= 50
	}
	if r.IntN(2) == 0 {
		s.Write(g.ctx, g.s, g.guard, g.token)
	}
	if s.real {
		h.To = world.LastSeen(g.ctx, h.From, long)
	} else {
		world.SleepContext(g.ctx, long)
		h.To = time.Now()
	}
	lost := g.ctx.Err() != nil
	s.Hold(h)
	over, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold))))
	err := g.release(over)
	cancel()
	if lost && !isLoss(err) {
		s.Fail(fmt.Errorf("lost (%w), but the release says %w", context.Cause(g.ctx), err))
	}
	if err != nil && !isLoss(err) && over.Err() == nil {
		s.Fail(fmt.Errorf("release: %w", err))
	}
	if lost && r.IntN(2) == 0 {
		// A holder that has not noticed its loss writes: the guard must refuse the
		// write once the next holder may have written.
		late, cancel := context.WithTimeout(ctx, s.maxHold)
		defer cancel()
		if next, err := s.clients[i].Session(late); err == nil {
			s.Write(late, next, g.guard, g.token)
		}
	}
}

// excuseError requires a reason for an acquire that failed.
func (s *stress) excuseError(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, lock.ErrBusy) && !errors.Is(err, session.ErrLost) {
		s.Fail(fmt.Errorf("acquire: %w", err))
	}
}

// checkHistory judges the history.
func (s *stress) checkHistory() error {
	holds := s.Holds()
	if s.real {
		holds = world.Lasting(holds) // a stalled client sees late its grant, and the loss
	}
	if s.semas != nil {
		return errors.Join(s.Failed(), world.CheckCapacity(holds, s.permits))
	}
	return errors.Join(s.Failed(), world.CheckCapacity(holds, 1), world.CheckTokens(holds, true),
		world.CheckWrites(s.Wrote()), world.CheckLinear(holds, true))
}

func isLoss(err error) bool {
	return errors.Is(err, session.ErrLost) || errors.Is(err, session.ErrNodeDeleted)
}

// stressWorld runs one random history, drawn from seed.
func stressWorld(w *World, seed uint64, servers int, semaphore *lock.Options, trust session.TrustRule) error {
	u := w.FaultSchedule(seed, servers, trust)
	s := &stress{clients: u.Clients, maxHold: u.MaxHold, permits: 1 + u.Rand.IntN(3)}
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
	for _, c := range s.clients {
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
	for i := range s.clients {
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
	for _, path := range []string{dir, dir + "/locks", dir + "/leases", dir + ".waiting"} {
		for _, name := range w.Children(path) {
			if name != "locks" && name != "leases" {
				return fmt.Errorf("orphan %s/%s", path, name)
			}
		}
	}
	if n := w.Server.Stats().Watches; n > 0 && !world.OnKeeper() {
		return fmt.Errorf("%d watches left: %v", n, w.Server.Watches())
	}
	return nil
}

// describeState shows where everything stands.
func (s *stress) describeState(w *World) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%v, leader %d\n", time.Now(), w.Server.Leader())
	for i, c := range s.clients {
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

// isolatedHolder lets one client hold the lock at a follower, isolates the
// follower, and lets a second client ask the other servers for the lock. Both hold
// the lock as long as possible. isolatedHolder runs in a bubble.
func isolatedHolder(w *World, trust session.TrustRule) error {
	w.Pass(time.Second)
	alone := 1 + w.Server.Leader()%3
	require.NoError(w, w.Server.Create(world.Guarded, nil))
	s := &stress{}
	var first *lock.Held
	var all sync.WaitGroup
	for i, addr := range []string{w.Server.ServerAddr(alone), w.Server.ServerAddr(w.Server.Leader())} {
		s.clients = append(s.clients, w.ClientAt(addr, session.Options{Trust: trust}))
		asked := time.Now()
		held, err := lock.New(s.clients[i], dir, nil).Lock(w.Ctx)
		require.NoError(w, err)
		h := world.Hold{Client: i, Session: held.Session().ID(), Permits: 1, Token: held.Token(), Asked: asked, From: time.Now()}
		s.Write(w.Ctx, held.Session(), held.Guard(), held.Token())
		// Waited for below; ends with the hold.
		all.Go(func() {
			<-held.Context().Done()
			h.To = time.Now()
			s.Hold(h)
		})
		if i == 0 {
			first = held
			w.Pass(20 * time.Second) // until trust rests on heartbeats
			w.Server.IsolateServer(alone)
		}
	}
	w.Pass(time.Minute)
	w.Server.HealPeers()
	s.Write(w.Ctx, w.Session(s.clients[1]), first.Guard(), first.Token())
	for _, c := range s.clients {
		require.NoError(w, c.Close(w.Ctx))
	}
	all.Wait()
	return s.checkHistory()
}
