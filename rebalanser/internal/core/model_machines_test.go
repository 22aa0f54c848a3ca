package core

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/rebalanser/assignor"
)

// machines are all machines ever seen, by number, with the result of each
// input: a state of the model has numbers, and a real machine is run once per
// input.
type machines struct {
	followers    []*Follower
	coordinators []*Coordinator
	numbers      map[string]uint16
	heard        map[question]answer
	writes       []*Write
}

// question is an input to a machine.
type question struct {
	machine  uint16
	verb     string
	a        uint8
	shard    mshard
	statuses mstatus
	acks     [modelClients]uint8
}

// answer is the next machine, and its output.
type answer struct {
	machine uint16
	actions []Action
	step    Step
	write   uint16
}

func newMachines() *machines {
	return &machines{
		numbers: map[string]uint16{}, heard: map[question]answer{},
		followers: []*Follower{nil}, coordinators: []*Coordinator{nil}, writes: []*Write{nil},
	}
}

// key distinguishes machines with possibly different behavior.
func (f *Follower) key() string {
	c := *f
	c.phases = nil
	return fmt.Sprintf("%+v %v", c, f.phases.of)
}

func (f *Follower) clone() *Follower {
	c := *f
	c.phases = newPhases()
	for r, p := range f.phases.of {
		c.phases.putResource(r, p)
	}
	c.doomed = maps.Clone(f.doomed)
	return &c
}

func (c *Coordinator) key() string {
	d := *c
	d.cfg, d.plan = Config{}, nil
	if c.plan == nil {
		return fmt.Sprintf("%+v", d)
	}
	p := *c.plan
	p.cfg = Config{}
	return fmt.Sprintf("%+v %+v", d, p)
}

func (c *Coordinator) clone() *Coordinator {
	d := *c
	d.current, d.members, d.gone = maps.Clone(c.current), maps.Clone(c.members), maps.Clone(c.gone)
	d.moves, d.watched = slices.Clone(c.moves), slices.Clone(c.watched)
	return &d
}

func number[M interface{ key() string }](x *machines, all *[]M, m M) uint16 {
	key := m.key()
	n, known := x.numbers[key]
	if !known {
		if n = uint16(len(*all)); int(n) != len(*all) {
			panic("too many machines for the numbers that states have for them")
		}
		*all = append(*all, m)
		x.numbers[key] = n
	}
	return n
}

// follower tells the follower of a client something.
func (x *machines) follower(c *client, q question) []Action {
	q.machine = c.f
	got, known := x.heard[q]
	if !known {
		f := x.followers[c.f].clone()
		got.actions = hear(f, q)
		got.machine = number(x, &x.followers, f)
		x.heard[q] = got
	}
	c.f = got.machine
	return got.actions
}

func hear(f *Follower, q question) []Action {
	rs := resourceNames(q.a)
	switch q.verb {
	case "assignment":
		return f.Assignment(q.shard.shard())
	case "status":
		return f.Status(q.statuses.status(), q.shard.shard())
	case "acquired":
		return f.Acquired(rs)
	case "abandoned":
		return f.Abandoned(rs)
	case "started":
		return f.Started(rs)
	case "revoked":
		return f.Revoked(rs)
	case "released":
		return f.Released(rs)
	case "acked":
		return f.Acked(int64(q.a))
	case "unacked":
		return f.Unacked(int64(q.a))
	case "quit":
		return f.Quit()
	}
	panic(q.verb)
}

func (s mshard) shard() Shard {
	if s.client == 0 {
		return Shard{}
	}
	return Shard{Client: clientName(int(s.client) - 1), Generation: int64(s.gen), Resources: resourceNames(s.rs)}
}

func (s mstatus) status() Status { return Status{int64(s.gen), State(s.state)} }

// coordinator tells the coordinator of a client something.
func (x *machines) coordinator(m *model, c *client, q question) answer {
	q.machine = c.c
	q.shard.client = 1 // no follower's
	got, known := x.heard[q]
	if !known {
		k := x.coordinators[c.c].clone()
		if got.step = m.ask(k, q); !m.slow {
			got.step = k.computed(time.Time{}.Add(time.Hour), got.step)
		}
		got.machine = number(x, &x.coordinators, k)
		if got.step.Write != nil {
			got.write = uint16(len(x.writes))
			x.writes = append(x.writes, got.step.Write)
		}
		x.heard[q] = got
	}
	c.c = got.machine
	return got
}

func (m *model) ask(k *Coordinator, q question) Step {
	now := time.Time{}.Add(time.Hour)
	switch q.verb {
	case "members":
		var ms []Member
		for i := range modelClients {
			if q.a&(1<<i) != 0 {
				ms = append(ms, m.member(i))
			}
		}
		return k.Members(now, ms)
	case "resources":
		return k.Resources(now, resourceNames(q.a))
	case "computed":
		return k.Planned(now, k.plan, k.plan.Compute(context.Background()))
	case "wrote":
		return k.Wrote(now)
	case "status set":
		return k.StatusSet(now)
	case "acks":
		var clients []string
		acks := map[string]int64{}
		for i := range modelClients {
			if q.a&(1<<i) != 0 {
				clients = append(clients, clientName(i))
			}
			if q.acks[i] > 0 {
				acks[clientName(i)] = int64(q.acks[i])
			}
		}
		return k.Acks(now, clients, acks)
	}
	panic(q.verb)
}

func (m *model) member(i int) Member {
	out := Member{Client: clientName(i), Key: m.key(i), Static: m.key(i) != clientName(i)}
	if m.idle&(1<<i) != 0 {
		out.Subscription = []string{"nothing"}
	}
	return out
}

// slot is the place of client i's shard: the same as the former client's, for
// the same instance.
func (m *model) slot(i int) int {
	if m.again[i] > 0 {
		return int(m.again[i]) - 1
	}
	return i
}

// key is the key of client i's shard; its last letter is the slot.
func (m *model) key(i int) string {
	if slices.Contains(m.again[:], uint8(m.slot(i)+1)) {
		return "instance-" + clientName(m.slot(i))
	}
	return clientName(i)
}

// elected makes the coordinator of a client just elected.
func (m *model) elected(s *state, i int) {
	now := s.now[0]
	current := map[string]Shard{}
	for slot, sh := range now.shards {
		if sh.client > 0 {
			current[m.key(slot)] = sh.shard()
		}
	}
	cfg := Config{Mode: m.mode, Assignor: assignor.Sticky()}
	k := NewCoordinator(cfg, time.Time{}.Add(time.Hour), current, now.status.status())
	c := &s.clients[i]
	c.leads, c.epoch, c.c = true, now.epoch, number(m.x, &m.x.coordinators, k)
}
