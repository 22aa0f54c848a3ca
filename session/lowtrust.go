package session

import "time"

// account is the number of holds, and the time until they are given up unless a proof
// comes before.
func (k *leaseRenewer) account() (holds int, left time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.holds.len() == 0 {
		return 0, 0
	}
	return k.holds.len(), k.trust.lease.Add(-k.trust.reserve).Sub(k.s.now())
}

// reportLow reports, once, that the trust runs low.
func (k *leaseRenewer) reportLow(now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.s.reports == nil || k.saidLow == k.trust.lease || now.Before(k.lowAtLocked()) {
		return
	}
	k.saidLow = k.trust.lease
	left := k.trust.lease.Add(-k.trust.reserve).Sub(now)
	k.s.reports.postTrustLow(k.s, k.holds.len(), left)
}

// lowAtLocked is when the trust runs low, unless a proof comes before.
func (k *leaseRenewer) lowAtLocked() time.Time {
	return k.trust.lease.Add(-k.trust.reserve - k.timing.timeout/3)
}
