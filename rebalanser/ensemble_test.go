package rebalanser_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// runUnderFaults lets members come and go, and resources too, while servers are stopped,
// frozen, cut off from each other and behind, links break and sessions are expired.
// Nothing may have two owners at any time; when all is well again, all is owned.
func runUnderFaults(ours *world.World, seed uint64) error {
	modes, r := modes(), rand.New(rand.NewPCG(seed, 7))
	w := &World{World: ours, oracle: newOracle(), mode: modes[r.IntN(len(modes))]}
	z := random{clients: 3 + r.IntN(2), resources: 6, step: 20 * time.Second, session: 10 * time.Second, interval: time.Second}
	switch r.IntN(3) {
	case 1:
		z.start = 15 * time.Second
	case 2:
		z.handler = 5 * time.Second
	}
	s := newStress(w, z, seed)
	for i := range s.nodes {
		s.launch(i)
	}
	s.Pass(time.Duration(r.Int64N(int64(20 * time.Second))))

	trouble, calm := context.WithTimeout(s.Ctx, 4*time.Minute)
	defer calm()
	var faults sync.WaitGroup
	g := &world.FaultInjector{
		Server: s.Server, Clients: 1 + 3*z.clients, Servers: 3,
		Rand: rand.New(rand.NewPCG(seed, 3)), Expire: s.excuseWhenExpired(z.session),
	}
	// Waited for below; ends with trouble.
	faults.Go(func() { g.Run(trouble, 3*time.Second) })
	err := s.stir(trouble, r)
	calm()
	faults.Wait()
	if err != nil {
		return fmt.Errorf("%v, %+v: %w", w.mode, z, err)
	}
	s.Server.Heal()
	for i, n := range s.nodes {
		if n == nil { // remains of dead members are removed by live members
			s.launch(i)
		}
	}
	if err := s.finish(); err != nil {
		return fmt.Errorf("%v, %+v: %w", w.mode, z, err)
	}
	return nil
}

// stir makes random changes until ctx ends.
func (s *stress) stir(ctx context.Context, r *rand.Rand) error {
	for n := 1; ctx.Err() == nil; n++ {
		for _, node := range s.nodes {
			if node != nil {
				node.hurt = true
			}
		}
		if err := s.change(); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
		world.SleepContext(ctx, time.Duration(r.Int64N(int64(s.z.step))))
		s.heal()
		if err := s.err(); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
	}
	return nil
}

// excuseWhenExpired returns a function to call before the early expiry of a
// session: its client cannot know of the expiry until its trust runs out.
func (s *stress) excuseWhenExpired(session time.Duration) func(int64) {
	var mu sync.Mutex // guards both
	clients, forced := map[int64]string{}, map[int64]bool{}
	s.Server.OnRequest(func(r zktest.Request) zktest.Action {
		mu.Lock()
		defer mu.Unlock()
		clients[r.Session] = r.Client
		return zktest.Action{}
	})
	s.Server.OnApply(func(txn zktest.Txn) {
		mu.Lock()
		defer mu.Unlock()
		if txn.Op == "closeSession" && forced[txn.Session] {
			s.excuse(clients[txn.Session], session)
		}
	})
	return func(id int64) {
		mu.Lock()
		defer mu.Unlock()
		forced[id] = true
	}
}

// N1, R11: the invariants hold whatever happens to the servers.
func TestRandomHistoriesOnAnEnsemble(t *testing.T) {
	world.RunSeeds(t, world.Seeds(8), 3, runUnderFaults)
}
