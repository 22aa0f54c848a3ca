package session

import "time"

// account is the number of holds, and the time until they are given up unless a proof
// comes before. It is for a report.
func (k *leaseRenewer) account() (holds int, left time.Duration) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.saidHolds = k.holds.len() > 0; !k.saidHolds {
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

// reportNoHolds has it reported soon that there are no holds any more, if an observer was told
// of some: their trust would seem to run out.
func (k *leaseRenewer) reportNoHolds() {
	k.mu.Lock()
	said := k.saidHolds
	k.saidHolds = false
	k.mu.Unlock()
	if said {
		k.s.reports.postSample()
	}
}
