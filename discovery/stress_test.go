package discovery_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// stress is clients whose workers register, update, move and unregister.
type stress struct {
	server  *zktest.Server
	clients []*session.Client

	// mu guards the fields below.
	mu       sync.Mutex
	judge    *judge
	sessions map[int64]int  // their clients, from 1
	forced   map[int64]bool // expired out of turn
	live     map[*discovery.Registration]int
	regs     int
	failed   error // the first thing that must not be
}

// kinds is the number of kinds that a client's workers register: a name that all
// workers want, one of many znodes of the same id, and a znode that outlives
// sessions.
const kinds = 3

func (s *stress) kind(client, worker int) discovery.Instance {
	i := discovery.Instance{Service: "web", ID: "shared", RegistrationTime: time.UnixMilli(1)}
	switch worker {
	case 1:
		i.ID, i.Type = "seq", discovery.DynamicSequential
	case 2:
		i.ID, i.Type = fmt.Sprint("own", client), discovery.Static
	}
	return i
}

func (s *stress) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		s.failed = err
	}
}

// excuse notes an error that neither its context nor a conflict explains.
func (s *stress) excuse(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil && !errors.Is(err, discovery.ErrConflict) {
		s.fail(fmt.Errorf("%s: %w", what, err))
	}
}

// watch has the judge see every change.
func (s *stress) watch() {
	s.server.OnRequest(func(r zktest.Request) zktest.Action {
		if n, err := strconv.Atoi(strings.TrimPrefix(r.Client, "c")); err == nil && r.Session != 0 {
			s.mu.Lock()
			s.sessions[r.Session] = n
			s.mu.Unlock()
		}
		return zktest.Action{}
	})
	s.server.OnApply(func(x zktest.Txn) {
		nodes := s.server.Dump()
		s.mu.Lock()
		defer s.mu.Unlock()
		gone, err := s.judge.change(s.sessions[x.Session], x)
		if err == nil {
			err = s.judge.judgeNodes(nodes)
		}
		if err == nil && !s.forced[x.Session] {
			err = s.believedLocked(gone)
		}
		if err != nil && s.failed == nil {
			s.failed = fmt.Errorf("%s of session %#x: %w", x.Op, x.Session, err)
		}
	})
}

// believedLocked: a registration that is reported as registered must exist.
func (s *stress) believedLocked(gone map[string]maker) error {
	for g := range s.live {
		at := g.State()
		if of, ok := gone[at.Path]; ok && of.zxid == at.Token && at.Registered && g.Context().Err() == nil {
			return fmt.Errorf("%s goes, and its owner believes in it", at.Path)
		}
	}
	return nil
}

// moves notes that a registration may go back, or not any more: see judge.moving.
func (s *stress) moves(reg int, may bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.judge.moving[reg] = may
}

// work registers and unregisters until ctx ends, and returns what it has then.
func (s *stress) work(ctx context.Context, client, worker int, r *rand.Rand) (last *discovery.Registration) {
	some := func(d time.Duration) context.Context {
		c, cancel := context.WithTimeout(ctx, time.Duration(r.Int64N(int64(d))))
		context.AfterFunc(c, cancel)
		return c
	}
	for ctx.Err() == nil {
		s.mu.Lock()
		s.regs++
		of := note{client, s.regs, 1, false}
		s.mu.Unlock()
		i := s.kind(client, worker)
		i.Payload = of.json()
		registry := discovery.NewRegistry(s.clients[client-1], base, &discovery.Options{Wait: r.IntN(2) == 0})
		c := some(30 * time.Second)
		g, err := registry.Register(c, i)
		if err != nil {
			s.excuse(c, "register", err)
			world.SleepContext(ctx, time.Duration(1+r.Int64N(int64(2*time.Second))))
			continue
		}
		s.mu.Lock()
		s.live[g] = client
		s.mu.Unlock()
		last = g
		for range r.IntN(6) {
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(4*time.Second))))
			of.N++
			of.Moved = r.IntN(3) == 0
			i.Payload = of.json()
			c := some(10 * time.Second)
			if service := []string{"web", "api"}[r.IntN(2)]; of.Moved {
				s.moves(of.Reg, true)
				err = g.Move(c, service, i)
				s.excuse(c, "move", err)
			} else {
				i.Service = g.Instance().Service
				err = g.Update(c, i)
				s.excuse(c, "update", err)
			}
			if err == nil {
				s.moves(of.Reg, false)
			}
		}
		if ctx.Err() != nil {
			break
		}
		c = some(10 * time.Second)
		// A deletion that no server confirms in time goes on in the background.
		if err := g.Unregister(c); !errors.Is(err, session.ErrTrustRanOut) {
			s.excuse(c, "unregister", err)
		}
		last = nil
	}
	return last
}

// settled checks the state after the faults: each instance that should be
// registered is registered once, with its data, or reports a conflict.
func (s *stress) settled(ctx context.Context, left []*discovery.Registration) error {
	nodes := map[int]int{}
	for _, n := range s.server.Dump() {
		if of, ok := noteOf(n.Data); ok {
			nodes[of.Reg]++
		}
	}
	want := map[int]int{}
	for _, g := range left {
		i, at := g.Instance(), g.State()
		of, _ := noteOf([]byte(fmt.Sprintf(`{"payload":%s}`, i.Payload)))
		if !at.Registered {
			if i.ID != "shared" || !errors.Is(at.Err, discovery.ErrConflict) {
				return fmt.Errorf("registration %d: %+v", of.Reg, at)
			}
			continue
		}
		want[of.Reg]++
		n, err := s.server.Get(at.Path)
		if is, _ := noteOf(n.Data); err != nil || is != of || n.Czxid != at.Token || !strings.HasPrefix(at.Path, base+"/"+i.Service+"/") {
			return fmt.Errorf("registration %d: wants %+v, has %+v (%w) at %+v", of.Reg, of, is, err, at)
		}
	}
	if fmt.Sprint(want) != fmt.Sprint(nodes) {
		return fmt.Errorf("registrations %v, nodes %v", want, nodes)
	}
	for _, g := range left {
		if err := g.Unregister(ctx); err != nil {
			return err
		}
	}
	for _, n := range s.server.Dump() {
		if of, ok := noteOf(n.Data); ok {
			return fmt.Errorf("%s of registration %d is left", n.Path, of.Reg)
		}
	}
	return nil
}

func history(w *world.World, seed uint64, servers int) error {
	const clients, trouble = 3, 90 * time.Second
	r := rand.New(rand.NewPCG(seed, uint64(servers)))
	s := &stress{
		server: w.Server, judge: newJudge(), sessions: map[int64]int{}, forced: map[int64]bool{},
		live: map[*discovery.Registration]int{},
	}
	s.watch()
	for range clients {
		s.clients = append(s.clients, w.Client())
	}
	ctx := w.Within(trouble)
	faults := &world.FaultInjector{
		Server: w.Server, Clients: clients, Servers: servers, Rand: rand.New(rand.NewPCG(seed, 7)),
		Expire: func(id int64) { s.mu.Lock(); s.forced[id] = true; s.mu.Unlock() },
	}
	var all sync.WaitGroup
	var left []*discovery.Registration
	var mu sync.Mutex
	for client := 1; client <= clients; client++ {
		for worker := range kinds {
			own := rand.New(rand.NewPCG(seed, r.Uint64()))
			// Waited for below; ends with ctx.
			all.Go(func() {
				if g := s.work(ctx, client, worker, own); g != nil {
					mu.Lock()
					left = append(left, g)
					mu.Unlock()
				}
			})
		}
	}
	faults.Run(ctx, 4*time.Second)
	all.Wait()
	world.Pause(2 * time.Minute)
	if err := s.settled(w.Within(time.Minute), left); err != nil {
		s.fail(err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil && s.regs < clients*kinds {
		return fmt.Errorf("%d registrations are no stress", s.regs)
	}
	return s.failed
}

// TestStress has three clients register, update, move and unregister while
// everything breaks (CL14, CL19, CH51-CH54, CH58).
func TestStress_CL14_CL19_CH51_CH52_CH53_CH54_CH58(t *testing.T) {
	seeds := map[int]int{1: 12, 3: 8}
	for servers, n := range seeds {
		t.Run(fmt.Sprint(servers), func(t *testing.T) {
			world.RunSeeds(t, world.Seeds(n), servers, func(w *world.World, seed uint64) error {
				return history(w, seed, servers)
			})
		})
	}
}
