package election_test

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
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/znode"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress has candidates of several clients that lead and resign, and the observations
// of them and of their observers.
type stress struct {
	electors []*election.Elector
	*world.Stress

	// mu guards the fields below.
	mu    sync.Mutex
	queue map[string]candidate // at the server
	truth []int64              // tokens of the first candidate there, 0 for none
	saw   map[int][]int64      // what each observer saw
	said  map[int][]proclaimedValue
}

func newStress(shared *world.Stress) *stress {
	return &stress{Stress: shared, saw: map[int][]int64{}, said: map[int][]proclaimedValue{}}
}

// proclaimedValue is a value as an observer saw it.
type proclaimedValue struct {
	token int64 // of the leader
	value string
}

// candidate is a znode in the queue.
type candidate struct{ session, token int64 }

// work stands for election, in one way or the other, until ctx ends.
func (s *stress) work(ctx context.Context, i int, r *rand.Rand) {
	ways := []func(context.Context, int, *rand.Rand) error{s.campaign, s.await, s.run}
	for ctx.Err() == nil {
		wait, cancel := context.WithTimeout(ctx, s.Within(r, 12))
		err := ways[r.IntN(len(ways))](wait, i, r)
		if err != nil && wait.Err() == nil { // a loss is made good
			s.Fail(fmt.Errorf("client %d: %w", i, err))
		}
		cancel()
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(s.MaxHold/8+1))))
	}
}

func (s *stress) campaign(ctx context.Context, i int, r *rand.Rand) error {
	asked := time.Now()
	l, err := s.electors[i].Campaign(ctx)
	if err != nil {
		return err
	}
	over := s.reign(l.Context(), i, l, asked, r)
	return s.end(ctx, l, r, over, l.Resign)
}

// await waits in several goes, and may change its mind.
func (s *stress) await(ctx context.Context, i int, r *rand.Rand) error {
	asked := time.Now()
	k, err := s.electors[i].Stand(ctx)
	if err != nil {
		return err
	}
	for ctx.Err() == nil && r.IntN(4) > 0 {
		short, cancel := context.WithTimeout(ctx, s.Within(r, 2))
		l, err := k.Await(short)
		cancel()
		if err == nil {
			over := s.reign(l.Context(), i, l, asked, r)
			return s.end(ctx, l, r, over, k.Withdraw)
		}
		if isLoss(err) {
			break
		}
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.Within(r, 1))
	defer cancel()
	if err := k.Withdraw(late); err != nil && late.Err() == nil && !isLoss(err) {
		s.Fail(fmt.Errorf("withdraw: %w", err))
	}
	return nil
}

// run has Run do it, which makes losses good by itself.
func (s *stress) run(ctx context.Context, i int, r *rand.Rand) error {
	inside, done := false, false
	asked := time.Now()
	err := s.electors[i].Run(ctx, func(ctx context.Context, l *election.Leadership) error {
		if inside {
			return world.ErrBroken
		}
		inside = true
		defer func() { inside = false }()
		over := s.reign(ctx, i, l, asked, r)
		asked = time.Now()
		done = over == nil
		return over
	})
	if inside {
		s.Fail(errors.New("Run has not waited for its work"))
	}
	if isLoss(err) && done && !errors.Is(err, session.ErrClosed) {
		// The work has ended under an intact leadership, and no server has confirmed
		// the resignation: Run says so, and would do the work twice if it went on.
		return nil
	}
	if isLoss(err) && !errors.Is(err, session.ErrClosed) && ctx.Err() == nil {
		s.Fail(fmt.Errorf("Run ended by a loss: %w", err))
	}
	return err
}

// reign leads for a while, and returns why it ended if that was a loss.
func (s *stress) reign(ctx context.Context, i int, l *election.Leadership, asked time.Time, r *rand.Rand) error {
	h := world.Hold{Client: i, Session: l.Session().ID(), Token: l.Token(), Term: l.Term(), Asked: asked, From: time.Now()}
	if r.IntN(2) == 0 {
		s.Write(ctx, l.Session(), l.Guard(), l.Token())
	}
	s.proclaim(ctx, l, r)
	h.To = s.Use(l.Context(), h.From, r)
	lost := l.Context().Err() != nil
	s.Hold(h)
	if !lost {
		return nil
	}
	if r.IntN(2) == 0 {
		s.WriteLate(ctx, i, l)
	}
	return context.Cause(l.Context())
}

// proclaim proclaims a few values, and may give each of them up.
func (s *stress) proclaim(ctx context.Context, l *election.Leadership, r *rand.Rand) {
	for n := range r.IntN(4) {
		short, cancel := context.WithTimeout(ctx, time.Duration(1+r.Int64N(int64(s.MaxHold/8+1))))
		err := l.Proclaim(short, fmt.Appendf(nil, "%d %d", l.Token(), n))
		if err != nil && short.Err() == nil && !isLoss(err) {
			s.Fail(fmt.Errorf("proclaim: %w", err))
		}
		cancel()
	}
}

// end gives a leadership back that is over, or not.
func (s *stress) end(ctx context.Context, l *election.Leadership, r *rand.Rand, lost error, give func(context.Context) error) error {
	s.GiveBack(context.WithoutCancel(ctx), r, lost, give)
	if l.Context().Err() == nil {
		s.Fail(errors.New("a leadership goes on after its end"))
	}
	return nil
}

// watch observes until ctx ends, and rests at times.
func (s *stress) watch(ctx context.Context, i int, r *rand.Rand) {
	for state, err := range s.electors[i].Observe(ctx) {
		if err != nil {
			if ctx.Err() == nil {
				s.Fail(fmt.Errorf("observe: %w", err))
			}
			return
		}
		token := int64(0)
		if state.Leader != nil {
			token = state.Leader.Token
		}
		s.mu.Lock()
		if saw := s.saw[i]; len(saw) == 0 || saw[len(saw)-1] != token {
			s.saw[i] = append(saw, token)
		}
		if token != 0 && state.Leader.Value != nil {
			s.said[i] = append(s.said[i], proclaimedValue{token, string(state.Leader.Value)})
		}
		s.mu.Unlock()
		if r.IntN(3) == 0 {
			world.SleepContext(ctx, s.Within(r, 1))
		}
	}
}

// record keeps the server's own history of the first candidate, change by change: the
// tree may be newer when record is called.
func (s *stress) record(txn zktest.Txn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range txn.Paths {
		name, below := strings.CutPrefix(path, dir+"/")
		switch {
		case !below || txn.Code != 0:
		case world.Creates(txn.Op):
			s.queue[name] = candidate{txn.Session, txn.Zxid}
		case txn.Op == "delete":
			delete(s.queue, name)
		}
	}
	if txn.Op == "closeSession" {
		maps.DeleteFunc(s.queue, func(_ string, c candidate) bool { return c.session == txn.Session })
	}
	first := int64(0)
	if q := znode.Parse(slices.Collect(maps.Keys(s.queue)), "latch-", "lock-", "__lock__"); len(q.Entries) > 0 {
		first = s.queue[q.Entries[0].Name].token
	}
	if len(s.truth) == 0 || s.truth[len(s.truth)-1] != first {
		s.truth = append(s.truth, first)
	}
}

// check judges the histories, as far as no session was expired early.
func (s *stress) check() error {
	reigns := s.Judged()
	errs := []error{
		s.Failed(), world.CheckCapacity(reigns, 1), world.CheckTokens(world.Lasting(reigns), false), checkTerms(reigns),
		world.CheckWrites(s.Wrote()), world.CheckLinear(reigns, false),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.truth != nil { // not on a real server
		errs = append(errs, checkReal(reigns, s.truth))
		for _, saw := range s.saw {
			errs = append(errs, checkObserver(saw, s.truth))
		}
		for _, said := range s.said {
			errs = append(errs, checkValues(said))
		}
	}
	return errors.Join(errs...)
}

// stressWorld is one random history; its parts are drawn from seed.
func stressWorld(w *World, seed uint64, servers int, trust session.TrustRule) error {
	u := w.FaultSchedule(seed, servers, trust)
	s := newStress(u.Stress())
	s.queue, s.truth = map[string]candidate{}, []int64{0}
	for _, c := range s.Clients {
		o := &election.Options{Layout: election.Layout(u.Rand.IntN(3)), Priority: u.Rand.IntN(4)} // without one, too
		if o.Priority > 0 && u.Rand.IntN(2) == 0 {
			o.PreemptAfter = u.MaxHold / 20
		}
		s.electors = append(s.electors, election.New(c, dir, o))
	}
	for _, path := range []string{"/election", dir, proclaimed, ranked} {
		require.NoError(w, w.Server.Create(path, nil))
	}
	w.Server.OnApply(s.record)
	var observers sync.WaitGroup
	looking, stop := context.WithCancel(w.Ctx)
	defer stop()
	for i := range s.Clients {
		own := rand.New(rand.NewPCG(u.Rand.Uint64(), 4))
		// Waited for below; ends with looking.
		observers.Go(func() { s.watch(looking, i, own) })
	}
	u.Run(2, s.work, s.Expire)
	err := s.checkRecovery(w)
	stop()
	observers.Wait()
	if err := errors.Join(err, s.check()); err != nil {
		return err
	}
	if len(s.Holds()) == 0 {
		return errors.New("no candidate ever led")
	}
	w.Settle()
	return w.NothingLeft(dir, proclaimed, ranked)
}

// checkRecovery requires, after the faults, that every candidate leads once
// more (M23), that one candidate stays the leader, and that every observer sees
// that leader in the end.
func (s *stress) checkRecovery(w *World) error {
	for i, e := range s.electors {
		ctx, cancel := context.WithTimeout(w.Ctx, 3*time.Minute)
		l, err := e.Campaign(ctx)
		if err == nil && i == len(s.electors)-1 {
			w.Pass(s.MaxHold + 30*time.Second)
		}
		if err == nil {
			err = l.Resign(ctx)
		}
		cancel()
		if err != nil && !isLoss(err) {
			return fmt.Errorf("client %d does not get to lead any more: %w", i, err)
		}
	}
	w.Pass(s.MaxHold + 30*time.Second)
	return nil
}

func runSeeds(t *testing.T, n, servers int) {
	t.Parallel()
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers, session.TrustQuorum)
	})
}

// N20 to N24, P2, P4, P9, P29, R12, M15, M16, M23, CH25 to CH28: no fault makes
// two candidates lead, a candidate leads in the end, and observers see the true
// history.
func TestStressOneServer(t *testing.T) { runSeeds(t, 60, 1) }

func TestStressEnsemble_CH25(t *testing.T) { runSeeds(t, 40, 3) }

// The stress test must notice two leaders.
func TestStressNoticesTheWeakerRule(t *testing.T) {
	world.NoticesWeakTrust(t, func(w *world.World, trust session.TrustRule) error { return isolatedLeader(&World{w}, trust) })
}

// isolatedLeader has a leader at a follower that is then isolated, and a second
// leader elsewhere. It runs in a bubble.
func isolatedLeader(w *World, trust session.TrustRule) error {
	s := newStress(&world.Stress{})
	w.IsolateHolder(s.Stress, trust, func(c *session.Client, i int) (world.Holding, error) {
		return elector(c, fmt.Sprint(i)).Campaign(w.Ctx)
	}, func(h world.Hold, held world.Holding) {
		h.Term = held.(*election.Leadership).Term()
		s.Hold(h)
	})
	return s.check()
}
