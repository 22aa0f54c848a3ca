package value_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
)

// stress has the workers of several clients on one value, and their results.
type stress struct {
	values  []*value.Value
	deleter *session.Client // may be nil

	// mu guards the fields below.
	mu     sync.Mutex
	clock  int64 // counts calls and returns
	words  int
	seen   []value.State // answered to any client, with data
	calls  []call
	failed error // the first unexcused error
}

// beginCall numbers the beginning of a call, and has a word for its bytes.
func (s *stress) beginCall() call {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	s.words++
	return call{begin: s.clock, to: fmt.Sprintf("w%d", s.words)}
}

// someState is a state that was seen before; the zero State at first.
func (s *stress) someState(r *rand.Rand) value.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		return value.State{}
	}
	last := min(len(s.seen), 3)
	return s.seen[len(s.seen)-1-r.IntN(last)]
}

// do runs a random operation of a client and records the outcome.
func (s *stress) do(ctx context.Context, i int, r *rand.Rand) {
	long := 30 * time.Second
	if r.IntN(4) == 0 {
		long = time.Duration(r.Int64N(int64(2 * time.Second)))
	}
	ctx, cancel := context.WithTimeout(ctx, long)
	defer cancel()
	v, seen, c := s.values[i], s.someState(r), s.beginCall()
	var now value.State
	var err error
	switch k := r.IntN(12); {
	case k < 4:
		c.op = "update"
		c.data, err = updateWith(ctx, v, c.to)
	case k < 5:
		c.op = "set"
		err = v.Set(ctx, []byte(c.to))
	case k < 7:
		c.op, c.from = "swap", string(seen.Data)
		c.ok, err = v.CompareAndSwap(ctx, seen.Data, []byte(c.to))
	case k < 9 && seen.Zxid != 0:
		c.op, c.from = "swap", string(seen.Data)
		c.ok, err = v.TrySet(ctx, seen, []byte(c.to))
	case k == 9 && s.deleter != nil:
		c.op = "delete"
		err = s.remove(ctx)
	default:
		c.op = "get"
		now, err = v.Get(ctx)
		c.data = string(now.Data)
	}
	c.fate = history.FateOf(err)
	s.record(c, now)
	// A session lost during a write can cost only the outcome. The deletion of
	// the value also deletes the markers, which tell the outcome of lost
	// replies.
	lost := errors.Is(err, session.ErrLost) && (c.fate == maybe || c.op == "delete")
	deleted := s.deleter != nil && c.fate == maybe
	if err != nil && ctx.Err() == nil && !lost && !deleted {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.failed = errors.Join(s.failed, fmt.Errorf("%v: %w", c, err))
	}
}

// record enters a call that has returned, and the state that it has seen.
func (s *stress) record(c call, seen value.State) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock++
	c.end = s.clock
	s.calls = append(s.calls, c)
	if len(seen.Data) > 0 { // an empty znode may be created again, and no bytes tell
		s.seen = append(s.seen, seen)
	}
}

func updateWith(ctx context.Context, v *value.Value, word string) (string, error) {
	data, err := v.Update(ctx, func(data []byte) ([]byte, error) { return []byte(behind(string(data), word)), nil })
	return string(data), err
}

// remove deletes the value with its markers, at once or not at all.
func (s *stress) remove(ctx context.Context) error {
	sess, err := s.deleter.Session(ctx)
	if err != nil {
		return err
	}
	for {
		names, _, err := sess.Children(ctx, path)
		if errors.Is(err, session.ErrNoNode) {
			// As good as a deletion, if the leader knows of no node either.
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
		s.values = append(s.values, value.New(w.ClientWith(copts), path, nil))
	}
	if r.IntN(3) == 0 {
		s.deleter = w.Client()
	}
	var all sync.WaitGroup
	trouble, calm := context.WithTimeout(w.Ctx, 25*time.Second)
	defer calm()
	for i := range s.values {
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
	return s.checkRecovery(w)
}

// checkRecovery checks the history after the faults: every client succeeds, and
// no unused marker is left.
func (s *stress) checkRecovery(w *World) error {
	w.Pass(time.Minute)
	for i, v := range s.values {
		// A late attachment can still cost a client its connection once, together
		// with the reply.
		err := s.last(w, v)
		if s.deleter != nil && history.FateOf(err) == maybe {
			err = s.last(w, v)
		}
		if err != nil {
			return fmt.Errorf("client %d does not get through any more: %w", i, err)
		}
	}
	last := s.beginCall()
	last.op, last.fate = "get", once
	now, err := value.New(w.Client(), path, nil).Get(w.Ctx)
	if err != nil {
		return err
	}
	last.data = string(now.Data)
	s.record(last, now)
	if n := len(w.Children(path)); n > len(s.values) {
		return fmt.Errorf("%d markers of %d values", n, len(s.values))
	}
	return errors.Join(s.failed, checkHistory(s.calls))
}

// last updates once more.
func (s *stress) last(w *World, v *value.Value) (err error) {
	c := s.beginCall()
	c.op = "update"
	c.data, err = updateWith(w.Within(time.Minute), v, c.to)
	c.fate = history.FateOf(err)
	s.record(c, value.State{})
	return err
}

// runSeeds runs n histories.
func runSeeds(t *testing.T, n, servers int) {
	world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
		return stressWorld(&World{w}, seed, servers)
	})
}

// CL1, CL2, N3, N4, N5: under all losses, the answers are those of a single
// value.
func TestStressOneServer_CL1_CL2(t *testing.T) { runSeeds(t, 60, 1) }

func TestStressEnsemble_CL1_CL2(t *testing.T) { runSeeds(t, 30, 3) }

// The stress must include faults, and calls that succeed in spite of them.
func TestStressIsOne(t *testing.T) {
	count := map[fate]int{}
	swapped := 0
	for seed := range 10 {
		inWorld(t, nil, func(w *World) {
			s := &stress{values: []*value.Value{value.New(w.Client(), path, nil)}}
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
				if c.op == "swap" && c.ok {
					swapped++
				}
			}
		})
	}
	t.Log(count, swapped)
	if count[once] < 50 || count[maybe] == 0 || count[never] == 0 || swapped == 0 {
		t.Errorf("%v, %d swapped", count, swapped)
	}
}
