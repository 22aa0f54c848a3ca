package rebalanser_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// check is the required state, in addition to single ownership.
type check int

const (
	full        check = iota // all is owned at the end of each step, if any member is up
	conditional              // the same, after every fifth step and two quiet minutes
	double                   // nothing
)

// random is a random history, with the original's parameters, in virtual time
// and not scaled. brief is its length, unless the full length is requested.
type random struct {
	id                 string
	mode               rebalanser.Mode
	clients, resources int
	duration, brief    time.Duration
	step               time.Duration
	upTo               bool // step is the longest, at random
	check              check
	apart              time.Duration // between the starts
	interval, session  time.Duration
	start, handler     time.Duration // how long Assigned, and any handler, takes at most
	complete           bool          // members start nothing before they own all, R27
}

func randoms() []random {
	const rb, gb = rebalanser.ResourceBarrier, rebalanser.GlobalBarrier
	all := []random{
		{id: "Z1", mode: rb, clients: 3, resources: 6, step: time.Minute, brief: 40 * time.Minute},
		{id: "Z2", mode: gb, clients: 3, resources: 6, step: time.Minute, brief: 40 * time.Minute},
		{id: "Z3", mode: rb, clients: 10, resources: 5, step: time.Minute, brief: 15 * time.Minute},
		{id: "Z4", mode: gb, clients: 10, resources: 5, step: time.Minute, brief: 15 * time.Minute},
		{id: "Z5", mode: rb, clients: 10, resources: 60, step: time.Minute, brief: 20 * time.Minute},
		{id: "Z6", mode: gb, clients: 10, resources: 60, step: time.Minute, brief: 20 * time.Minute},
		{id: "Z7", mode: rb, clients: 30, resources: 200, step: 5 * time.Minute, apart: 2 * time.Second, brief: 15 * time.Minute},
		{id: "Z8", mode: gb, clients: 30, resources: 200, step: 5 * time.Minute, apart: 2 * time.Second, brief: 15 * time.Minute},
		{id: "Z9", mode: gb, clients: 100, resources: 1000, step: 5 * time.Minute, apart: 2 * time.Second, brief: 2 * time.Minute},
		{id: "Z9r", mode: rb, clients: 100, resources: 1000, step: 5 * time.Minute, apart: 2 * time.Second, brief: 2 * time.Minute},
		{id: "Z10", mode: rb, clients: 10, resources: 200, step: 5 * time.Minute, apart: 2 * time.Second, duration: 8 * time.Hour, brief: 30 * time.Minute},
		{id: "Z11", mode: gb, clients: 10, resources: 200, step: 5 * time.Minute, apart: 2 * time.Second, duration: 8 * time.Hour, brief: 30 * time.Minute},
		{id: "Z12", mode: rb, clients: 10, resources: 60, step: 10 * time.Second, upTo: true, check: conditional, brief: 15 * time.Minute},
		{id: "Z13", mode: gb, clients: 10, resources: 60, step: 10 * time.Second, upTo: true, check: conditional, brief: 15 * time.Minute},
		{id: "Z14", mode: rb, clients: 10, resources: 60, step: 10 * time.Second, upTo: true, check: conditional, start: 30 * time.Second, brief: 15 * time.Minute},
		{id: "Z15", mode: gb, clients: 10, resources: 60, step: 10 * time.Second, upTo: true, check: conditional, start: 30 * time.Second, brief: 15 * time.Minute},
		{id: "Z16", mode: rb, clients: 3, resources: 6, step: 5 * time.Second, check: double, brief: 20 * time.Minute},
		{id: "Z17", mode: rb, clients: 3, resources: 6, step: 5 * time.Second, check: double, handler: 10 * time.Second, interval: 4 * time.Second, brief: 20 * time.Minute},
		{id: "Z1 complete", mode: rb, clients: 3, resources: 6, step: time.Minute, complete: true, brief: 40 * time.Minute},
		{id: "Z12 complete", mode: rb, clients: 10, resources: 60, step: 10 * time.Second, upTo: true, check: conditional, complete: true, brief: 15 * time.Minute},
	}
	for i := range all {
		z := &all[i]
		if z.duration == 0 {
			z.duration = 2 * time.Hour
		}
		if z.session = 20 * time.Second; z.apart > 0 {
			z.session, z.interval = time.Minute, 2*time.Minute
		}
		if z.interval == 0 {
			z.interval = 20 * time.Second
		}
	}
	return all
}

// TestRandomHistories_Z1_Z17 lets members join and leave, gracefully and by
// faults, while resources are added and removed. With ZKTEST_SEEDS the test
// runs the histories in full length, otherwise a part of each; with -short a
// smaller part. R50, R51.
func TestRandomHistories_Z1_Z17(t *testing.T) {
	for _, z := range randoms() {
		t.Run(z.id, func(t *testing.T) {
			t.Parallel()
			seeds, length := world.Seeds(1), z.brief/2
			if seeds > 1 {
				length = z.duration
			}
			if seeds == 1 { // with many seeds, the longest histories come first
				z.apart /= 10
			}
			if testing.Short() {
				length /= 8
				z.clients = min(z.clients, 12)
			}
			for _, seed := range world.SeedList(t, seeds) {
				so := &zktest.Options{MaxSessionTimeout: 2 * time.Minute}
				inWorld(t, z.mode, so, func(w *World) {
					began := time.Now()
					s := newStress(w, z, seed)
					if err := s.run(length); err != nil {
						t.Errorf("%s, seed %d, after %v: %v", z.id, seed, time.Since(began), err)
					}
				})
			}
		})
	}
}

// stress is such a history.
type stress struct {
	*World
	z       random
	rand    *rand.Rand
	admin   *rebalanser.Admin
	nodes   []*node // nil: does not run
	away    map[string]time.Time
	slow    int // how many are, or were since all were well
	born    int
	names   []string
	highest int
	sets    *sets // for members that start only complete sets
}

func newStress(w *World, z random, seed uint64) *stress {
	ctx, cancel := context.WithTimeout(context.Background(), 12*time.Hour)
	w.Cleanup(cancel)
	w.Ctx = ctx
	s := &stress{World: w, z: z, rand: rand.New(rand.NewPCG(seed, 11)), away: map[string]time.Time{}}
	s.admin, s.names, s.highest = w.stock(z.resources), names(z.resources), z.resources
	if z.complete {
		s.sets = follow(w.Server, z.mode)
	}
	s.nodes = make([]*node, z.clients)
	return s
}

func (s *stress) run(length time.Duration) error {
	for i := range s.nodes {
		s.launch(i)
		s.Pass(s.z.apart)
	}
	s.Pass(30*time.Second + s.z.interval)
	for end, n := time.Now().Add(length), 1; time.Now().Before(end); n++ {
		if err := s.change(); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
		step := s.z.step
		if s.z.upTo {
			step = time.Duration(s.rand.Int64N(int64(step)))
		}
		s.Pass(step)
		due := s.z.check == full
		if s.z.check == conditional && n%5 == 0 {
			due = true
			s.Pass(2 * time.Minute)
		}
		s.heal()
		if err := s.judge(due && s.slow == 0); err != nil {
			return fmt.Errorf("step %d: %w", n, err)
		}
	}
	return s.finish()
}

// judge checks the oracle, and whether all resources are owned.
func (s *stress) judge(owned bool) error {
	if err := s.err(); err != nil || !owned || s.up() == 0 {
		return err
	}
	for _, name := range s.names {
		if s.owner(name) == "" {
			return fmt.Errorf("%s has no owner; %d members are up", name, s.up())
		}
	}
	return nil
}

// up is how many members are running and can be reached.
func (s *stress) up() (n int) {
	for _, node := range s.nodes {
		if node != nil && s.away[node.memberID].IsZero() {
			n++
		}
	}
	return n
}

// launch starts the i-th member, as a new client.
func (s *stress) launch(i int) {
	s.born++
	c := s.ClientWith(session.Options{Timeout: s.z.session})
	n := s.nodeOf(c, fmt.Sprintf("c%d", s.born+1), rebalanser.Options{MinInterval: s.z.interval, StartWhenComplete: s.z.complete}) // c1 is the administrator's
	seed := s.rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	n.before = func(ctx context.Context, what string, _ []*rebalanser.Resource) error {
		if d := s.z.start; d > 0 && what[0] == '+' {
			world.SleepContext(ctx, time.Duration(r.Int64N(int64(d))))
		}
		if d := s.z.handler; d > 0 {
			world.SleepContext(context.Background(), time.Duration(r.Int64N(int64(d))))
		}
		return nil
	}
	if s.sets != nil {
		s.sets.watch(n.recorder, func() *rebalanser.Group { return n.group })
	}
	s.nodes[i] = n.run()
}

// change is one step: a member joins or leaves, or a resource is added or
// removed.
func (s *stress) change() error {
	if s.rand.IntN(2) == 0 {
		return s.toggle(s.rand.IntN(len(s.nodes)))
	}
	if s.rand.IntN(2) == 0 || len(s.names) == 0 {
		name := fmt.Sprintf("r%02d", s.highest)
		s.highest++
		s.names = append(s.names, name)
		_, err := s.admin.AddResources(s.Ctx, name)
		return err
	}
	i := s.rand.IntN(len(s.names))
	name := s.names[i]
	s.names = append(s.names[:i], s.names[i+1:]...)
	_, err := s.admin.RemoveResources(s.Ctx, name)
	return err
}

// toggle starts or ends a member, or disturbs the member.
func (s *stress) toggle(i int) error {
	n := s.nodes[i]
	switch {
	case n == nil:
		s.launch(i)
		return nil
	case !s.away[n.memberID].IsZero():
		return nil
	}
	link := zktest.Link{Client: n.memberID}
	switch s.rand.IntN(7) {
	case 0, 1, 2: // in order; a handler may take its time
		n.stopIt()
		s.nodes[i] = nil
		// A fault may keep the servers' confirmation away.
		if err := n.awaitEnd(); err != nil && !errors.Is(err, session.ErrUnknownOutcome) && !(n.hurt && errors.Is(err, session.ErrLost)) {
			return err
		}
		return nil
	case 3: // its process is killed
		s.markDead(n.memberID)
		s.Server.BlackHole(link, zktest.Both)
		n.stopIt()
		s.nodes[i] = nil
	case 4: // its session is expired out of turn
		n.hurt = true
		s.excuse(n.memberID, s.z.session)
		_ = s.Server.ExpireSession(s.ID(n.client))
	case 5: // cut off for a while
		dir := []zktest.Direction{zktest.Both, zktest.ToServer, zktest.ToClient}[s.rand.IntN(3)]
		s.Server.BlackHole(link, dir)
		n.hurt = true
		s.away[n.memberID] = time.Now().Add(time.Duration(s.rand.Int64N(int64(2 * s.z.session))))
	case 6: // all its traffic is delayed
		s.slow++
		s.Server.Delay(link, zktest.Both, time.Duration(1+s.rand.Int64N(int64(s.z.session/4))))
		n.hurt = true
		s.away[n.memberID] = time.Now().Add(time.Duration(s.rand.Int64N(int64(2 * s.z.session))))
	}
	return nil
}

// heal ends faults that have lasted long enough, and then gives the absent
// members time to notice their absence and to come back. A slow member is
// neither absent nor useful: it joins repeatedly, is assigned its share, and
// loses the share before acquiring it. So ownership is not checked while a
// member is slow.
func (s *stress) heal() {
	healed := false
	for memberID, until := range s.away {
		if time.Now().After(until) {
			s.Server.HealLink(zktest.Link{Client: memberID})
			delete(s.away, memberID)
			healed = true
		}
	}
	if len(s.away) == 0 {
		s.slow = 0
	}
	if healed {
		s.Pass(2*s.z.session + 2*s.z.interval + 4*time.Second)
	}
}

// finish lets all members leave, and checks the remains.
func (s *stress) finish() error {
	s.Server.Heal()
	clear(s.away)
	s.Pass(3*s.z.session + s.z.interval + 2*time.Minute)
	if err := s.judge(true); err != nil {
		return fmt.Errorf("in the end: %w", err)
	}
	for _, n := range s.nodes {
		if n == nil {
			continue
		}
		n.stopIt()
		if err := n.awaitEnd(); err != nil {
			return err
		}
	}
	s.Pass(2 * s.z.session)
	require.NotZero(s, s.gains)
	return leftBehind(s.Server)
}

// leftBehind finds znodes that must not exist after all members have left.
func leftBehind(srv *zktest.Server) error {
	for _, n := range srv.Dump() {
		_, barrier := strings.CutPrefix(n.Path, path+"/barriers/")
		switch {
		case n.EphemeralOwner != 0:
			return fmt.Errorf("left behind: %s", n.Path)
		case barrier && string(n.Data) != `{"format":1}`:
			return fmt.Errorf("still owned: %s by %s", n.Path, n.Data)
		}
	}
	return nil
}
