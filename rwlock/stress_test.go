package rwlock_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress has workers of several clients that take and give back a lock, and their
// observations.
type stress struct {
	clients []*session.Client
	locks   []*rwlock.RWMutex
	maxHold time.Duration
	real    bool // time is
	// children lists the queue as the servers have it, right now; nil where
	// only they know.
	children func() []string
	world.History

	// mu guards the fields below.
	mu    sync.Mutex
	holds []hold
	modes map[string]int // how often each operation was done
}

func newStress(maxHold time.Duration) *stress {
	return &stress{modes: map[string]int{}, maxHold: maxHold}
}

func (s *stress) count(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.modes[what]++
}

// done is how often the lock was had in either mode, at least.
func (s *stress) done() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.modes["RLock"], s.modes["Lock"])
}

// take draws how to take the lock.
func (s *stress) take(ctx context.Context, i int, r *rand.Rand) (*rwlock.Held, error) {
	m := s.locks[i]
	what := []string{"Lock", "RLock", "RLock", "TryLock", "TryRLock"}[r.IntN(5)]
	h, err := map[string]take{"Lock": m.Lock, "RLock": m.RLock, "TryLock": m.TryLock, "TryRLock": m.TryRLock}[what](ctx)
	if err != nil {
		return nil, err
	}
	s.count(what)
	if s.children != nil {
		s.Fail(checkQueue(s.children(), h.Path()[strings.LastIndexByte(h.Path(), '/')+1:], h.Exclusive()))
	}
	return h, nil
}

// work takes and gives back until ctx ends.
func (s *stress) work(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		asked := time.Now()
		wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold*12))))
		held, err := s.take(wait, i, r)
		if err != nil {
			s.excuse(wait, err)
			cancel()
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(s.maxHold/8+1))))
			continue
		}
		cancel()
		s.hold(ctx, i, held, asked, r)
	}
}

// hold uses a granted hold, maybe downgrades it, and gives it back.
func (s *stress) hold(ctx context.Context, i int, held *rwlock.Held, asked time.Time, r *rand.Rand) {
	h := hold{
		client: i, session: held.Session().ID(), exclusive: held.Exclusive(), token: held.Token(),
		asked: asked, from: time.Now(),
	}
	if h.exclusive && r.IntN(2) == 0 {
		s.Write(held.Context(), held.Session(), held.Guard(), held.Token())
	}
	h.to = s.rest(held.Context(), h.from, r)
	writer := held
	if h.exclusive && r.IntN(2) == 0 {
		held = s.downgrade(ctx, held, &h, r)
	}
	lost := held.Context().Err() != nil && errors.Is(context.Cause(held.Context()), session.ErrLost)
	s.mu.Lock()
	s.holds = append(s.holds, h)
	s.mu.Unlock()
	over, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold))))
	err := held.Unlock(over)
	cancel()
	if lost && !isLoss(err) {
		s.Fail(fmt.Errorf("lost (%w), but Unlock says %w", context.Cause(held.Context()), err))
	}
	if err != nil && !isLoss(err) && over.Err() == nil {
		s.Fail(fmt.Errorf("unlock: %w", err))
	}
	if h.exclusive && r.IntN(4) == 0 {
		// A writer that has not noticed its loss writes: the guard must refuse the
		// write once the next writer may have written.
		late, cancel := context.WithTimeout(ctx, s.maxHold)
		defer cancel()
		if next, err := s.clients[i].Session(late); err == nil {
			s.Write(late, next, writer.Guard(), writer.Token())
		}
	}
}

// rest uses the lock for a while, and returns until when, after from, it was surely
// held.
func (s *stress) rest(ctx context.Context, from time.Time, r *rand.Rand) (held time.Time) {
	long := time.Duration(r.Int64N(int64(s.maxHold)))
	if r.IntN(2) == 0 {
		long /= 50
	}
	if s.real {
		return world.LastSeen(ctx, from, long)
	}
	world.SleepContext(ctx, long)
	return time.Now()
}

// downgrade goes on reading, if it can; otherwise it ends as of before. It
// returns the hold to give back.
func (s *stress) downgrade(ctx context.Context, held *rwlock.Held, h *hold, r *rand.Rand) *rwlock.Held {
	patience := time.Duration(r.Int64N(int64(s.maxHold * 6)))
	if r.IntN(2) == 0 {
		patience /= 50
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reader, err := held.Downgrade(short)
	if err != nil {
		s.count("failed Downgrade")
		if errors.Is(err, session.ErrUnknownOutcome) {
			again, cancel := context.WithTimeout(ctx, s.maxHold*3)
			defer cancel()
			if reader, err = held.Downgrade(again); err == nil {
				s.count("Downgrade found out")
			}
		}
	}
	if err != nil {
		s.excuse(short, err)
		return held
	}
	s.count("Downgrade")
	h.downgraded, h.until = h.to, time.Now()
	if s.children != nil {
		s.Fail(checkQueue(s.children(), reader.Path()[strings.LastIndexByte(reader.Path(), '/')+1:], false))
	}
	h.to = s.rest(reader.Context(), h.until, r)
	return reader
}

// excuse wants a reason for a lock that could not be had.
func (s *stress) excuse(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, rwlock.ErrBusy) && !errors.Is(err, session.ErrLost) {
		s.Fail(fmt.Errorf("acquire: %w", err))
	}
}

// check judges the history, as far as no session was expired early.
func (s *stress) check() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var holds []hold
	for _, h := range s.holds {
		if s.real && !h.to.After(h.from) {
			continue // a stalled process sees late that the lock was granted, and lost again
		}
		var ever bool
		if h.to, ever = s.Until(h.session, h.from, h.to); ever {
			holds = append(holds, h)
		}
	}
	return errors.Join(s.Failed(), checkSharing(holds), checkTokens(holds), world.CheckWrites(s.Wrote()), checkLinear(holds))
}

// stressWorld is one random history; its parts are drawn from seed.
func stressWorld(w *World, seed uint64, servers int, trust session.TrustRule, modes func(map[string]int)) error {
	u := w.FaultSchedule(seed, servers, trust)
	s := newStress(u.MaxHold)
	s.children = queueOf(w.Server)
	s.clients = u.Clients
	for _, c := range s.clients {
		s.locks = append(s.locks, rwlock.New(c, dir, nil))
	}
	u.Run(3, s.work, s.Expire)
	if err := s.check(); err != nil {
		return err
	}
	modes(s.modes)
	return s.checkRecovery(w)
}

// queueOf follows the queue of the committed changes, which a server may not know
// yet. No name is used twice, and a transaction with a new name is a downgrade: all
// other transactions only check existing znodes.
func queueOf(srv *zktest.Server) func() []string {
	var mu sync.Mutex
	owner := map[string]int64{}
	srv.OnApply(func(txn zktest.Txn) {
		mu.Lock()
		defer mu.Unlock()
		names := []string{}
		for _, path := range txn.Paths {
			if name, ok := strings.CutPrefix(path, dir+"/"); ok {
				names = append(names, name)
			}
		}
		isNew := func(name string) bool { return owner[name] == 0 }
		switch {
		case txn.Code != 0: // refused
		case txn.Op == "closeSession":
			maps.DeleteFunc(owner, func(_ string, s int64) bool { return s == txn.Session })
		case txn.Op == "multi" && !slices.ContainsFunc(names, isNew):
		default:
			for _, name := range names {
				if isNew(name) {
					owner[name] = txn.Session
				} else {
					delete(owner, name)
				}
			}
		}
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Collect(maps.Keys(owner))
	}
}

// checkRecovery requires, after the faults, that every client gets the lock,
// and that no znodes are left.
func (s *stress) checkRecovery(w *World) error {
	if len(s.holds) == 0 {
		return errors.New("nothing was ever held")
	}
	for i := range s.clients {
		ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Minute)
		h, err := s.locks[i].Lock(ctx)
		if err == nil {
			err = h.Unlock(ctx)
		}
		for isLoss(err) && ctx.Err() == nil { // the session's end was in progress
			if h, err = s.locks[i].Lock(ctx); err == nil {
				err = h.Unlock(ctx)
			}
		}
		cancel()
		if err != nil {
			return fmt.Errorf("client %d does not get in any more: %w; there are %q", i, err, w.Children(dir))
		}
	}
	w.Pass(20 * time.Second)
	if left := w.Children(dir); len(left) > 0 || len(s.children()) > 0 {
		return fmt.Errorf("orphans %q, or followed wrongly: %q", left, s.children())
	}
	if n := w.Server.Stats().Watches; n > 0 && !world.OnKeeper() {
		return fmt.Errorf("%d watches left: %v", n, w.Server.Watches())
	}
	return nil
}

// runSeeds runs n histories, and wants all modes of the lock to have been used
// in them (P10).
func runSeeds(t *testing.T, n, servers int) {
	t.Parallel()
	var mu sync.Mutex
	sum := map[string]int{}
	t.Cleanup(func() {
		t.Logf("%v", sum)
		for _, what := range []string{"Lock", "RLock", "TryLock", "TryRLock", "Downgrade", "failed Downgrade"} {
			if sum[what] == 0 && !t.Failed() && !world.OneSeed() {
				t.Errorf("no %s in %d histories", what, world.Seeds(n))
			}
		}
	})
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers, session.TrustQuorum, func(modes map[string]int) {
			mu.Lock()
			defer mu.Unlock()
			for what, k := range modes {
				sum[what] += k
			}
		})
	})
}

// N25, N26, P10, P11: no fault lets a contender in concurrently with a writer,
// or past a writer.
func TestStressOneServer_N26_P10(t *testing.T) { runSeeds(t, 80, 1) }

func TestStressEnsemble_N26_P10(t *testing.T) { runSeeds(t, 40, 3) }

// The stress test must notice two holders: with the weaker rule of trust, which
// other clients go by, there are two when a follower is cut off together with a
// client that knows no other.
func TestStressNoticesTheWeakerRule(t *testing.T) {
	for _, trust := range []session.TrustRule{session.TrustQuorum, session.TrustAnswered} {
		inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
			s := newStress(time.Minute)
			w.Pass(time.Second)
			follower := 1 + w.Server.Leader()%3
			alone := w.ClientAt(w.Server.ServerAddr(follower), session.Options{Trust: trust})
			others := w.ClientAt(w.Server.ServerAddr(w.Server.Leader()), session.Options{Trust: trust})
			var all sync.WaitGroup
			for i, f := range []take{rwlock.New(alone, dir, nil).RLock, rwlock.New(others, dir, nil).Lock} {
				asked := time.Now()
				held := w.get(f)
				h := hold{client: i, session: held.Session().ID(), exclusive: held.Exclusive(), token: held.Token(), asked: asked, from: time.Now()}
				if i == 0 {
					w.Pass(20 * time.Second) // until trust rests on what it is to rest on
					w.Server.IsolateServer(follower)
				}
				// Waited for below; ends with the hold.
				all.Go(func() {
					<-held.Context().Done()
					h.to = time.Now()
					s.mu.Lock()
					defer s.mu.Unlock()
					s.holds = append(s.holds, h)
				})
			}
			w.Pass(time.Hour)
			w.Server.HealPeers()
			require.NoError(w, alone.Close(w.Ctx))
			require.NoError(w, others.Close(w.Ctx))
			all.Wait()
			err := s.check()
			if trust == session.TrustQuorum {
				require.NoError(w, err)
				return
			}
			require.ErrorIs(w, err, errShared)
			require.ErrorIs(w, err, world.ErrOrder, "seen by the other checker, too")
		})
	}
}
