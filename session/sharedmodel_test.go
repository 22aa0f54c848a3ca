package session

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
)

// sharedRelay is a deliberately dumb model of heartbeats that sessions share: a leader,
// two followers, one session whose trust is examined, which sends nothing but reads,
// and writers of heartbeats. Of the servers, a client's trust knows only replies.
//
// Followers apply transactions late, in the leader's order, and answer reads from what
// they have applied. They relay touches and lose some, as in relay. Any client may write
// the data of a heartbeat once more, through any server, at any time.
type sharedRelay struct {
	rng    *rand.Rand
	timing timing
	broken brokenShare

	now    time.Duration
	events []relayEvent
	seq    int

	zxid    int64         // of the leader
	heard   time.Duration // when the leader last heard of the session
	expired time.Duration // when the session ends on the servers; 0 while alive
	deposed time.Duration // from when on the leader commits nothing

	followers [2]*sharedFollower
	observed  *sharedClient
	past      [][]heartbeatformat.Mark // committed so far
}

// brokenShare is a rule that the model must convict.
type brokenShare struct {
	proved        func(t *trust, marks []heartbeatformat.Mark)         // instead of trust.proved
	marks         func(t *trust, now time.Time) []heartbeatformat.Mark // instead of trust.marks
	writersServer int                                                  // where writers are
	sendsThrough  int                                                  // where writers send their heartbeats
	session       int                                                  // where the session is
}

// sharedFollower is a server and its connection with the leader.
type sharedFollower struct {
	toLeader, toFollower pipe
	applied              int64
	mzxid                int64 // of the heartbeat
	record               []heartbeatformat.Mark
	touched, lost        bool             // of the session
	waiting              map[int64]func() // what applying a transaction answers
}

// sharedClient is a client's connection with a follower.
type sharedClient struct {
	t                  *trust
	at                 *sharedFollower
	toServer, toClient pipe
	mzxid              int64 // of the newest heartbeat seen
}

func (m *sharedRelay) at(d time.Duration, do func()) {
	m.seq++
	m.events = append(m.events, relayEvent{d, m.seq, do})
}

func (m *sharedRelay) upTo(d time.Duration) time.Duration {
	switch m.rng.IntN(4) {
	case 0:
		return 0
	case 1:
		return d
	}
	return time.Duration(m.rng.Int64N(int64(d) + 1))
}

func (m *sharedRelay) send(p *pipe, do func()) {
	if m.now >= p.cut {
		return
	}
	p.last = max(p.last, m.now+m.upTo(m.timing.timeout/40))
	if p.last < p.cut {
		m.at(p.last, do)
	}
}

// cuts are the moments at which pipes are cut, if at all.
func (m *sharedRelay) cuts(pipes ...*pipe) {
	for _, p := range pipes {
		p.cut = relayForever
		if m.rng.IntN(3) == 0 {
			p.cut = m.now + m.upTo(4*m.timing.timeout)
		}
	}
}

func (m *sharedRelay) expireIfDue() bool {
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

// ping is the leader's, as in relay.
func (m *sharedRelay) ping(f *sharedFollower) {
	gap := m.timing.relay
	if m.rng.IntN(2) == 0 {
		gap = 1 + m.upTo(gap-1)
	}
	m.at(m.now+gap, func() {
		if m.now >= f.toFollower.cut {
			return
		}
		if f.touched {
			f.touched = false
			m.send(&f.toLeader, func() {
				if m.expireIfDue() && m.now < m.deposed {
					m.heard = m.now
				}
			})
		}
		m.ping(f)
	})
}

// commit is a transaction at the leader: a heartbeat, or none.
func (m *sharedRelay) commit(record []heartbeatformat.Mark) (zxid int64, committed bool) {
	if m.now >= m.deposed {
		return 0, false
	}
	m.zxid++
	zxid = m.zxid
	if record != nil {
		m.past = append(m.past, record)
	}
	for _, f := range m.followers {
		m.send(&f.toFollower, func() {
			if f.applied = zxid; record != nil {
				f.mzxid, f.record = zxid, record
			}
			if answer := f.waiting[zxid]; answer != nil {
				answer()
			}
		})
	}
	return zxid, true
}

// touch is what a request of c is at its server.
func (m *sharedRelay) touch(c *sharedClient) {
	if c != m.observed {
		return
	}
	if c.at.lost = !c.at.lost && m.rng.IntN(4) == 0; !c.at.lost {
		c.at.touched = true
	}
}

// read is a read of the heartbeat.
func (m *sharedRelay) read(c *sharedClient) {
	sent := m.now
	m.send(&c.toServer, func() {
		m.touch(c)
		applied, mzxid, record := c.at.applied, c.at.mzxid, c.at.record
		m.send(&c.toClient, func() {
			c.t.answered(instant(sent), instant(m.now), applied, false)
			if mzxid <= c.mzxid {
				return
			}
			if c.mzxid = mzxid; m.broken.proved != nil {
				m.broken.proved(c.t, record)
			} else {
				c.t.proved(record)
			}
		})
	})
}

// write sends a heartbeat, over a connection with f.
func (m *sharedRelay) write(f *sharedFollower, toServer *pipe, record []heartbeatformat.Mark) {
	m.send(toServer, func() {
		m.send(&f.toLeader, func() { m.commit(record) })
	})
}

// again lets do happen again and again, with random pauses up to most.
func (m *sharedRelay) again(end, most time.Duration, do func()) {
	m.at(m.now+1+m.upTo(most), func() {
		do()
		if m.now < end {
			m.again(end, most, do)
		}
	})
}

// connect makes a client of a follower.
func (m *sharedRelay) connect(f *sharedFollower) *sharedClient {
	c := &sharedClient{t: &trust{timing: m.timing}, at: f}
	m.cuts(&c.toServer, &c.toClient)
	return c
}

// runShared plays one random schedule and returns the time from the end of the lease to
// the session's end on the servers: negative means unsound.
func runShared(seed uint64, rule timing, broken brokenShare) time.Duration {
	rng := rand.New(rand.NewPCG(seed, 2))
	m := &sharedRelay{rng: rng, timing: rule, broken: broken, deposed: relayForever}
	end := 6 * rule.timeout
	if rng.IntN(3) == 0 {
		m.deposed = m.upTo(4 * rule.timeout)
	}
	for i := range m.followers {
		m.followers[i] = &sharedFollower{waiting: map[int64]func(){}}
		m.cuts(&m.followers[i].toLeader, &m.followers[i].toFollower)
		m.ping(m.followers[i])
	}
	m.observed = m.connect(m.followers[broken.session])
	m.again(end, rule.relay, func() { m.read(m.observed) })
	for range 1 + rng.IntN(2) {
		w := m.connect(m.followers[broken.writersServer])
		m.again(end, rule.relay, func() { m.read(w) })
		m.again(end, 2*rule.relay, func() {
			marks := w.t.marks(instant(m.now))
			if broken.marks != nil {
				marks = broken.marks(w.t, instant(m.now))
			}
			m.at(m.now+m.upTo(rule.relay/2), func() { m.write(m.followers[broken.sendsThrough], &w.toServer, marks) })
		})
	}
	// Other transactions, and strangers that write an old heartbeat again.
	m.again(end, rule.relay, func() { m.commit(nil) })
	m.again(end, 4*rule.relay, func() {
		if len(m.past) > 0 && rng.IntN(2) == 0 {
			m.write(m.followers[rng.IntN(2)], &pipe{cut: relayForever}, m.past[rng.IntN(len(m.past))])
		}
	})
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
	if m.expired == 0 || m.observed.t.lease.IsZero() {
		return rule.timeout // outlived the schedule, or was never trusted
	}
	return instant(m.expired).Sub(m.observed.t.lease)
}

// The claim in the comment of trust.proved, against the model.
func TestNoScheduleOutlivesALeaseByOthersHeartbeats(t *testing.T) {
	for _, rule := range relayTimings(t) {
		ended, all := 0, seeds(t, rounds(400))
		for _, seed := range all {
			slack := runShared(seed, rule, brokenShare{})
			require.GreaterOrEqual(t, slack, rule.margin, "T=%v R=%v seed %d", rule.timeout, rule.relay, seed)
			if slack < rule.timeout {
				ended++
			}
		}
		t.Logf("T=%v R=%v: %d sessions ended", rule.timeout, rule.relay, ended)
		if len(all) > 1 {
			require.Greater(t, ended, len(all)/10, "the model must end sessions to prove anything")
		}
	}
}

func TestTheModelConvictsBrokenSharing(t *testing.T) {
	rule := theTiming(t, 2*time.Second)
	for name, broken := range map[string]brokenShare{
		"without R, shared": {proved: func(t *trust, marks []heartbeatformat.Mark) {
			newest := heartbeatformat.NewestBehind(marks, 0)
			t.extendLease(func(i touch) bool { return i.zxid < newest })
		}},
		"touches at the mark's own transaction": {proved: func(t *trust, marks []heartbeatformat.Mark) {
			newest := heartbeatformat.NewestBehind(marks, t.relay)
			t.extendLease(func(i touch) bool { return i.zxid <= newest })
		}},
		"all touches before the heartbeat is read": {proved: func(t *trust, _ []heartbeatformat.Mark) {
			t.extendLease(func(touch) bool { return true })
		}},
		"the newest settled touch, shared": {proved: func(t *trust, marks []heartbeatformat.Mark) {
			newest := heartbeatformat.NewestBehind(marks, t.relay)
			for _, i := range t.touches {
				if i.zxid < newest {
					t.extend(i.sent)
				}
			}
		}},
		"writers on another server":              {writersServer: 1, sendsThrough: 1},
		"a writer that has moved before it sent": {sendsThrough: 1},
		"a session that has moved":               {session: 1},
	} {
		convict(t, name, func(seed uint64) bool { return runShared(seed, rule, broken) < 0 })
	}
}
