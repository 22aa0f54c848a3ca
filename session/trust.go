package session

import (
	"fmt"
	"slices"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
)

// TrustRule is the rule for the proof that the servers still keep a session.
type TrustRule int

const (
	// TrustQuorum trusts only a commit of a quorum. It is sound in every fault but a
	// pause of the holder's own process, for which there are guards and tokens. Its
	// price: while the session has a hold, one empty transaction per heartbeat period
	// and session; see docs/guarantees.md.
	TrustQuorum TrustRule = iota
	// TrustAnswered trusts any answer of any server, as Curator, Kazoo and
	// go-zookeeper do at best. It writes nothing. If a follower or the
	// leader is cut off from the rest together with this client, two
	// holders overlap: with a tick of 2 s by up to 11.5 s measured at a
	// timeout of 10 s, and by up to 9.2 s at a timeout of 4 s.
	TrustAnswered
)

// timing has the periods that the trust rule derives from a session timeout.
type timing struct {
	timeout   time.Duration // T: negotiated
	relay     time.Duration // R: the longest that a touch waits on a follower
	margin    time.Duration // m: for timers, scheduling and clock rates
	heartbeat time.Duration // h: between two heartbeats
	patience  time.Duration // an unanswered heartbeat costs the connection
	reserve   time.Duration // holds end this long before the lease
}

// newTiming derives the timing from the negotiated timeout and the servers'
// tick time, 0 if unknown. A follower passes its clients' touches on with its
// answer to the leader's ping, of which there is one per half tick. Servers
// grant no timeout below two ticks unless told to, so a quarter of the timeout
// covers it where the tick is unknown.
//
// A heartbeat must be able to miss one connection and succeed on the next, so
// the period and the relay time together stay below a third of the timeout.
func newTiming(timeout, tick time.Duration) (timing, error) {
	t := timing{timeout: timeout, relay: timeout / 4, margin: min(timeout/10, 100*time.Millisecond), patience: timeout / 3}
	if tick > 0 {
		t.relay = min(tick/2+tick/4, max(timeout/4, tick/2))
	}
	t.heartbeat = min(timeout/10, (timeout/3-t.relay)*3/4)
	if t.heartbeat < timeout/64 || t.heartbeat < time.Millisecond {
		return t, fmt.Errorf("%w: timeout %v, tick %v; use at least %v", ErrTimeoutTooShort, timeout, tick, 2*tick)
	}
	return t, nil
}

// touch is a request that the server answered: the server knew the session then. zxid
// is the newest transaction that the server had applied when it answered.
type touch struct {
	sent, answered time.Time
	zxid           int64
}

// withReserve sets the reserve. Right after a proof the lease lasts for more than half
// of the timeout: a reserve of a quarter leaves enough for a lost heartbeat, and for
// the eighth that VerifyLive asks for. The patience with a silent server gives up half
// of the reserve: the other half comes out of the time that is left for a new
// connection, which would be 70 ms at a timeout of 4 s otherwise.
func (t timing) withReserve(reserve time.Duration) (timing, error) {
	if reserve > t.timeout/4 {
		return t, fmt.Errorf("%w: timeout %v, reserve %v; use at least %v", ErrTimeoutTooShort, t.timeout, reserve, 4*reserve)
	}
	t.reserve = reserve
	t.patience -= reserve / 2
	return t, nil
}

// trust computes until when the servers surely keep a session. It has no clock and no
// I/O: it is told when each request was sent and answered.
//
// Claim: a server that keeps time at the same rate, and a leader that expires
// no session before T has passed since it heard of the session's last touch,
// cannot expire the session before lease.
//
// Proof. Let k be a request that a quorum committed, sent at s_k, and i a touch that
// the same server on the same connection answered at a_i <= s_k - R. Between a_i and
// s_k the server, if it is a follower, answered a ping of its leader, and put the touch
// into that answer, in the same stream into which it put k later. The leader handled k,
// hence it had the touch before. It then counts T from a moment after s_i. If another
// leader took over, it did so after s_k, since a quorum still followed the old one
// then, and it starts all timeouts afresh. A handshake needs no R: the leader itself
// confirms the session, before the handshake is answered; k proves that it was the
// leader.
//
// Of two touches in a row, a follower can lose one: LearnerSessionTracker.touchSession
// takes the table of touches and then puts the touch in, and between the two, snapshot
// may have sent the table off. The touch is answered and never passed on. The next
// request finds the new table. So the lease counts from the older of the two newest
// settled touches, and each heartbeat is followed by a read, which makes two.
//
// hazards: pings and reads are touches, but never k: a follower cut off from
// its leader answers them, and a leader that has lost its followers answers
// even a sync.
type trust struct {
	rule TrustRule
	timing

	lease   time.Time
	hello   time.Time // when this connection's handshake was sent
	touches []touch   // of this connection, oldest first, thinned out
}

// attached: a server accepted the session on a new connection.
func (t *trust) attached(sent time.Time) {
	t.hello, t.touches = sent, t.touches[:0]
	if t.rule == TrustAnswered {
		t.extend(sent)
	}
}

// answered: the server, whose newest transaction was zxid, answered the request sent at
// sent; committed if the answer proves a quorum's commit.
func (t *trust) answered(sent, now time.Time, zxid int64, committed bool) {
	if t.rule == TrustAnswered {
		t.extend(sent)
		return
	}
	if committed {
		t.extend(t.hello)
		t.extendLease(func(i touch) bool { return !i.answered.Add(t.relay).After(sent) })
	}
	// Touches that are a timeout old are worth nothing any more, and touches
	// that crowd together add nothing: two per sixteenth of R will do.
	for len(t.touches) > 0 && now.Sub(t.touches[0].answered) > t.timeout {
		t.touches = t.touches[1:]
	}
	if n := len(t.touches); n < 2 || now.Sub(t.touches[n-2].answered) >= t.relay/16 {
		t.touches = append(t.touches, touch{sent, now, zxid})
	}
}

// marks are what the writer of a shared heartbeat says of its server: touches of
// different ages, the newest first.
func (t *trust) marks(now time.Time) []heartbeatformat.Mark {
	var out []heartbeatformat.Mark
	for _, i := range slices.Backward(t.touches) {
		age := now.Sub(i.answered)
		if n := len(out); n == 0 || age-out[n-1].Age >= t.relay/4 {
			out = append(out, heartbeatformat.Mark{Zxid: i.zxid, Age: age})
		}
	}
	return out[:min(len(out), heartbeatformat.MaxMarks)]
}

// proved: another session of the same server has sent a heartbeat with marks, to that
// server, and a quorum has committed it.
//
// Why it proves touches of this session. The server answered a touch i of this session
// when its newest transaction was i.zxid, and one of the writer, later, when that was
// the greater zxid of a mark. At least R passed until the writer sent its heartbeat, so
// between i and the heartbeat the server answered a ping of its leader. The rest is as
// above, with the heartbeat in the place of k: neither connection has ended meanwhile,
// so the server has not changed its leader.
//
// In Apache ZooKeeper 3.5 to 3.9, ZooKeeperServer touches the session when it submits a
// request; FinalRequestProcessor reads the zxid later, when it answers, also a ping; and
// SessionTrackerImpl.initializeNextSessionId puts the server's number into the ids of
// the sessions that the server makes, which is how sessions know that they share one.
func (t *trust) proved(marks []heartbeatformat.Mark) {
	if t.rule == TrustAnswered {
		return
	}
	newest := heartbeatformat.NewestBehind(marks, t.relay)
	t.extendLease(func(i touch) bool { return i.zxid < newest })
}

// extendLease extends the lease by the touches that the leader knows of: the oldest ones,
// up to the first for which known is false.
func (t *trust) extendLease(known func(touch) bool) {
	newest := -1
	for i, touch := range t.touches {
		if !known(touch) {
			break
		}
		newest = i
	}
	if older := newest - 1; older >= 0 {
		t.extend(t.touches[older].sent)
		t.touches = append(t.touches[:0], t.touches[older:]...)
	}
}

// extend moves the lease, never back.
func (t *trust) extend(sent time.Time) {
	if end := sent.Add(t.timeout - t.margin); end.After(t.lease) {
		t.lease = end
	}
}

// valid reports whether the servers surely keep the session at now, and for the
// reserve after.
func (t *trust) valid(now time.Time) bool { return now.Add(t.reserve).Before(t.lease) }
