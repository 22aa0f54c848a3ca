package session

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/zkrecipes/zkrecipes/session/internal/heartbeat"
)

// sharing is a session's part in the heartbeats that the sessions of one server share:
// one session sends a heartbeat that sets the data of a znode, and the others read it.
// No session is elected: a session whose reads find nothing new waits for a random time,
// reads once more, and sends the heartbeat itself.
//
// A session takes part while it is on the connection on which its server made it: only
// then its id tells the server, whatever proxies are in between. On any other
// connection it sends heartbeats of its own.
type sharing struct {
	path   string        // of the server's znode
	period time.Duration // between two reads
	low    time.Duration // with less trust than that, a heartbeat of its own is due
	spread time.Duration // the limit of the random time before a heartbeat

	next    time.Time // of the next read
	asked   time.Time // when the read in flight was sent; zero if there is none
	old     time.Time // when the last read was sent that found nothing new; zero otherwise
	missing bool      // the znode does not exist yet
	mzxid   int64     // of the newest heartbeat seen
}

// newSharing returns nil if o does not ask for it, or the server cannot be told from
// the session's id: Apache servers have the numbers 1 to 255, and put them into the
// highest byte of the ids of the sessions that they make.
func newSharing(o *Options, id int64, t timing) *sharing {
	server := uint8(uint64(id) >> 56)
	if o.SharedHeartbeats == "" || o.Trust != TrustQuorum || server == 0 {
		return nil
	}
	period := sharedPeriod(t)
	return &sharing{
		path: fmt.Sprintf("%s/server-%d", o.SharedHeartbeats, server), period: period, low: t.timeout * 3 / 10,
		spread: t.timeout / 20,
	}
}

// sharedPeriod is the time between two reads. A mark must be older than R: two periods
// are, by the time of a reply and more.
func sharedPeriod(t timing) time.Duration { return max(t.relay*11/20, t.timeout/16) }

// checkShared refuses a timing in which shared heartbeats come too late for a session
// to recover from a server that is cut off. At the worst, the touch that a heartbeat
// proves is older than its mark by a period, and by another one if no transaction came
// in between; the mark is two periods old, and the writer waited for its spread; a
// period passes until the heartbeat is read, and one and a spread until the next.
func checkShared(t timing) error {
	oldest := 6*sharedPeriod(t) + 3*t.timeout/20
	if left := t.timeout - t.margin - t.reserve - oldest; left < t.timeout*3/10 {
		return fmt.Errorf("%w: shared heartbeats would leave %v of trust at timeout %v, relay time %v and stop margin %v; set TickTime, or use a longer timeout",
			ErrTimeoutTooShort, left, t.timeout, t.relay, t.reserve)
	}
	return nil
}

// shareIfDue sends the read that is due, if any.
func (k *leaseRenewer) shareIfDue(now time.Time) {
	k.mu.Lock()
	sh := k.sharing
	if sh == nil || k.holds.len() == 0 || k.lost || !sh.asked.IsZero() || now.Before(sh.next) {
		k.mu.Unlock()
		return
	}
	sh.asked, sh.next = now, now.Add(sh.period)
	k.pending = append(k.pending, now)
	k.mu.Unlock()
	k.s.StartGet(sh.path, false).Then(func(seen Seen, err error) { k.onShared(seen, err, now) })
	k.watchUnchecked()
}

// onShared handles the reply to a read of the shared heartbeat.
func (k *leaseRenewer) onShared(seen Seen, err error, sent time.Time) {
	if errors.Is(err, ErrNoAuth) {
		k.stopSharing(err)
	}
	k.mu.Lock()
	defer k.wake()
	defer k.mu.Unlock()
	k.removePendingLocked(sent)
	sh, now := k.sharing, k.s.now()
	if sh == nil {
		return
	}
	sh.asked = time.Time{}
	switch {
	case errors.Is(err, ErrNoNode), err == nil && seen.Stat.Mzxid <= sh.mzxid:
		sh.old = sent
	case err != nil:
		k.due = now.Add(k.timing.heartbeat)
	default:
		sh.mzxid, sh.old = seen.Stat.Mzxid, time.Time{}
		if marks, err := heartbeat.Parse(seen.Data); err == nil { // else as good as none
			k.trust.proved(marks)
			k.postponeLocked(now)
		}
	}
}

// untilNextLocked is the time between two heartbeats.
func (k *leaseRenewer) untilNextLocked() time.Duration {
	if k.sharing == nil {
		return k.timing.heartbeat
	}
	return k.sharing.period + suppressionDelay(k.sharing.spread, rand.Float64())
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

// postponeLocked puts off the next heartbeat: another session has sent one.
func (k *leaseRenewer) postponeLocked(now time.Time) {
	sh := k.sharing
	due := now.Add(k.untilNextLocked())
	if latest := k.trust.lease.Add(-k.trust.reserve - sh.low); due.After(latest) {
		due = latest
	}
	if due.After(k.due) {
		k.due = due
	}
}

// mustLookLocked reports that a heartbeat that is due must wait for a read: another
// session may have sent one since the last.
func (k *leaseRenewer) mustLookLocked(now time.Time) bool {
	sh := k.sharing
	if sh == nil || !k.trust.valid(now.Add(sh.low)) {
		return false
	}
	if !sh.old.IsZero() && now.Sub(sh.old) < sh.period/4 {
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
	return []Op{SetOp(k.sharing.path, heartbeat.Format(k.trust.marks(now)), -1)}
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
