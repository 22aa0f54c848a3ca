package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/zkrecipes/zkrecipes/internal/chance"
	"github.com/zkrecipes/zkrecipes/internal/format/heartbeatformat"
)

// sharing is a session's part in the heartbeats that the sessions of one server share:
// one session sends heartbeats that set the data of a znode, and the others read it.
//
// No session is elected: a session whose read finds nothing new waits for a random time,
// reads once more, and then sends heartbeats itself, until it sees one of a session with
// a lower id. Most sessions read seldom; a few read more often, and notice soon that
// there are no heartbeats any more.
//
// A session takes part while it is on the connection on which its server made it: only
// then its id tells the server, whatever proxies are in between. On any other
// connection it sends heartbeats of its own.
type sharing struct {
	shareTiming
	path string // of the server's znode
	id   int64  // of the session

	every   time.Duration // between two reads, unless the session sends
	sends   bool          // this session sends the heartbeats
	next    time.Time     // of the next read
	asked   time.Time     // when the read in flight was sent; zero if there is none
	old     time.Time     // when the last read was sent that found nothing new; zero otherwise
	missing bool          // the znode does not exist yet
	mzxid   int64         // of the newest heartbeat seen
}

// shareTiming has the periods of shared heartbeats.
type shareTiming struct {
	beat   time.Duration // between two heartbeats
	read   time.Duration // between two reads, at most
	spread time.Duration // the limit of the random time before a session begins to send
	low    time.Duration // with less trust than that, a heartbeat of the session's own is due
}

// newShareTiming derives the periods from those of the rule. Three periods of a sender
// are longer than R, by the time of a reply and more, so that the mark that counts is
// three periods old. A touch is known when a read finds a heartbeat with a mark behind it:
// that takes five periods, with one for the transaction in between and one until the
// heartbeat is read. A session that reads no more often than that knows its last touch but
// one with each read.
//
// It refuses a timing in which a session could not recover from a server that is cut off
// right after a read: the next read finds that out, and the move to another server is to
// begin with a fifth of the timeout left.
func newShareTiming(t timing) (shareTiming, error) {
	beat := max(t.relay*35/100, t.timeout/40)
	out := shareTiming{beat: beat, read: max(5*beat, t.timeout/6), spread: t.timeout / 20, low: t.timeout / 5}
	if left := t.timeout - t.margin - t.reserve - 2*out.read; left < 2*out.low {
		return out, fmt.Errorf("%w: shared heartbeats would leave %v of trust at timeout %v, relay time %v and stop margin %v; set TickTime, or use a longer timeout",
			ErrTimeoutTooShort, left, t.timeout, t.relay, t.reserve)
	}
	return out, nil
}

// newSharing returns nil if o does not ask for it, or the server cannot be told from
// the session's id: Apache servers have the numbers 1 to 255, and put them into the
// highest byte of the ids of the sessions that they make.
func newSharing(o *Options, id int64, t shareTiming, random *chance.Source) *sharing {
	server := uint8(uint64(id) >> 56)
	if o.SharedHeartbeats == "" || o.Trust != TrustQuorum || server == 0 {
		return nil
	}
	return &sharing{
		shareTiming: t, path: o.SharedHeartbeats + "/" + heartbeatformat.Name(server), id: id,
		every: t.read / readsPerPeriod(int(random.Int64N(64))),
	}
}

// readsPerPeriod is how often a session reads in the longest time between two reads: of
// 64 sessions, one reads four times, and 8 twice. Between one time and two there is
// nothing: such a session would often just miss that a heartbeat knows its last touch.
func readsPerPeriod(n int) time.Duration {
	switch {
	case n == 0:
		return 4
	case n < 9:
		return 2
	}
	return 1
}

// shareIfDue sends the read that is due, if any.
func (k *leaseRenewer) shareIfDue(now time.Time) {
	k.mu.Lock()
	sh := k.sharing
	if sh == nil || k.holds.len() == 0 || k.lost || !sh.asked.IsZero() || now.Before(sh.next) {
		k.mu.Unlock()
		return
	}
	sh.asked, sh.next = now, now.Add(sh.every)
	k.pending = append(k.pending, now)
	k.mu.Unlock()
	k.s.StartGet(sh.path, false).Then(func(seen Seen, err error) { k.onShared(seen, err, now) })
	k.s.link.Ping() // a second touch
	k.watchUnchecked()
}

// onShared handles the reply to a read of the shared heartbeat.
func (k *leaseRenewer) onShared(seen Seen, err error, sent time.Time) {
	if errors.Is(err, ErrNoAuth) {
		k.stopSharing(err)
	}
	proved := k.noteShared(seen, err, sent)
	k.wake()
	if proved { // other proofs are reported as heartbeats
		k.s.reports.postSample()
	}
}

// noteShared notes the reply, and reports whether it has proved more than was known.
func (k *leaseRenewer) noteShared(seen Seen, err error, sent time.Time) (proved bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.removePendingLocked(sent)
	sh, now := k.sharing, k.s.now()
	if sh == nil {
		return false
	}
	sh.asked = time.Time{}
	if err != nil && !errors.Is(err, ErrNoNode) {
		k.due = now.Add(k.timing.heartbeat)
		return false
	}
	lease := k.trust.lease
	enough := err == nil && k.takeInLocked(seen, now)
	proved = k.trust.lease.After(lease)
	if enough {
		sh.old = time.Time{}
		return proved
	}
	if sh.old.IsZero() && !sh.sends {
		k.due = now.Add(suppressionDelay(sh.spread, k.s.client.random.Float64()))
	}
	sh.old = sent
	return proved
}

// takeInLocked takes in what a read has found, and reports whether another session sends
// heartbeats, and they prove this session for long enough.
func (k *leaseRenewer) takeInLocked(seen Seen, now time.Time) bool {
	sh := k.sharing
	beat, err := heartbeatformat.Parse(seen.Data)
	if err != nil || seen.Stat.Mzxid <= sh.mzxid || beat.Sender == sh.id {
		return false
	}
	sh.mzxid = seen.Stat.Mzxid
	k.trust.proved(beat.Marks)
	if beat.Sender < sh.id {
		sh.sends = false
	}
	if sh.sends || !k.trust.valid(now.Add(sh.every+3*sh.low/2)) {
		return false
	}
	k.due = k.trust.lease.Add(-k.trust.reserve - sh.low)
	return true
}

// untilNextLocked is the time between two heartbeats.
func (k *leaseRenewer) untilNextLocked() time.Duration {
	if k.sharing == nil {
		return k.timing.heartbeat
	}
	// Two sessions that send at the same time notice each other only out of step.
	return k.sharing.beat + time.Duration(k.s.client.random.Int64N(int64(k.sharing.beat/8)))
}

// suppressionDelay is the random time, of at most the time most, that a session waits
// before it sends what another one may send first. u is uniform in [0, 1). The delay has
// a truncated exponential distribution, as in Nonnenmacher and Biersack, "Scalable
// feedback for large groups": of any number of sessions up to some ten thousand, a few
// wait for a short time, the first one for long enough that it is seldom joined.
func suppressionDelay(most time.Duration, u float64) time.Duration {
	const lambda = 10
	least := math.Exp(-lambda)
	return time.Duration(float64(most) * (1 + math.Log(least+u*(1-least))/lambda))
}

// mustLookLocked reports that a heartbeat that is due must wait for a read: another
// session may have sent one since the last.
func (k *leaseRenewer) mustLookLocked(now time.Time) bool {
	sh := k.sharing
	if sh == nil || !k.trust.valid(now.Add(sh.low)) {
		return false
	}
	if !sh.old.IsZero() && now.Sub(sh.old) < sh.beat/4 {
		sh.sends = true // nothing new, twice
		return false
	}
	if sh.asked.IsZero() {
		sh.next = now
	}
	return true
}

// sharedOpLocked is the operation that makes a heartbeat a shared one, if any.
func (k *leaseRenewer) sharedOpLocked(now time.Time) []Op {
	if k.sharing == nil || k.sharing.missing {
		return nil
	}
	return []Op{SetOp(k.sharing.path, heartbeatformat.Format(heartbeatformat.Record{Sender: k.sharing.id, Marks: k.trust.marks(now)}), -1)}
}

// onSharedFailure handles the refusal of a shared heartbeat's own operation.
func (k *leaseRenewer) onSharedFailure(err error) {
	if !errors.Is(err, ErrNoNode) {
		k.stopSharing(err)
		return
	}
	k.mu.Lock()
	sh := k.sharing
	create := sh != nil && !sh.missing
	if create {
		sh.missing = true
	}
	k.mu.Unlock()
	if create {
		k.s.spawn(func() { k.createShared(sh) })
	}
}

// createShared creates the znode of the shared heartbeat.
func (k *leaseRenewer) createShared(sh *sharing) {
	ctx, cancel := context.WithTimeout(k.s.ctx, k.timing.timeout)
	defer cancel()
	err := k.s.ensure(ctx, k.s.serverPath(sh.path), Persistent, nil)
	if err != nil {
		k.stopSharing(err)
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	sh.missing = false
}

// stopSharing makes the session send heartbeats of its own from now on.
func (k *leaseRenewer) stopSharing(cause error) {
	k.mu.Lock()
	sh := k.sharing
	if sh != nil {
		k.sharing, k.due = nil, k.s.now()
	}
	k.mu.Unlock()
	if sh != nil && k.s.Err() == nil {
		k.s.log.Warn("zookeeper session does not share heartbeats", "path", sh.path, "cause", cause)
	}
	k.wake()
}
