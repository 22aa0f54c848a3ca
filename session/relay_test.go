package session

import (
	"math/rand/v2"
	"time"
)

// relay is a deliberately dumb model of the faults that the trust rule must
// survive: one session, the follower that the session is connected to, and the
// leader that counts its timeout. Of trust, the model knows only the client's
// observations: send times and answers.
//
// The leader counts from the last received message: a handshake, which the
// leader confirms itself, or a touch, which a follower puts into its answers to
// the leader's pings. A follower loses one touch now and then, never two in a row. A
// write forwarded by a follower does not count as one. Links keep the order, delay at will, and
// are cut for good at random moments.
type relay struct {
	rng    *rand.Rand
	t      *trust
	timing timing
	broken func(t *trust, sent, now time.Time, committed bool) // instead of trust.answered, if set

	now    time.Duration
	events []relayEvent
	seq    int

	heard   time.Duration // when the leader last heard of the session
	expired time.Duration // when the session ends on the servers; 0 while alive
	deposed time.Duration // from when on the leader commits nothing
	link    *relayLink    // the client's present connection
}

// relayEvent is an event at a moment; among events of the same moment, the
// first scheduled comes first.
type relayEvent struct {
	at  time.Duration
	seq int
	do  func()
}

// relayLink is a connection of the client with its follower, and the follower's
// with the leader.
type relayLink struct {
	touched              bool // since the follower's last answer to the leader
	lost                 bool // the last touch
	toServer, toClient   pipe
	toLeader, toFollower pipe
	hello                time.Duration
	waiting              []func() // answers waiting for the write ahead of them
	writes               int      // whose answers are due
	closed               bool
}

// pipe delivers in order, until cut.
type pipe struct{ last, cut time.Duration }

const relayForever = time.Duration(1 << 60)

// instant is the model's time on the trust clock.
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
			if !m.expireIfDue() {
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

// expireIfDue expires the session if its time is up, by the leader's count: to the
// instant, as if ticks were infinitely short. A deposed leader does not count;
// its successor gives every session a whole timeout again.
func (m *relay) expireIfDue() bool {
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

// ping is the leader's repeated ping. At most R passes between two pings
// received by the follower: this is the assumption of the rule.
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
					if m.expireIfDue() && m.now < m.deposed {
						m.heard = m.now
					}
				})
			}
			m.ping(l)
		}
	})
}

// request is a request of the client: a read (or a ping), answered by the
// follower itself, or a write.
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
			m.t.answered(instant(sent), instant(m.now), 0, write)
		})
	}
	m.send(&l.toServer, func() {
		if l.lost = !l.lost && m.rng.IntN(4) == 0; !l.lost {
			l.touched = true
		}
		switch {
		case !write && l.writes == 0:
			answer()
		case !write:
			l.waiting = append(l.waiting, answer)
		default:
			l.writes++
			m.send(&l.toLeader, func() {
				// The quorum's answer proves that the leader still leads at the
				// moment of the commit.
				if !m.expireIfDue() || m.now >= m.deposed {
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

// runRelay plays one random schedule and returns the time from the end of the
// lease to the session's end on the servers: negative means unsound.
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
		m.request(false)
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
		m.expireIfDue()
		e.do()
	}
	if m.expired == 0 || m.t.lease.IsZero() {
		return rule.timeout // outlived the schedule, or was never trusted
	}
	return instant(m.expired).Sub(m.t.lease)
}
