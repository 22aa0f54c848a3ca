package locktable

import (
	"context"

	"github.com/zkrecipes/zkrecipes/internal/observing"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// observedLock is a Held for the report of its hold. A lock has no context before its first
// use, and its owner reports its loss.
type observedLock Held

// Context is nil: no context ends with the hold.
func (l *observedLock) Context() context.Context { return nil }

// Token is that of the lock.
func (l *observedLock) Token() int64 { return l.token }

// Session is that of the owner.
func (l *observedLock) Session() *session.Session { return l.o.s }

// Path is that of the lock's znode.
func (l *observedLock) Path() string { return l.o.t.lockPath(l.name) }

// reports has the holds of an owner's locks for the observer of the client; nil without an
// observer. Owner.mu guards the map.
type reports map[*Held]*observing.Hold

// observeHolds has the locks reported, if the client has an observer. When the owner is
// lost, all its locks are.
func (o *Owner) observeHolds() {
	o.unobserve = func() bool { return false }
	if o.t.client.Observer() == nil {
		return
	}
	o.reports = reports{}
	hold := o.hold.Context()
	o.unobserve = context.AfterFunc(hold, func() {
		var lost []*observing.Hold
		o.mu.Lock()
		for _, h := range o.held {
			lost = append(lost, o.reports.takeHold(h))
		}
		o.mu.Unlock()
		for _, r := range lost {
			r.Lose(context.Cause(hold))
		}
	})
}

// prepareReports makes the holds to report for locks just taken, for which waiting has
// waited. waiting may be nil.
func (o *Owner) prepareReports(ctx context.Context, locks map[string]*Held, waiting *observing.Wait) reports {
	if o.t.client.Observer() == nil {
		return nil
	}
	out := make(reports, len(locks))
	for _, h := range locks {
		if waiting != nil {
			out[h] = waiting.NewHold((*observedLock)(h), false)
		} else {
			out[h] = observing.NewHold(ctx, o.t.client, observe.Lock, o.t.path, (*observedLock)(h))
		}
	}
	return out
}

// reportBegun reports the beginnings of the holds of locks that were prepared.
func (r reports) reportBegun(locks []*Held) {
	if r == nil {
		return
	}
	for _, h := range locks {
		r[h].Begin()
	}
}

// takeHold returns the hold of a lock whose end is reported next, and forgets the hold.
func (r reports) takeHold(h *Held) *observing.Hold {
	hold := r[h]
	delete(r, h)
	return hold
}

// takeReleases returns the holds of locks whose release begins.
func (r reports) takeReleases(locks []*Held) reports {
	if r == nil {
		return nil
	}
	out := make(reports, len(locks))
	for _, h := range locks {
		out[h] = r.takeHold(h)
		out[h].Ending()
	}
	return out
}

// reportReleased reports the ends of holds whose release has ended with err. The release
// has found out that the lost locks had been lost.
func (r reports) reportReleased(lost []*Held, err error) {
	for _, h := range lost {
		hold := r.takeHold(h)
		hold.NotEnding()
		hold.Lose(errChanged)
	}
	for _, hold := range r {
		hold.End(err)
	}
}
