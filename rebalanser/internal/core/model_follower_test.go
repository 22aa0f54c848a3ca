package core

// perform begins the actions of client i's follower.
func (m *model) perform(s *state, i int, actions []Action) {
	for _, a := range actions {
		c := &s.clients[i]
		rs := resourceMask(a.Resources)
		switch a.Kind {
		case Acquire:
			for r := range modelResources {
				if rs&(1<<r) != 0 {
					c.acq[r] = acquisition{pc: acqRead}
					if m.wrong.ownerSeenBefore {
						c.acq[r].seen = s.now[0].alive
					}
				}
			}
		case Abandon:
			for r := range modelResources {
				if rs&(1<<r) != 0 {
					m.abandon(s, i, r)
				}
			}
		case Start:
			c.use |= rs
			c.call, c.calling = 1, rs
			c.early = m.early(s, i)
		case Revoke:
			c.call, c.calling = 2, rs
			if m.wrong.releasesTooEarly {
				c.release |= rs
			}
		case Release:
			c.release |= rs
		case Ack:
			c.word, c.wordGen = 1, uint8(a.Generation)
		case Unack:
			c.word, c.wordGen = 2, uint8(a.Generation)
		case Leave:
			c.leaving = true
		}
	}
}

// early reports whether client i, with a live node, starts a resource without
// owning all resources of its known shard.
func (m *model) early(s *state, i int) bool {
	if m.mode == Global || s.now[0].alive&(1<<i) == 0 {
		return false
	}
	for _, name := range m.x.followers[s.clients[i].f].shard.Resources {
		if !m.guarded(s, i, int(name[0]-'x')) {
			return true
		}
	}
	return false
}

// tell passes an input to the follower of client i, and begins the resulting
// actions.
func (m *model) tell(s *state, i int, q question) {
	m.perform(s, i, m.x.follower(&s.clients[i], q))
}

// abandon ends an acquisition; a sent request is awaited.
func (m *model) abandon(s *state, i, r int) {
	a := &s.clients[i].acq[r]
	if m.wrong.abandonsBlindly {
		s.set(m, i, func(d *database) { d.free(r) })
	}
	if a.pc == acqRead || a.pc == acqOwned {
		*a = acquisition{}
		m.tell(s, i, question{verb: "abandoned", a: 1 << r})
		return
	}
	a.drop = true
}

// free sets a barrier free.
func (d *database) free(r int) {
	b := &d.barriers[r]
	b.owner, b.version = 0, b.version+1
}

// follow are the steps of a live client as an owner of resources.
func (e *explorer) follow(i int) {
	m, c := e.m, &e.from.clients[i]
	switch c.call {
	case 1:
		e.do(i, "has started", func(s *state) { m.returned(s, i, "started") })
	case 2:
		e.do(i, "has stopped", func(s *state) {
			s.clients[i].use &^= c.calling
			m.returned(s, i, "revoked")
		})
	}
	if c.leaving {
		e.do(i, "leaves", func(s *state) {
			e.leave(s, i)
			s.removeClientNode(m, i)
			s.clients[i].life = gone
		})
		return
	}
	if m.mode == Global {
		e.hear(i)
		e.say(i)
		return
	}
	for k := range int(c.behind) + 1 {
		if sh := e.from.now[k].shards[m.slot(i)]; sh != c.told {
			e.do(i, "reads its shard", func(s *state) {
				s.clients[i].behind, s.clients[i].told = uint8(k), sh
				m.tell(s, i, question{verb: "assignment", shard: m.mine(sh, i)})
			})
		}
	}
	for r := range modelResources {
		e.acquire(i, r)
	}
	for r := range modelResources {
		if c.release&(1<<r) != 0 {
			e.do(i, "releases", func(s *state) { m.release(s, i, r) })
			break // one after the other
		}
	}
}

// mine is the shard as understood by client i.
func (m *model) mine(sh mshard, i int) mshard {
	if m.wrong.othersShard && sh.client > 0 {
		sh.client = uint8(i + 1)
	}
	return sh
}

// leave checks that no resource is left in use.
func (e *explorer) leave(s *state, i int) {
	if s.clients[i].use != 0 {
		e.err = errLeft
	}
	for _, b := range s.now[0].barriers {
		if b.owner == uint8(i+1) {
			e.err = errLeft
		}
	}
}

// returned: the handler has returned.
func (m *model) returned(s *state, i int, verb string) {
	c := &s.clients[i]
	q := question{verb: verb, a: c.calling}
	c.call, c.calling = 0, 0
	m.tell(s, i, q)
}

// release gives a barrier back, if still owned by this client, at the known
// version.
func (m *model) release(s *state, i, r int) {
	s.set(m, i, func(d *database) {
		if b := d.barriers[r]; b.owner == uint8(i+1) && b.version == s.clients[i].version[r] {
			d.free(r)
		}
	})
	s.clients[i].release &^= 1 << r
	m.tell(s, i, question{verb: "released", a: 1 << r})
}

// acquire are the steps on the way to one barrier.
func (e *explorer) acquire(i, r int) {
	m, c := e.m, &e.from.clients[i]
	a := c.acq[r]
	switch a.pc {
	case acqRead, acqUnknown:
		for k := range int(c.behind) + 1 {
			e.do(i, "reads a barrier", func(s *state) { m.look(s, i, r, k) })
		}
	case acqOwned:
		for k := range int(c.behind) + 1 {
			if b := e.from.now[k].barriers[r]; b.owner != a.owner || b.version != a.version || b.there != a.there {
				e.do(i, "reads a barrier again", func(s *state) { m.look(s, i, r, k) })
			}
			alive := e.from.now[k].alive
			if m.wrong.ownerSeenBefore {
				alive = a.seen
			}
			if alive&(1<<(a.owner-1)) == 0 || m.wrong.takesFromTheLiving {
				e.do(i, "finds the owner of a barrier gone", func(s *state) {
					s.clients[i].behind = min(s.clients[i].behind, uint8(k))
					s.clients[i].acq[r].pc = acqSend
				})
			}
		}
	case acqSend:
		e.do(i, "tries to take a barrier", func(s *state) { m.take(s, i, r, false) })
		e.fault(i, "tries to take a barrier, and hears nothing", e.from.left.replies, func(s *state) {
			s.left.replies--
			m.take(s, i, r, true)
		})
	}
}

// look reads a barrier, in the state k writes ago.
func (m *model) look(s *state, i, r, k int) {
	c := &s.clients[i]
	c.behind = min(c.behind, uint8(k))
	a, b := &c.acq[r], s.now[k].barriers[r]
	mine := b.owner == uint8(i+1) && !m.wrong.forgetsReplies
	unknown := a.pc == acqUnknown
	*a = acquisition{owner: b.owner, version: b.version, there: b.there, swept: s.now[k].swept, drop: a.drop, seen: a.seen}
	switch {
	case mine:
		c.version[r] = b.version
		*a = acquisition{}
		m.tell(s, i, question{verb: "acquired", a: 1 << r})
	case unknown && a.drop:
		*a = acquisition{}
		m.tell(s, i, question{verb: "abandoned", a: 1 << r})
	case b.owner == 0:
		a.pc = acqSend
	default:
		a.pc = acqOwned
	}
}

// take applies the transaction for taking a barrier: on condition of its
// version, and of no sweep since the read.
func (m *model) take(s *state, i, r int, unheard bool) {
	a := s.clients[i].acq[r]
	took := false
	s.set(m, i, func(d *database) {
		b := &d.barriers[r]
		switch {
		case d.alive&(1<<i) == 0,
			!m.wrong.setsBlindly && (b.there != a.there || b.version != a.version),
			!m.wrong.versionsStartAgain && d.swept != a.swept:
			return
		}
		took = true
		b.version++
		b.there, b.owner = true, uint8(i+1)
		s.clients[i].version[r] = b.version
	})
	c := &s.clients[i]
	switch {
	case unheard:
		c.acq[r] = acquisition{pc: acqUnknown, drop: a.drop}
	case took:
		c.acq[r] = acquisition{}
		m.tell(s, i, question{verb: "acquired", a: 1 << r})
	case a.drop:
		c.acq[r] = acquisition{}
		m.tell(s, i, question{verb: "abandoned", a: 1 << r})
	default:
		c.acq[r] = acquisition{pc: acqRead, seen: a.seen}
	}
}

// hear: global mode, the status is read, and then the shard.
func (e *explorer) hear(i int) {
	m, c := e.m, &e.from.clients[i]
	if m.wrong.shardBeforeStatus {
		e.hearInTheWrongOrder(i)
		return
	}
	for k := range int(c.behind) + 1 {
		now := e.from.now[k]
		if !c.reading && now.status != c.heard {
			e.do(i, "reads the status", func(s *state) {
				s.clients[i].behind = min(s.clients[i].behind, uint8(k))
				s.clients[i].reading, s.clients[i].read = true, now.status
			})
		}
		if c.reading {
			e.do(i, "reads its shard", func(s *state) {
				s.clients[i].behind = min(s.clients[i].behind, uint8(k))
				m.heard(s, i, c.read, now.shards[m.slot(i)])
			})
		}
	}
}

func (e *explorer) hearInTheWrongOrder(i int) {
	m, c := e.m, &e.from.clients[i]
	now := e.from.now[0]
	if !c.reading {
		if now.status != c.heard {
			e.do(i, "reads its shard", func(s *state) {
				s.clients[i].reading, s.clients[i].first = true, now.shards[m.slot(i)]
			})
		}
		return
	}
	e.do(i, "reads the status", func(s *state) {
		first := s.clients[i].first
		s.clients[i].first = mshard{}
		m.heard(s, i, now.status, first)
	})
}

// heard: a client has read the status and its shard.
func (m *model) heard(s *state, i int, st mstatus, sh mshard) {
	c := &s.clients[i]
	c.reading, c.read, c.heard = false, mstatus{}, st
	if m.wrong.startsNewerShard {
		sh.gen = min(sh.gen, st.gen)
	}
	m.tell(s, i, question{verb: "status", statuses: st, shard: m.mine(sh, i)})
	if c := &s.clients[i]; m.wrong.acksTooEarly && State(st.state) == Stop && c.call == 2 {
		s.set(m, i, func(d *database) { d.stopped[i] = st.gen })
	}
}

// say: global mode, a word is given, or taken back.
func (e *explorer) say(i int) {
	m, c := e.m, &e.from.clients[i]
	switch c.word {
	case 1:
		e.do(i, "says that it has stopped", func(s *state) {
			s.set(m, i, func(d *database) { d.stopped[i] = c.wordGen })
			s.clients[i].word, s.clients[i].wordGen = 0, 0
			m.tell(s, i, question{verb: "acked", a: c.wordGen})
		})
	case 2:
		e.do(i, "says that it has stopped no more", func(s *state) {
			s.set(m, i, func(d *database) { d.stopped[i] = 0 })
			s.clients[i].word, s.clients[i].wordGen = 0, 0
			m.tell(s, i, question{verb: "unacked", a: c.wordGen})
		})
	}
}
