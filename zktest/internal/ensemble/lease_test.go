package ensemble

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zkrecipes/zkrecipes/zktest/internal/jute"
	"github.com/zkrecipes/zkrecipes/zktest/internal/proto"
)

// holder is a client that believes in its session according to its rule of
// trust.
type holder struct {
	f        *fixture
	conn     *Conn
	session  int64
	open     bool
	greeted  bool
	xid      int32
	sent     map[int32]time.Duration
	answered map[int32]time.Duration
}

func (h *holder) Close() { h.open = false }

func (h *holder) Full() bool { return false }

func (h *holder) Answered() {}

func (h *holder) Send(records ...[]byte) {
	b := records[0]
	r := jute.NewReader(b)
	if !h.greeted {
		h.greeted = true
		_, _ = r.Int32(), r.Int32()
		h.session = r.Int64()
		return
	}
	xid := r.Int32()
	_ = r.Int64()
	if r.Int32() == 0 {
		h.answered[xid] = h.f.clock.now
	}
}

func newHolder(f *fixture, server int, timeout time.Duration) *holder {
	h := &holder{f: f, open: true, sent: map[int32]time.Duration{}, answered: map[int32]time.Duration{}}
	h.conn = f.Node(server).Accept(h, "10.0.0.1")
	h.conn.Connect(proto.Connect{Timeout: int32(timeout.Milliseconds())})
	f.clock.advance(20 * time.Millisecond)
	return h
}

// sendHeartbeat sends a heartbeat: a transaction with a single check, or a read.
func (h *holder) sendHeartbeat(quorum bool) {
	h.xid++
	h.sent[h.xid] = h.f.clock.now
	q := proto.Request{Xid: h.xid, Op: proto.OpExists, Path: "/"}
	if quorum {
		q = proto.Request{Xid: h.xid, Op: proto.OpMulti, Ops: []proto.Request{{Op: proto.OpCheck, Path: "/", Version: -1}}}
	}
	h.conn.Submit(q, nil)
}

// leaseEnd is the end of the holder's belief: a timeout after the newest answered
// request. With relay > 0 a request counts only if the leader has provably
// heard of the answer: a later request, sent at least relay after the answer,
// succeeded.
func (h *holder) leaseEnd(timeout, relay time.Duration) time.Duration {
	end := time.Duration(-1)
	for i, at := range h.answered {
		proved := relay == 0
		for k := range h.answered {
			proved = proved || h.sent[k] >= at+relay
		}
		if proved {
			end = max(end, h.sent[i]+timeout)
		}
	}
	return end
}

// breakSomething isolates or freezes a server, or cuts one direction of a link.
func breakSomething(f *fixture, rnd *rand.Rand, server int) {
	leader := f.Leader().Index()
	victim := []int{server, leader}[rnd.IntN(2)]
	switch rnd.IntN(4) {
	case 0:
		f.Node(leader).Freeze()
	case 1:
		f.CutLink(server, leader)
	case 2:
		f.CutLink(leader, server)
	default:
		for i := 1; i <= f.Len(); i++ {
			f.CutLink(i, victim)
			f.CutLink(victim, i)
		}
	}
}

// measureSlack runs one history and returns expiry minus the end of belief.
func measureSlack(t *testing.T, seed uint64, timeout time.Duration, quorum bool, relay time.Duration) time.Duration {
	t.Helper()
	rnd := rand.New(rand.NewPCG(seed, 3))
	f := newFixture(3)
	server := 1 + rnd.IntN(3)
	h := newHolder(f, server, timeout)
	require.NotZero(t, h.session)
	until := f.clock.now + 15*time.Second + time.Duration(rnd.IntN(4000))*time.Millisecond
	broken := false
	for f.clock.now < until+60*time.Second && h.open {
		if !broken && f.clock.now >= until {
			broken = true
			breakSomething(f, rnd, server)
		}
		if !f.Node(server).Frozen() {
			h.sendHeartbeat(quorum)
		}
		f.clock.advance(timeout/10 + time.Duration(rnd.IntN(10))*time.Millisecond)
	}
	f.Join()
	for i := 1; i <= 3; i++ {
		f.Node(i).Thaw()
	}
	f.clock.advance(2 * time.Minute)
	expired := time.Duration(-1)
	for _, txn := range f.txns {
		if txn.Op == proto.OpCloseSession && txn.Session == h.session {
			expired = time.UnixMilli(txn.Time).Sub(time.UnixMilli(1_700_000_000_000))
		}
	}
	if expired < 0 {
		return 0 // the session survived to the end
	}
	return expired - h.leaseEnd(timeout, relay)
}

// TestOnlyAQuorumProvesThatASessionLives repeats in the model a measurement on
// a real ensemble: a belief based on answered reads outlives the session. A
// belief based on commits, with time for the follower to relay its touches,
// never does.
func TestOnlyAQuorumProvesThatASessionLives(t *testing.T) {
	worst := func(timeout time.Duration, quorum bool, relay time.Duration) time.Duration {
		least := time.Hour
		for seed := range uint64(150) {
			least = min(least, measureSlack(t, seed, timeout, quorum, relay))
		}
		return least
	}
	for _, timeout := range []time.Duration{10 * time.Second, 6 * time.Second} {
		reads := worst(timeout, false, 0)
		quorum := worst(timeout, true, time.Second+100*time.Millisecond)
		t.Logf("timeout %v: reads %v, quorum %v", timeout, reads, quorum)
		require.Less(t, reads, -2*time.Second, "the model is too kind")
		require.GreaterOrEqual(t, quorum, time.Duration(0))
	}
}
