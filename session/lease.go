package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// errNoHeartbeatReply ends a connection.
var errNoHeartbeatReply = errors.New("session: a heartbeat got no reply in time")

// leaseRenewer proves a session while it has holds, and gives it up in time when the
// proof fails.
type leaseRenewer struct {
	s      *Session
	timing timing
	toMove time.Duration // the trust that is left for a move to another server
	wakeup chan struct{} // cap 1: run has something new to look at

	// mu guards the fields below. Invariant: while holds is not empty and the session
	// is not lost, the lease is in the future, or run is about to lose the session
	// (endIfUntrusted does it at once). With a reserve the holds are ended first: holdsEnded is
	// then the time at which the session follows, and the session takes no new hold any
	// more.
	mu          sync.Mutex
	trust       trust
	holds       holdQueue
	due         time.Time   // of the next heartbeat
	beating     bool        // a heartbeat has no reply yet
	slow        bool        // the last heartbeat's reply took a tenth of the timeout, or more
	pending     []time.Time // when the heartbeats, and reads of shared ones, without a reply were sent
	sharing     *sharing    // nil: the session sends heartbeats of its own
	failure     error       // of the last heartbeat
	holdsEnded  time.Time
	saidLow     time.Time // the lease that was reported to run low
	saidHolds   bool      // an observer was told last that there are holds
	lost        bool
	lastHeard   time.Time // when the newest answered request was sent
	lastContact time.Time // the same, handshakes included
}

func newLeaseRenewer(s *Session, rule TrustRule, t timing) *leaseRenewer {
	// Different for each session, so that not all move at once.
	toMove := t.timeout*3/10 + time.Duration(s.client.random.Int64N(int64(t.timeout/20)))
	return &leaseRenewer{s: s, timing: t, toMove: toMove, wakeup: make(chan struct{}, 1), trust: trust{rule: rule, timing: t}, lastHeard: s.now(), lastContact: s.now()}
}

// givenUp reports whether the holds have ended since trust ran out; the session follows.
func (k *leaseRenewer) givenUp() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !k.holdsEnded.IsZero()
}

// trusted reports whether trust lasts for at least d more.
func (k *leaseRenewer) trusted(d time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.holdsEnded.IsZero() && k.trust.valid(k.s.now().Add(d))
}

// leaseEnd is the end of the present lease.
func (k *leaseRenewer) leaseEnd() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trust.lease
}

// sinceHeard is the age of the newest answered request.
func (k *leaseRenewer) sinceHeard() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(0, k.s.now().Sub(k.lastHeard))
}

// addHold takes h in if the session is trusted at this instant; watched says that a watch
// on its znode is set.
func (k *leaseRenewer) addHold(h *Hold, watched bool) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.s.now()
	if k.lost || !k.holdsEnded.IsZero() || !k.trust.valid(now) {
		return false
	}
	inner, cancel := context.WithCancelCause(k.s.ctx)
	h.ctx, h.cancel = clocked{inner, k.s}, cancel
	k.holds.add(h, watched)
	if k.holds.len() == 1 && !k.trust.valid(now.Add(k.timing.timeout/2)) {
		k.due = now // an old proof survives no outage
	} else if k.holds.len() == 1 && k.due.Before(now) {
		k.due = now.Add(k.timing.heartbeat)
	}
	k.wake()
	return true
}

func (k *leaseRenewer) removeHold(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.holds.remove(h)
}

// endIfUntrusted gives the session up if its trust has run out by now. With a reserve
// it ends the holds first, and the session when the reserve is over: not before, since
// the server then grants the locks of the holds to other clients, and not without fail
// after, since the owners of the holds take them for lost.
//
// The contexts end under mu: of two goroutines that look at the same time, neither may
// see the other's verdict without its effect. The rest of the session's end is the task
// of run: a goroutine that looks at a context must not find itself in a subscription's
// function.
func (k *leaseRenewer) endIfUntrusted() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost {
		return
	}
	now := k.s.now()
	var ended []*Hold
	if k.holds.len() > 0 && !k.trust.valid(now) {
		k.holdsEnded = k.trust.lease
		ended, k.pending = k.holds.drain(), nil
		k.wake() // run waits for the end of the reserve
	}
	if k.holdsEnded.IsZero() {
		return
	}
	reason := ErrTrustRanOut
	switch {
	case isOfOneRequest(k.failure):
		// Not wrapped: it says nothing about the user's own requests.
		reason = fmt.Errorf("%w (last heartbeat: %v)", ErrTrustRanOut, k.failure) //nolint:errorlint // see above
	case k.failure != nil:
		reason = fmt.Errorf("%w (last heartbeat: %w)", ErrTrustRanOut, k.failure)
	}
	if !now.Before(k.holdsEnded) {
		k.lost = true
		k.s.cancel(lost(reason)) // and with it the holds
		return
	}
	for _, h := range ended {
		h.cancel(lost(reason))
	}
}

// stop ends the renewing.
func (k *leaseRenewer) stop() {
	k.mu.Lock()
	k.lost, k.pending = true, nil
	k.holds.drain()
	k.mu.Unlock()
}

func (k *leaseRenewer) wake() {
	select {
	case k.wakeup <- struct{}{}:
	default:
	}
}

func (k *leaseRenewer) onAttach(sent time.Time) {
	k.mu.Lock()
	k.trust.attached(sent)
	if sent.After(k.lastContact) {
		k.lastContact = sent
	}
	k.pending, k.beating = nil, false
	k.due = k.s.now() // the first proof on a connection is worth most
	k.mu.Unlock()
	k.wake()
}

func (k *leaseRenewer) onDetach() {
	k.mu.Lock()
	k.pending, k.beating = nil, false
	k.sharing = nil // on its next connection, a session does not know its server
	k.mu.Unlock()
}

func (k *leaseRenewer) onReply(sent time.Time, zxid int64, committed bool) {
	k.mu.Lock()
	if sent.After(k.lastHeard) {
		k.lastHeard = sent
	}
	if sent.After(k.lastContact) {
		k.lastContact = sent
	}
	k.trust.answered(sent, k.s.now(), zxid, committed)
	k.mu.Unlock()
}

// run keeps the session until it ends. Its timer is never due when it is set: the
// race detector of Go 1.26 goes wrong when two goroutines of a bubble find due timers
// at once, and sessions do nothing more often than this.
func (k *leaseRenewer) run() {
	const soon = time.Nanosecond
	timer := time.NewTimer(soon)
	defer timer.Stop()
	for {
		select {
		case <-k.s.ctx.Done():
			k.s.end(context.Cause(k.s.ctx), true) // if it was check that ended it
			return
		case <-k.wakeup:
		case <-timer.C:
		}
		k.endIfUntrusted()
		if wait, held := k.renewIfDue(); held {
			timer.Reset(max(wait, soon))
		}
	}
}

// renewIfDue does the work that is due and returns the time until the next work is due.
func (k *leaseRenewer) renewIfDue() (wait time.Duration, held bool) {
	k.mu.Lock()
	now := k.s.now()
	if !k.holdsEnded.IsZero() && !k.lost {
		k.mu.Unlock()
		return max(0, k.holdsEnded.Sub(now)), true
	}
	if k.holds.len() == 0 || k.lost {
		k.mu.Unlock()
		k.reportNoHolds()
		return 0, false
	}
	stuck := len(k.pending) > 0 && !now.Before(k.moveAtLocked())
	var checked []*Hold
	switch {
	case stuck:
		k.pending, k.beating = nil, false
		k.due = now.Add(k.timing.heartbeat)
	case k.beating, now.Before(k.due), k.mustLookLocked(now):
		// One heartbeat at a time: a server that is too slow for all the heartbeats of
		// its sessions gets fewer.
	default:
		k.due = now.Add(k.untilNextLocked())
		checked = k.chooseCheckedLocked()
	}
	k.mu.Unlock()

	k.reportLow(now)
	switch {
	case stuck:
		k.s.link.Drop(errNoHeartbeatReply)
	case checked != nil:
		k.sendHeartbeat(checked, now)
		k.watchUnchecked()
	}
	if !stuck {
		k.shareIfDue(now)
	}
	return max(0, k.nextWork().Sub(now)), true
}

// moveAtLocked is when the session moves to another server unless the oldest pending
// heartbeat, or read of a shared one, is answered. If servers are slow, or the session
// shares heartbeats with many others, it waits for as long as there is trust enough to
// move: servers that have too much to do are not made faster by moves. Otherwise a
// session has time for two servers that do not answer.
func (k *leaseRenewer) moveAtLocked() time.Time {
	patience := k.timing.patience
	if k.sharing != nil {
		patience = min(patience, k.timing.timeout/5)
	}
	at := k.pending[0].Add(patience)
	if latest := k.trust.lease.Add(-k.trust.reserve - k.toMove); latest.After(at) && (k.slow || k.sharing != nil) {
		return latest
	}
	return at
}

// nextWork is when renewIfDue has work again, unless a reply comes before.
func (k *leaseRenewer) nextWork() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	next := k.trust.lease.Add(-k.trust.reserve)
	earlier := func(t time.Time) {
		if t.Before(next) {
			next = t
		}
	}
	looking := k.sharing != nil && !k.sharing.asked.IsZero()
	if k.s.reports != nil && k.saidLow != k.trust.lease {
		earlier(k.lowAtLocked())
	}
	if !k.beating && !looking {
		earlier(k.due)
	}
	if k.sharing != nil && !looking {
		earlier(k.sharing.next)
	}
	if len(k.pending) > 0 {
		earlier(k.moveAtLocked())
	}
	return next
}
