package locktable_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
)

// few is how many locks the table of a history has.
const few = 4

// stress is the workers of several clients, which take and give back locks, and
// their observations: one history per lock.
type stress struct {
	tables  []*locktable.Table
	clients []*session.Client
	maxHold time.Duration
	real    bool // time is
	locks   map[string]*world.History
	faults  world.History // errors alone
}

func newStress(maxHold time.Duration) *stress {
	s := &stress{maxHold: maxHold, locks: map[string]*world.History{}}
	for _, name := range lockNames(few) {
		s.locks[name] = &world.History{}
	}
	return s
}

func (s *stress) expireSession(id int64) {
	for _, c := range s.locks {
		c.Expire(id)
	}
}

// runWorker joins, takes and gives back, until ctx ends.
func (s *stress) runWorker(ctx context.Context, i int, r *rand.Rand) {
	for ctx.Err() == nil {
		owner, err := s.tables[i].Join(ctx)
		if err != nil {
			s.excuseError(ctx, err)
			world.SleepContext(ctx, s.maxHold/8)
			continue
		}
		for owner.Context().Err() == nil && ctx.Err() == nil && r.IntN(6) > 0 {
			s.takeSome(ctx, i, owner, r)
		}
		over, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Duration(r.Int64N(int64(s.maxHold))))
		err = owner.Release(over)
		if err != nil && over.Err() == nil {
			s.excuseError(over, err)
		}
		cancel()
	}
}

// takeSome takes some locks by one of the methods, and gives them back.
func (s *stress) takeSome(ctx context.Context, i int, owner *locktable.Owner, r *rand.Rand) {
	var wanted []string
	for _, name := range lockNames(few) {
		if r.IntN(2) == 0 {
			wanted = append(wanted, name)
		}
	}
	r.Shuffle(len(wanted), func(a, b int) { wanted[a], wanted[b] = wanted[b], wanted[a] })
	asked := time.Now()
	wait, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold*4))))
	defer cancel()
	take := owner.TryLock
	if r.IntN(3) == 0 {
		take = owner.Lock
	}
	held, err := take(wait, wanted...)
	if err != nil {
		s.excuseError(wait, err)
	}
	if len(held) == 0 {
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(s.maxHold/8+1))))
		return
	}
	s.useLocks(ctx, i, owner, held, asked, r)
}

// useLocks uses granted locks, and gives them back in two parts.
func (s *stress) useLocks(ctx context.Context, i int, owner *locktable.Owner, held []*locktable.Held, asked time.Time, r *rand.Rand) {
	from, seen := time.Now(), time.Now() // seen is when the owner was last seen to last
	for n := 0; n < 2 && len(held) > 0; n++ {
		part := held
		if n == 0 {
			part = held[:1+r.IntN(len(held))]
		}
		long := time.Duration(r.Int64N(int64(s.maxHold / 2)))
		to := seen // the owner may have ended during the release of the first part
		if owner.Context().Err() == nil {
			if s.real {
				to = world.LastSeen(owner.Context(), time.Now(), long)
			} else {
				world.SleepContext(owner.Context(), long)
				to = time.Now()
			}
		}
		seen = to
		lost := owner.Context().Err() != nil
		for _, h := range part {
			s.locks[h.Name()].Hold(world.Hold{Client: i, Session: owner.Session().ID(), Token: h.Token(), Asked: asked, From: from, To: to})
		}
		over, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(s.maxHold))))
		err := owner.Unlock(over, part...)
		if lost && !errors.Is(err, session.ErrLost) {
			s.faults.Fail(fmt.Errorf("lost (%w), but the release says %w", context.Cause(owner.Context()), err))
		}
		if err != nil && over.Err() == nil {
			s.excuseError(over, err)
		}
		cancel()
		if lost && r.IntN(2) == 0 {
			s.writeLate(ctx, i, part[0])
		}
		held = held[len(part):]
	}
}

// writeLate writes like a holder that has not noticed its loss: once the next holder may
// have the lock, the guard must refuse the write.
func (s *stress) writeLate(ctx context.Context, i int, h *locktable.Held) {
	over, cancel := context.WithTimeout(ctx, s.maxHold)
	defer cancel()
	sess, err := s.clients[i].Session(over)
	if err != nil {
		return
	}
	res, err := sess.Txn(over, h.Owner().Guard(), session.SetOp(world.Guarded, nil, -1))
	if err != nil {
		return
	}
	for _, other := range s.locks[h.Name()].Holds() {
		if other.Token > h.Token() && other.Token < res[1].Stat.Mzxid {
			s.faults.Fail(fmt.Errorf("%w: with token %d after %d", world.ErrStale, h.Token(), other.Token))
		}
	}
}

// excuseError requires a reason for a failure.
func (s *stress) excuseError(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, session.ErrLost) {
		s.faults.Fail(err)
	}
}

// checkHistories judges the history of each lock.
func (s *stress) checkHistories() error {
	err := s.faults.Failed()
	for name, c := range s.locks {
		holds := c.Holds()
		if s.real {
			holds = world.Lasting(holds)
		}
		if e := errors.Join(world.CheckCapacity(holds, 1), world.CheckTokens(holds, false), world.CheckLinear(holds, false)); e != nil {
			err = errors.Join(err, fmt.Errorf("%s: %w", name, e))
		}
	}
	return err
}

// countHolds counts the holds of all locks.
func (s *stress) countHolds() (n int) {
	for _, c := range s.locks {
		n += len(c.Holds())
	}
	return n
}

// checkAftermath requires, after the faults, that every client gets in.
func (s *stress) checkAftermath(ctx context.Context) error {
	for i, t := range s.tables {
		over, cancel := context.WithTimeout(ctx, 3*time.Minute)
		var err error
		for again := true; again; { // a session may just have been lost
			err = s.lockAllOnce(over, t)
			again = errors.Is(err, session.ErrLost) && over.Err() == nil
		}
		cancel()
		if err != nil {
			return fmt.Errorf("client %d does not get in any more: %w", i, err)
		}
	}
	return nil
}

func (s *stress) lockAllOnce(ctx context.Context, t *locktable.Table) error {
	o, err := t.Join(ctx)
	if err != nil {
		return err
	}
	_, err = o.Lock(ctx, lockNames(few)...)
	return errors.Join(err, o.Release(ctx))
}

// stressWorld runs one random history, drawn from seed.
func stressWorld(w *World, seed uint64, servers int, trust session.TrustRule) error {
	u := w.FaultSchedule(seed, servers, trust)
	s := newStress(u.MaxHold)
	s.clients = u.Clients
	for _, c := range s.clients {
		s.tables = append(s.tables, locktable.New(c, dir, &locktable.Options{Unwatched: u.Rand.IntN(2) == 0}))
	}
	u.Run(3, s.runWorker, s.expireSession)
	if err := s.checkHistories(); err != nil {
		return err
	}
	if s.countHolds() == 0 {
		return errors.New("nothing was ever held")
	}
	if err := s.checkAftermath(w.Ctx); err != nil {
		return err
	}
	w.Pass(time.Minute)
	return w.NothingLeft(dir + ".owners")
}

func runSeeds(t *testing.T, n, servers int) {
	t.Parallel()
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers, session.TrustQuorum)
	})
}

func TestStressOneServer(t *testing.T) { runSeeds(t, 60, 1) }

func TestStressEnsemble(t *testing.T) { runSeeds(t, 30, 3) }

// The checks of a history must notice two holders, and decreasing tokens.
func TestStressNoticesABadHistory(t *testing.T) {
	at := time.Unix(1000, 0)
	for name, second := range map[string]world.Hold{
		"two at once": {Client: 2, Token: 8, Asked: at, From: at.Add(time.Second), To: at.Add(3 * time.Second)},
		"same token":  {Client: 2, Token: 7, Asked: at, From: at.Add(4 * time.Second), To: at.Add(5 * time.Second)},
	} {
		s := newStress(time.Second)
		s.locks["lock-0001"].Hold(world.Hold{Client: 1, Token: 7, Asked: at, From: at, To: at.Add(2 * time.Second)})
		if err := s.checkHistories(); err != nil {
			t.Error(err)
		}
		s.locks["lock-0001"].Hold(second)
		if s.checkHistories() == nil {
			t.Errorf("%s: not noticed", name)
		}
	}
}
