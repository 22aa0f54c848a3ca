package session

import (
	"errors"
	"slices"
	"time"
)

// sendHeartbeat sends a heartbeat: a transaction of nothing but checks, which changes
// nothing and which only a quorum can commit.
func (k *leaseRenewer) sendHeartbeat(holds []*Hold, now time.Time) {
	ops := make([]Op, len(holds))
	for i, h := range holds {
		ops[i] = h.Guard()
		k.watchHold(h)
	}
	if k.trust.rule != TrustQuorum {
		k.s.reports.postSample()
		return // the weaker rule lives on the client's pings
	}
	k.mu.Lock()
	k.pending, k.beating = append(k.pending, now), true
	shared := k.sharedOpLocked(now)
	k.mu.Unlock()
	k.s.startTxn(len(shared) > 0, append(ops, shared...)...).Then(func(_ []Result, err error) { k.onHeartbeat(err, holds, now) })
	k.s.link.Ping() // a second touch: see type trust
}

// removePendingLocked notes the reply to the request that was sent at sent.
func (k *leaseRenewer) removePendingLocked(sent time.Time) {
	if at := slices.IndexFunc(k.pending, sent.Equal); at >= 0 {
		k.pending = slices.Delete(k.pending, at, at+1)
	}
}

// onHeartbeat handles the reply to a heartbeat.
func (k *leaseRenewer) onHeartbeat(err error, holds []*Hold, sent time.Time) {
	var txn *TxnError
	refused := errors.As(err, &txn)
	unshared := refused && txn.Index == len(holds)
	gone := refused && !unshared && errors.Is(txn.Err, ErrNoNode)
	k.mu.Lock()
	k.beating = false
	k.removePendingLocked(sent)
	k.failure = err
	k.slow = err == nil && k.s.now().Sub(sent) >= k.timing.timeout/10
	if gone || unshared {
		k.due = k.s.now() // the heartbeat proved nothing; ask again without the node
	}
	k.mu.Unlock()
	k.s.reports.postHeartbeat(k.s, k.s.now().Sub(sent), err)
	switch {
	case gone:
		holds[txn.Index].End(errDeleted)
	case unshared:
		k.onSharedFailure(txn.Err)
	}
	k.wake()
}
