package core

import (
	"errors"
	"maps"
	"slices"
)

var errLeft = errors.New("a client with resources leaves")

// lead are the steps of a client as a coordinator, or on the way there.
func (e *explorer) lead(i int) {
	m, c := e.m, &e.from.clients[i]
	if !c.leads {
		// A client earlier in the queue, shown as gone by any view, has gone for
		// good, even in an old view. This client itself must be live to be
		// elected.
		below := mask(1)<<i - 1
		for k := range int(c.behind) + 1 {
			if e.from.now[k].alive&below == 0 && c.epoch == 0 && c.life == live {
				e.do(i, "raises the epoch", func(s *state) { m.raise(s, i) })
				break
			}
		}
		return
	}
	switch {
	case c.write != 0:
		e.do(i, "writes a shard", func(s *state) { m.write(s, i) })
	case c.setting:
		e.do(i, "sets the status", func(s *state) { m.setStatus(s, i) })
	case m.x.coordinators[c.c].plan != nil:
		e.do(i, "computes a plan", func(s *state) { m.ordered(s, i, question{verb: "computed"}) })
	case m.mode == Global:
		e.count(i)
	}
	for k := range int(c.behind) + 1 {
		now := e.from.now[k]
		if now.epoch != c.epoch && !m.wrong.noEpochCheck {
			e.do(i, "sees another epoch", func(s *state) { m.valid(s, i) })
		}
		if now.alive != c.members {
			e.do(i, "lists the clients", func(s *state) {
				s.clients[i].behind, s.clients[i].members = min(s.clients[i].behind, uint8(k)), now.alive
				m.ordered(s, i, question{verb: "members", a: now.alive})
			})
		}
		if now.resources != c.resources || !c.knows {
			e.do(i, "lists the resources", func(s *state) {
				c := &s.clients[i]
				c.behind, c.resources, c.knows = min(c.behind, uint8(k)), now.resources, true
				m.ordered(s, i, question{verb: "resources", a: now.resources})
			})
		}
		for r := range modelResources {
			if m.mode == Resource && now.resources&(1<<r) == 0 {
				e.sweep(i, r)
			}
		}
	}
}

// raise: the epoch is raised, in a transaction that fails if the client's node
// has gone. No other client writes the znodes read afterwards.
func (m *model) raise(s *state, i int) {
	s.set(m, i, func(d *database) { d.epoch++ })
	m.elected(s, i)
}

// ordered passes an input to the coordinator of client i, and begins the
// resulting step.
func (m *model) ordered(s *state, i int, q question) {
	c := &s.clients[i]
	got := m.x.coordinator(m, c, q)
	if w := got.step.Write; w != nil {
		c.write, c.written = got.write, 0
		if len(w.Set)+len(w.Delete) == 0 {
			c.write = 0
			m.ordered(s, i, question{verb: "wrote"})
		}
	}
	if st := got.step.SetStatus; st != nil {
		c.setting, c.status = true, mstatus{uint8(st.Generation), uint8(st.State)}
	}
}

// valid reports whether a write of coordinator i is carried out: not in another
// coordinator's epoch. The coordinator then gives up, and leaves gracefully.
func (m *model) valid(s *state, i int) bool {
	c := &s.clients[i]
	if c.epoch == s.now[0].epoch || m.wrong.noEpochCheck {
		return true
	}
	c.behind = 0
	c.leads, c.c, c.write, c.written, c.setting = false, 0, 0, 0, false
	c.status, c.members, c.resources, c.knows = mstatus{}, 0, 0, false
	if c.life == live {
		m.tell(s, i, question{verb: "quit"})
	}
	return false
}

// write carries one operation of a Write out. In reality they come in batches;
// in the model a client may read in between.
func (m *model) write(s *state, i int) {
	if !m.valid(s, i) {
		return
	}
	c := &s.clients[i]
	w := m.x.writes[c.write]
	keys := append(slices.Sorted(maps.Keys(w.Set)), w.Delete...)
	key := keys[c.written]
	s.set(m, i, func(d *database) {
		at := &d.shards[key[len(key)-1]-'a']
		sh, set := w.Set[key]
		if *at = (mshard{}); set {
			*at = mshard{sh.Client[0] - 'a' + 1, uint8(sh.Generation), resourceMask(sh.Resources)}
		}
	})
	if c.written++; int(c.written) == len(keys) {
		c.write, c.written = 0, 0
		m.ordered(s, i, question{verb: "wrote"})
	}
}

func (m *model) setStatus(s *state, i int) {
	if !m.valid(s, i) {
		return
	}
	c := &s.clients[i]
	s.set(m, i, func(d *database) { d.status = c.status })
	c.setting, c.status = false, mstatus{}
	m.ordered(s, i, question{verb: "status set"})
}

// count: after the status was set, the clients are listed, and then the reports
// of stops.
func (e *explorer) count(i int) {
	m, c := e.m, &e.from.clients[i]
	for k := range int(c.behind) + 1 {
		for l := range k + 1 {
			q := question{verb: "acks", a: e.from.now[k].alive, acks: e.from.now[l].stopped}
			if m.wrong.oldClientList {
				q.a = c.candidates
			}
			if m.wrong.waitsForNoMember {
				q.a = 0
			}
			if m.wrong.acksWithoutGeneration {
				for j := range q.acks {
					if q.acks[j] > 0 {
						q.acks[j] = e.from.now[0].status.gen
					}
				}
			}
			before := c.c
			probe := *c
			if got := m.x.coordinator(m, &probe, q); probe.c == before && got.step.SetStatus == nil && got.step.Write == nil {
				continue
			}
			e.do(i, "counts the stopped members", func(s *state) {
				s.clients[i].behind = min(s.clients[i].behind, uint8(l))
				m.ordered(s, i, q)
			})
		}
	}
}

// sweep: a barrier of a resource that has been removed, and without an owner,
// is deleted, and the number of such sweeps is counted in the same transaction:
// the next barrier of that name has versions that the former barrier had, so a
// client that takes a barrier must know that no sweep has happened since it
// read the barrier.
func (e *explorer) sweep(i, r int) {
	m, d := e.m, &e.from.now[0]
	b := d.barriers[r]
	if !b.there || b.owner > 0 && d.alive&(1<<(b.owner-1)) != 0 || d.epoch != e.from.clients[i].epoch {
		return
	}
	e.do(i, "sweeps a barrier", func(s *state) {
		s.set(m, i, func(d *database) {
			d.barriers[r] = mbarrier{}
			d.swept++
		})
	})
}
