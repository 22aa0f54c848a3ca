package session

import (
	"math/rand/v2"
	"time"
)

// relay is a deliberately dumb model of the faults that the trust rule must survive:
// one session, the follower that the session is connected to, and the leader that
// counts its timeout. The model knows nothing of trust but what the client is told:
// send times and answers.
//
// The leader counts from the last message that it has heard: a handshake, which the
// leader confirms itself, and the touches that a follower puts into its answers to the
// leader's pings. A write that a follower passes on is no touch. Links keep the order,
// delay at will, and are cut for good at random moments.
type relay struct {
	rng    *rand.Rand
	t      *trust
	timing timing
	broken func(t *trust, sent, now time.Time, committed bool) // instead of trust.answered, if set

	now    time.Duration
	events []relayEvent
	seq    int

	heard   time.Duration // when the leader last heard of the session
	expired time.Duration // when it ends on the servers; 0 while it lives
	deposed time.Duration // from when on the leader commits nothing
	link    *relayLink    // the client's present connection
}

// relayEvent is something that happens at a moment; of several the first
// scheduled.
type relayEvent struct {
	at  time.Duration
	seq int
	do  func()
}

// relayLink is a connection of the client with its follower, and the follower's
// with the leader.
type relayLink struct {
	touched              bool // since the follower's last answer to the leader
	toServer, toClient   pipe
	toLeader, toFollower pipe
	hello                time.Duration
	waiting              []func() // answers that wait for the write ahead of them
	writes               int      // whose answers are due
	closed               bool
}

// pipe delivers in order, until it is cut.
type pipe struct{ last, cut time.Duration }

const relayForever = time.Duration(1 << 60)

// instant is the model's time as the trust clock tells it.
func instant(d time.Duration) time.Time { return time.Unix(1_000_000, 0).Add(d) }

func (m *relay) at(d time.Duration, do func()) {
	m.seq++
	m.events = append(m.events, relayEvent{d, m.seq, do})
}

// upTo is a random duration, often none and sometimes the whole.
func (m *relay) upTo(d time.Duration) time.Duration {
	switch m.rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return d
	}
	return time.Duration(m.rng.Int64N(int64(d) + 1))
}

// send lets do happen at the other end of p.
func (m *relay) send(p *pipe, do func()) {
	if m.now >= p.cut {
		return
	}
	p.last = max(p.last, m.now+m.upTo(m.timing.timeout/40))
	if p.last < p.cut {
		m.at(p.last, do)
	}
}

// connect makes a new connection, through another follower.
func (m *relay) connect() {
	if m.link != nil {
		m.link.closed = true
	}
	l := &relayLink{hello: m.now}
	for _, p := range []*pipe{&l.toServer, &l.toClient, &l.toLeader, &l.toFollower} {
		p.cut = relayForever
		if m.rng.IntN(3) == 0 {
			p.cut = m.now + m.upTo(2*m.timing.timeout)
		}
	}
	m.link = l
	m.send(&l.toServer, func() {
		m.send(&l.toLeader, func() {
			if !m.lives() {
				return
			}
			m.heard = m.now
			m.send(&l.toFollower, func() {
				m.send(&l.toClient, func() {
					if !l.closed {
						m.t.attached(instant(l.hello))
					}
				})
			})
		})
	})
	m.ping(l)
}

// lives expires the session if its time is up, by the leader's count: to the
// instant, as if ticks were infinitely short. A deposed leader counts for
// nothing; its successor gives everyone a whole timeout again.
func (m *relay) lives() bool {
	if m.expired != 0 {
		return false
	}
	end := m.heard + m.timing.timeout
	if end > m.deposed {
		end = m.deposed + m.timing.timeout
	}
	if m.now >= end {
		m.expired = end
	}
	return m.expired == 0
}

// ping is the leader's, again and again; between two that the follower gets no
// more than R passes, which is the assumption of the rule.
func (m *relay) ping(l *relayLink) {
	gap := m.timing.relay
	if m.rng.IntN(2) == 0 {
		gap = 1 + m.upTo(gap-1)
	}
	m.at(m.now+gap, func() {
		if m.now < l.toFollower.cut {
			if l.touched {
				l.touched = false
				m.send(&l.toLeader, func() {
					if m.lives() && m.now < m.deposed {
						m.heard = m.now
					}
				})
			}
			m.ping(l)
		}
	})
}

// request is the client's: a read (or its ping), which the follower answers by
// itself, or a write.
func (m *relay) request(write bool) {
	l, sent := m.link, m.now
	answer := func() {
		m.send(&l.toClient, func() {
			if l.closed {
				return
			}
			if m.broken != nil {
				m.broken(m.t, instant(sent), instant(m.now), write)
				return
			}
			m.t.answered(instant(sent), instant(m.now), write)
		})
	}
	m.send(&l.toServer, func() {
		l.touched = true
		switch {
		case !write && l.writes == 0:
			answer()
		case !write:
			l.waiting = append(l.waiting, answer)
		default:
			l.writes++
			m.send(&l.toLeader, func() {
				// That the leader still leads at the moment of the commit is
				// what the quorum's answer says.
				if !m.lives() || m.now >= m.deposed {
					return
				}
				m.send(&l.toFollower, func() {
					l.writes--
					answer()
					if l.writes == 0 {
						for _, a := range l.waiting {
							a()
						}
						l.waiting = nil
					}
				})
			})
		}
	})
}

// runRelay plays one random schedule and returns how long before the session's
// end on the servers the lease ended: negative means unsound.
func runRelay(seed uint64, rule timing, broken func(*trust, time.Time, time.Time, bool)) time.Duration {
	rng := rand.New(rand.NewPCG(seed, 1))
	m := &relay{rng: rng, timing: rule, t: &trust{timing: rule}, broken: broken, deposed: relayForever}
	end := 8 * rule.timeout
	if rng.IntN(3) == 0 {
		m.deposed = m.upTo(4 * rule.timeout)
	}
	m.connect()
	var beat, poll func()
	beat = func() {
		m.request(true)
		if m.now < end {
			m.at(m.now+rule.heartbeat+m.upTo(rule.heartbeat), beat)
		}
	}
	poll = func() {
		m.request(false)
		if m.now < end {
			m.at(m.now+1+m.upTo(rule.timeout/3), poll)
		}
	}
	m.at(0, beat)
	m.at(m.upTo(rule.timeout/3), poll)
	for range rng.IntN(3) {
		m.at(m.upTo(4*rule.timeout), m.connect)
	}
	for len(m.events) > 0 && m.expired == 0 && m.now < end+rule.timeout {
		first := 0
		for i, e := range m.events {
			if f := m.events[first]; e.at < f.at || e.at == f.at && e.seq < f.seq {
				first = i
			}
		}
		e := m.events[first]
		m.events[first] = m.events[len(m.events)-1]
		m.events = m.events[:len(m.events)-1]
		m.now = e.at
		m.lives()
		e.do()
	}
	if m.expired == 0 || m.t.lease.IsZero() {
		return rule.timeout // it outlived the schedule, or was never trusted
	}
	return instant(m.expired).Sub(m.t.lease)
}
