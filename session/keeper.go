package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// keeper proves a session while it has holds, and gives it up in time when the
// proof fails.
type keeper struct {
	s      *Session
	timing timing
	wakeup chan struct{} // cap 1: run has something new to look at

	// mu guards what follows. Invariant: while holds is not empty and the
	// session is not lost, the lease is in the future, or run is about to
	// lose the session (check does it at once). With a reserve the holds are
	// ended first: doomed is then when the session follows, and nothing is
	// held in it any more.
	mu      sync.Mutex
	trust   trust
	holds   []*Hold
	next    int       // whose turn it is to be checked first
	due     time.Time // of the next heartbeat
	pending []time.Time
	failure error // of the last heartbeat
	doomed  time.Time
	lost    bool
	heard   time.Time // when the newest of what was answered was sent
}

func newKeeper(s *Session, rule TrustRule, t timing) *keeper {
	return &keeper{s: s, timing: t, wakeup: make(chan struct{}, 1), trust: trust{rule: rule, timing: t}, heard: s.now()}
}

// trusted reports whether trust lasts for at least d more.
func (k *keeper) trusted(d time.Duration) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.doomed.IsZero() && k.trust.valid(k.s.now().Add(d))
}

// until is the end of the present lease.
func (k *keeper) until() time.Time {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.trust.lease
}

// silence is the age of the newest answered request.
func (k *keeper) silence() time.Duration {
	k.mu.Lock()
	defer k.mu.Unlock()
	return max(0, k.s.now().Sub(k.heard))
}

// add takes h in if the session is trusted at this instant.
func (k *keeper) add(h *Hold) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.s.now()
	if k.lost || !k.doomed.IsZero() || !k.trust.valid(now) {
		return false
	}
	inner, cancel := context.WithCancelCause(k.s.ctx)
	h.ctx, h.cancel = clocked{inner, k.s}, cancel
	k.holds = append(k.holds, h)
	if len(k.holds) == 1 && !k.trust.valid(now.Add(k.timing.timeout/2)) {
		k.due = now // an old proof survives no outage
	} else if len(k.holds) == 1 && k.due.Before(now) {
		k.due = now.Add(k.timing.heartbeat)
	}
	k.wake()
	return true
}

func (k *keeper) remove(h *Hold) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if i := slices.Index(k.holds, h); i >= 0 {
		k.holds = slices.Delete(k.holds, i, i+1)
	}
}

// check gives the session up if its trust has run out by now. With a reserve it
// ends the holds first, and the session when the reserve is over: not before,
// since the server then grants to others what they stood for, and not without
// fail after, since the holds' owners take them for lost.
//
// The contexts end under mu: of two who look at the same time, neither may find
// the other one's verdict without its effect. Everything else that the end of
// the session brings with it is run's: who looks at a context must not find
// itself in a subscription's function.
func (k *keeper) check() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lost {
		return
	}
	now := k.s.now()
	var ended []*Hold
	if len(k.holds) > 0 && !k.trust.valid(now) {
		k.doomed = k.trust.lease
		ended, k.holds, k.pending = k.holds, nil, nil
		k.wake() // run waits for the end of the reserve
	}
	if k.doomed.IsZero() {
		return
	}
	reason := ErrTrustRanOut
	if k.failure != nil {
		reason = fmt.Errorf("%w (last heartbeat: %w)", ErrTrustRanOut, k.failure)
	}
	if !now.Before(k.doomed) {
		k.lost = true
		k.s.cancel(lost(reason)) // and with it what was held
		return
	}
	for _, h := range ended {
		h.cancel(lost(reason))
	}
}

// stop ends all keeping.
func (k *keeper) stop() {
	k.mu.Lock()
	k.lost, k.holds, k.pending = true, nil, nil
	k.mu.Unlock()
}

func (k *keeper) wake() {
	select {
	case k.wakeup <- struct{}{}:
	default:
	}
}

func (k *keeper) attached(sent time.Time) {
	k.mu.Lock()
	k.trust.attached(sent)
	k.pending = nil
	k.due = k.s.now() // the first proof on a connection is worth most
	k.mu.Unlock()
	k.wake()
}

func (k *keeper) detached() {
	k.mu.Lock()
	k.pending = nil
	k.mu.Unlock()
}

func (k *keeper) answered(sent time.Time, committed bool) {
	k.mu.Lock()
	if sent.After(k.heard) {
		k.heard = sent
	}
	k.trust.answered(sent, k.s.now(), committed)
	k.mu.Unlock()
}

// run keeps the session until it ends. Its timer is never due when it is set: the
// race detector of Go 1.26 goes wrong when two goroutines of a bubble find due timers
// at once, and sessions do nothing more often than this.
func (k *keeper) run() {
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
		k.check()
		if wait, held := k.turn(); held {
			timer.Reset(max(wait, soon))
		}
	}
}

// turn does what is due and says how long nothing else is.
func (k *keeper) turn() (wait time.Duration, held bool) {
	k.mu.Lock()
	now := k.s.now()
	if !k.doomed.IsZero() && !k.lost {
		k.mu.Unlock()
		return max(0, k.doomed.Sub(now)), true
	}
	if len(k.holds) == 0 || k.lost {
		k.mu.Unlock()
		return 0, false
	}
	stuck := len(k.pending) > 0 && now.Sub(k.pending[0]) >= k.timing.patience
	var checked []*Hold
	if !now.Before(k.due) {
		k.due = now.Add(k.timing.heartbeat)
		if !stuck {
			checked = k.chooseLocked()
		}
	}
	end := k.trust.lease.Add(-k.trust.reserve)
	if k.due.Before(end) {
		end = k.due
	}
	if stuck {
		k.pending = nil
	} else if len(k.pending) > 0 {
		if give := k.pending[0].Add(k.timing.patience); give.Before(end) {
			end = give
		}
	}
	k.mu.Unlock()

	if stuck {
		k.s.link.Drop(errors.New("session: a heartbeat got no answer for a third of the session timeout"))
	}
	if checked != nil {
		k.beat(checked, now)
	}
	return max(0, end.Sub(now)), true
}

// beat sends a heartbeat: a transaction of nothing but checks, which changes
// nothing and which only a quorum can commit.
func (k *keeper) beat(holds []*Hold, now time.Time) {
	ops := make([]Op, len(holds))
	for i, h := range holds {
		ops[i] = h.Guard()
		k.watch(h)
	}
	if k.trust.rule != TrustQuorum {
		return // the weaker rule lives on the client's pings
	}
	k.mu.Lock()
	k.pending = append(k.pending, now)
	k.mu.Unlock()
	k.s.StartTxn(ops...).Then(func(_ []Result, err error) { k.beaten(err, holds, now) })
}

// beaten looks at a heartbeat's answer.
func (k *keeper) beaten(err error, holds []*Hold, sent time.Time) {
	var txn *TxnError
	gone := errors.As(err, &txn) && errors.Is(txn.Err, ErrNoNode)
	k.mu.Lock()
	if len(k.pending) > 0 && k.pending[0].Equal(sent) {
		k.pending = k.pending[1:]
	}
	k.failure = err
	if gone {
		k.due = k.s.now() // that one proved nothing; ask again without the node
	}
	k.mu.Unlock()
	k.s.hooks.heartbeat(k.s.now().Sub(sent), err)
	if gone {
		holds[txn.Index].End(errDeleted)
	}
	k.wake()
}

// watch asks once per hold to be told when its znode goes. A hold that is
// shorter than a heartbeat period does not pay for it, unless it was won on an old
// proof, and its first heartbeat was sent at once.
func (k *keeper) watch(h *Hold) {
	if !h.armed.CompareAndSwap(false, true) {
		return
	}
	k.s.StartExists(h.path, true).Then(func(seen Seen, err error) {
		switch {
		case err != nil:
			h.armed.Store(false) // the next heartbeat tries again
		case !seen.Exists || seen.Stat.EphemeralOwner != k.s.ID(): // deleted; the name may be another's by now
			seen.Watch.Stop()
			h.End(errDeleted)
		default:
			h.listen(seen.Watch)
		}
	})
}
