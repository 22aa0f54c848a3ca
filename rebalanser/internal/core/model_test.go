package core

import (
	"errors"
	"fmt"
	"hash/maphash"
	"math/bits"
)

// model is a group to explore, with the possible events.
type model struct {
	mode Mode
	// begin are the clients present from the beginning; late clients join at any
	// time; after has, for each client of a restarted process, its former client
	// (from 1). again is set if both are the same static instance.
	begin, late  mask
	after, again [modelClients]uint8
	idle         mask // clients without subscriptions
	resources    mask // at the beginning
	changing     mask // resources added or removed during the exploration
	left         faults
	lag          int // possible lag of a view in writes, less than modelWindow
	wrong        wrong
	unsafe       bool // only invariant 1 is asked for
	slow         bool // plans are computed while other things happen
	complete     bool // no client starts a resource before owning its whole shard

	x    *machines
	done map[string]int // how often each kind of step was taken
}

// wrong are deliberately unsafe rules.
type wrong struct {
	barrierBelowResource, abandonsBlindly, releasesTooEarly, takesFromTheLiving, setsBlindly bool
	ownerSeenBefore, versionsStartAgain, expiresTheTrusting, forgetsReplies                  bool
	shardBeforeStatus, acksWithoutGeneration, noEpochCheck, startsNewerShard, acksTooEarly   bool
	oldClientList, othersShard, waitsForNoMember, startsIncomplete                           bool
}

// step is a possible next step.
type step struct {
	s      state
	client int
	what   string
	fault  bool
}

// explorer collects the steps from one state.
type explorer struct {
	m     *model
	from  *state
	steps []step
	err   error
}

// do adds a step of a client: change, on a copy of the state.
func (e *explorer) do(client int, what string, change func(s *state)) {
	e.steps = append(e.steps, step{s: *e.from, client: client, what: what})
	change(&e.steps[len(e.steps)-1].s)
}

// fault is do for optional events with a budget.
func (e *explorer) fault(client int, what string, budget uint8, change func(s *state)) {
	if budget > 0 {
		e.do(client, what, change)
		e.steps[len(e.steps)-1].fault = true
	}
}

// next are all steps from s.
func (m *model) next(s *state, steps []step) ([]step, error) {
	e := &explorer{m: m, from: s, steps: steps[:0]}
	for i := range modelClients {
		switch s.clients[i].life {
		case unborn:
			e.birth(i)
		case live:
			e.follow(i)
			e.lead(i)
			e.disrupt(i)
		case zombie:
			e.lead(i)
			e.do(i, "notices that its node is gone", func(s *state) { s.clients[i].life = gone })
		case paused:
			e.wake(i)
		case lost:
			e.do(i, "expires", func(s *state) {
				s.removeClientNode(m, i)
				s.clients[i].life = gone
			})
		}
	}
	e.fault(-1, "the epoch is raised by hand", s.left.epochs, func(s *state) {
		s.left.epochs--
		s.set(m, -1, func(d *database) { d.epoch++ })
	})
	for r := range modelResources {
		if m.changing&(1<<r) != 0 {
			e.fault(-1, "a resource is added or removed", s.left.changes, func(s *state) {
				s.left.changes--
				s.set(m, -1, func(d *database) {
					d.resources ^= 1 << r
					if m.wrong.barrierBelowResource && d.resources&(1<<r) == 0 {
						d.barriers[r] = mbarrier{}
					}
				})
			})
		}
	}
	for i := range e.steps {
		e.steps[i].s.settle()
	}
	return e.steps, e.err
}

// birth: a client comes.
func (e *explorer) birth(i int) {
	if e.from.now[0].born>>i != 0 {
		return // they come in the order of their numbers
	}
	before := int(e.m.after[i]) - 1
	if before < 0 && e.m.late&(1<<i) == 0 {
		return
	}
	if before >= 0 {
		then := e.from.clients[before].life
		if then != gone && (then != lost || e.m.again[i] > 0) {
			return // an instance's lock goes with the former client's node
		}
	}
	e.do(i, "comes", func(s *state) { e.m.come(s, i) })
}

func (m *model) come(s *state, i int) {
	s.set(m, i, func(d *database) {
		d.alive |= 1 << i
		d.born |= 1 << i
	})
	s.clients[i] = client{life: live, f: number(m.x, &m.x.followers, NewFollower(m.mode, clientName(i), m.complete && !m.wrong.startsIncomplete))}
	s.clients[i].candidates = 0
	if m.wrong.oldClientList {
		s.clients[i].candidates = s.now[0].alive
	}
}

// disrupt: possible events of a live client.
func (e *explorer) disrupt(i int) {
	m, c := e.m, &e.from.clients[i]
	e.fault(i, "is lost", e.from.left.losses, func(s *state) {
		s.left.losses--
		s.clients[i].life = lost
	})
	if !c.leaving {
		e.fault(i, "is stopped", e.from.left.stops, func(s *state) {
			s.left.stops--
			m.perform(s, i, m.x.follower(&s.clients[i], question{verb: "quit"}))
		})
	}
	e.fault(i, "is paused", e.from.left.pauses, func(s *state) {
		s.left.pauses--
		s.clients[i].life = paused
	})
	if c.leads && c.use == 0 && m.idle&(1<<i) != 0 {
		e.fault(i, "has its node deleted by hand", e.from.left.kicks, func(s *state) {
			s.left.kicks--
			s.removeClientNode(m, i)
			s.clients[i].life = zombie
		})
	}
	if m.wrong.expiresTheTrusting {
		e.fault(i, "expires while it trusts", e.from.left.losses, func(s *state) {
			s.left.losses--
			s.removeClientNode(m, i)
		})
	}
}

// wake: the session of a paused client expires, or the client continues. After
// the pause, the clock is the first to tell the client of its losses.
func (e *explorer) wake(i int) {
	if e.from.now[0].alive&(1<<i) == 0 {
		e.do(i, "wakes, and has lost its session", func(s *state) { s.clients[i].life = gone })
		return
	}
	e.do(i, "wakes", func(s *state) { s.clients[i].life = live })
	e.do(i, "expires while it is paused", func(s *state) { s.removeClientNode(e.m, i) })
}

// safe is invariant 1. A paused client counts only if its guard would still pass when the
// client wakes. In resource mode, no client uses a resource without holding its barrier.
func (m *model) safe(s *state) error {
	var used mask
	for i := range s.clients {
		c := &s.clients[i]
		if c.early && m.complete {
			return fmt.Errorf("%s starts something before it owns all", clientName(i))
		}
		if c.life != live && c.life != paused {
			continue
		}
		for r := range modelResources {
			bit := mask(1) << r
			if c.use&bit == 0 || c.life == paused && !m.guarded(s, i, r) {
				continue
			}
			if used&bit != 0 {
				return fmt.Errorf("%s is used twice, once by %s", resourceNames(bit), clientName(i))
			}
			if used |= bit; m.mode == Resource && !m.guarded(s, i, r) {
				return fmt.Errorf("%s is used by %s, which does not own it", resourceNames(bit), clientName(i))
			}
		}
	}
	return nil
}

// guarded reports whether the guard of client i for r passes.
func (m *model) guarded(s *state, i, r int) bool {
	b := s.now[0].barriers[r]
	return s.now[0].alive&(1<<i) != 0 &&
		(m.mode == Global || b.owner == uint8(i+1) && b.version == s.clients[i].version[r])
}

// rest is invariant 2, when nothing happens any more without a fault.
func (m *model) rest(s *state) error {
	d := &s.now[0]
	used := [modelResources]int{}
	takers := false
	for i := range s.clients {
		c := &s.clients[i]
		switch c.life {
		case unborn, gone:
			continue
		case live:
			takers = takers || m.idle&(1<<i) == 0
		default:
			return fmt.Errorf("%s is neither here nor gone", clientName(i))
		}
		for r := range modelResources {
			used[r] += int(c.use >> r & 1)
		}
		if c.call != 0 || c.leaving || c.write != 0 || c.setting || c.word != 0 || c.release != 0 {
			return fmt.Errorf("%s has something left to do", clientName(i))
		}
		if running := resourceMask(m.x.followers[c.f].phases.namesIn(Running)); running != c.use {
			return fmt.Errorf("%s uses %b, and knows of %b", clientName(i), c.use, running)
		}
	}
	for r, n := range used {
		want := int(d.resources >> r & 1)
		if !takers {
			want = 0
		}
		if n != want {
			return fmt.Errorf("%s has %d owners at rest", resourceNames(1<<r), n)
		}
		if m.mode == Resource && n == 0 && d.barriers[r].owner > 0 && d.alive&(1<<(d.barriers[r].owner-1)) != 0 {
			return fmt.Errorf("the barrier of %s is left behind", resourceNames(1<<r))
		}
	}
	if m.mode == Global && takers && (d.status.state != uint8(Confirmed) || d.stopped != [modelClients]uint8{}) {
		return fmt.Errorf("the generation is not confirmed: %+v %v", d.status, d.stopped)
	}
	return nil
}

// initial is where the exploration begins.
func (m *model) initial() state {
	m.x, m.done = newMachines(), map[string]int{}
	var s state
	s.now[0].resources = m.resources
	s.left = m.left
	for i := range bits.Len8(m.begin) {
		if m.begin&(1<<i) != 0 {
			m.come(&s, i)
		}
	}
	for i := range s.clients {
		s.clients[i].behind = 0
	}
	s.settle()
	return s
}

var errModelTooMany = errors.New("too many states")

// explore tries all interleavings, and returns how many states there are.
func (m *model) explore(limit int) (int, error) {
	type node struct {
		s      state
		parent *node
		client int
		what   string
	}
	one, two := maphash.MakeSeed(), maphash.MakeSeed()
	key := func(s *state) [2]uint64 { return [2]uint64{maphash.Comparable(one, *s), maphash.Comparable(two, *s)} }
	fail := func(n *node, err error) error {
		trace := ""
		for ; n.parent != nil; n = n.parent {
			name := "a client"
			if n.client >= 0 {
				name = clientName(n.client)
			}
			trace = fmt.Sprintf("%s: %s\n%s", name, n.what, trace)
		}
		return fmt.Errorf("%w\n%s", err, trace)
	}
	from := &node{s: m.initial()}
	seen := map[[2]uint64]struct{}{key(&from.s): {}}
	todo := []*node{from}
	var steps []step
	for len(todo) > 0 && len(seen) < limit {
		n := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var err error
		steps, err = m.next(&n.s, steps)
		if err == nil {
			err = m.safe(&n.s)
		}
		moving := false
		for i := range steps {
			moving = moving || !steps[i].fault
		}
		if err == nil && !moving && !m.unsafe {
			err = m.rest(&n.s)
		}
		if err != nil {
			return len(seen), fail(n, err)
		}
		for i := range steps {
			k := key(&steps[i].s)
			if _, known := seen[k]; !known {
				seen[k] = struct{}{}
				m.done[steps[i].what]++
				todo = append(todo, &node{steps[i].s, n, steps[i].client, steps[i].what})
			}
		}
	}
	if len(todo) > 0 {
		return len(seen), errModelTooMany
	}
	return len(seen), nil
}
