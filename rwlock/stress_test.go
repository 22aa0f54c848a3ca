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

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress has workers of several clients that take and give back a lock, and their
// observations.
type stress struct {
	locks []*rwlock.RWMutex
	// children lists the queue as the servers have it, right now; nil where
	// only they know.
	children func() []string
	*world.Stress

	// mu guards the fields below.
	mu    sync.Mutex
	holds []hold
	modes map[string]int // how often each operation was done
}

func (s *stress) countMode(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.modes == nil {
		s.modes = map[string]int{}
	}
	s.modes[what]++
}

func (s *stress) addHold(h hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
}

// countHolds is how often the lock was had in either mode, at least.
func (s *stress) countHolds() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(s.modes["RLock"], s.modes["Lock"])
}

// takeLock draws how to take the lock.
func (s *stress) takeLock(ctx context.Context, i int, r *rand.Rand) (*rwlock.Held, error) {
	m := s.locks[i]
	what := []string{"Lock", "RLock", "RLock", "TryLock", "TryRLock"}[r.IntN(5)]
	h, err := map[string]take{"Lock": m.Lock, "RLock": m.RLock, "TryLock": m.TryLock, "TryRLock": m.TryRLock}[what](ctx)
	if err != nil {
		return nil, err
	}
	s.countMode(what)
	s.checkQueueOf(h)
	return h, nil
}

func (s *stress) checkQueueOf(h *rwlock.Held) {
	if s.children != nil {
		s.Fail(checkQueue(s.children(), h.Path()[strings.LastIndexByte(h.Path(), '/')+1:], h.Exclusive()))
	}
}

// runWorker takes and gives back until ctx ends.
func (s *stress) runWorker(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		asked := time.Now()
		var held *rwlock.Held
		take := func(ctx context.Context) (err error) {
			held, err = s.takeLock(ctx, i, r)
			return err
		}
		if s.Attempt(ctx, r, take) {
			s.useHeld(ctx, i, held, asked, r)
		}
	}
}

// useHeld uses a granted hold, maybe downgrades it, and gives it back.
func (s *stress) useHeld(ctx context.Context, i int, held *rwlock.Held, asked time.Time, r *rand.Rand) {
	h := hold{
		client: i, session: held.Session().ID(), exclusive: held.Exclusive(), token: held.Token(),
		asked: asked, from: time.Now(),
	}
	if h.exclusive && r.IntN(2) == 0 {
		s.Write(held.Context(), held.Session(), held.Guard(), held.Token())
	}
	h.to = s.Use(held.Context(), h.from, r)
	writer := held
	if h.exclusive && r.IntN(2) == 0 {
		held = s.downgrade(ctx, held, &h, r)
	}
	lost := context.Cause(held.Context())
	if !errors.Is(lost, session.ErrLost) { // a downgrade whose outcome is unknown
		lost = nil
	}
	s.addHold(h)
	s.GiveBack(ctx, r, lost, held.Unlock)
	if h.exclusive && r.IntN(4) == 0 {
		s.WriteLate(ctx, i, writer)
	}
}

// downgrade goes on reading, if it can; otherwise it ends as of before. It
// returns the hold to give back.
func (s *stress) downgrade(ctx context.Context, held *rwlock.Held, h *hold, r *rand.Rand) *rwlock.Held {
	patience := s.Within(r, 6)
	if r.IntN(2) == 0 {
		patience /= 50
	}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	reader, err := held.Downgrade(short)
	if err != nil {
		s.countMode("failed Downgrade")
		if errors.Is(err, session.ErrUnknownOutcome) {
			again, cancel := context.WithTimeout(ctx, s.MaxHold*3)
			defer cancel()
			if reader, err = held.Downgrade(again); err == nil {
				s.countMode("Downgrade found out")
			}
		}
	}
	if err != nil {
		s.Excuse(short, err)
		return held
	}
	s.countMode("Downgrade")
	h.downgraded, h.until = h.to, time.Now()
	s.checkQueueOf(reader)
	h.to = s.Use(reader.Context(), h.until, r)
	return reader
}

// checkHistory judges the history, as far as no session was expired early.
func (s *stress) checkHistory() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var holds []hold
	for _, h := range s.holds {
		if s.Real && !h.to.After(h.from) {
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
	s := &stress{Stress: u.Stress(rwlock.ErrBusy), children: queueOf(w.Server)}
	for _, c := range s.Clients {
		s.locks = append(s.locks, rwlock.New(c, dir, nil))
	}
	u.Run(3, s.runWorker, s.Expire)
	if err := s.checkHistory(); err != nil {
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
	for i := range s.Clients {
		ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Minute)
		// The session's end may be in progress.
		err := world.RetryLost(ctx, func() error { return world.Cycle(ctx, s.locks[i].Lock) })
		cancel()
		if err != nil {
			return fmt.Errorf("client %d does not get in any more: %w; there are %q", i, err, w.Children(dir))
		}
	}
	w.Pass(20 * time.Second)
	if left := w.Children(dir); len(left) > 0 || len(s.children()) > 0 {
		return fmt.Errorf("orphans %q, or followed wrongly: %q", left, s.children())
	}
	return w.NoWatches()
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

// The stress test must notice a reader beside a writer.
func TestStressNoticesTheWeakerRule(t *testing.T) {
	world.NoticesWeakTrust(t, func(w *world.World, trust session.TrustRule) error { return isolatedReader(&World{w}, trust) })
}

// isolatedReader has a reader at a follower that is then isolated, and a writer
// elsewhere. isolatedReader runs in a bubble.
func isolatedReader(w *World, trust session.TrustRule) error {
	s := &stress{Stress: &world.Stress{}}
	w.IsolateHolder(s.Stress, trust, func(c *session.Client, i int) (world.Holding, error) {
		m := rwlock.New(c, dir, nil)
		return []take{m.RLock, m.Lock}[i](w.Ctx)
	}, func(h world.Hold, held world.Holding) {
		s.addHold(hold{client: h.Client, session: h.Session, exclusive: held.(*rwlock.Held).Exclusive(), token: h.Token, asked: h.Asked, from: h.From, to: h.To})
	})
	return s.checkHistory()
}
