package world

import (
	"errors"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// enterSingle enters an event that belongs to no wait and no hold.
func (l *Ledger) enterSingle(e observe.Event) {
	switch e := e.(type) {
	case observe.BatchWritten:
		if e.Path == "" || e.Operations < 1 || e.Conflicts < 0 || e.Unknown < 0 || e.Took < 0 {
			l.fault("no batch: %#v", e)
		}
		l.step(e, e.Operations, classOfWrite(e.Err))
	case observe.OutcomeUnknown:
		if e.Recipe == "" || e.Path == "" || e.Op == "" || !errors.Is(e.Err, session.ErrUnknownOutcome) {
			l.fault("no unknown outcome: %#v", e)
		}
		l.step(e, e.Op)
	case observe.CoordinationEnded:
		if e.Path == "" {
			l.fault("no group: %#v", e)
		}
		l.step(e)
	case observe.AssignmentTaken:
		if e.Path == "" || e.Generation < 1 || e.Resources < 0 || e.Took < 0 {
			l.fault("no assignment: %#v", e)
		}
		l.step(e)
	case observe.TransactionEnded:
		if e.Attempts < 0 || e.Unknown < 0 || e.Unknown > e.Attempts || e.Took < 0 || e.Attempts == 0 && e.Err == nil {
			l.fault("no transaction: %#v", e)
		}
		l.step(e, classOfWrite(e.Err))
	case observe.RoundPassed:
		if w, known := l.waits[e.Wait]; !known || w.Kind != observe.Round || w.Path != e.Path || l.passed[e.Wait] || e.Round < 1 || e.Parties < 1 {
			l.fault("passes no round: %#v", e)
		}
		l.passed[e.Wait] = true
		l.step(e)
	case observe.CacheBegun:
		p := l.cacheOf(e.Cache)
		if e.Path == "" || e.Cache == 0 || p.runs {
			l.fault("begins, and runs: %#v", e)
		}
		p.runs = true
		l.step(e)
	case observe.CacheSynced:
		p := l.cacheOf(e.Cache)
		if e.Path == "" || e.Entries < 0 || e.Took < 0 || !p.runs || p.current || e.Again != p.loaded {
			l.fault("is loaded wrongly (%+v): %#v", *p, e)
		}
		p.current, p.loaded = true, true
		l.step(e, e.Entries)
	case observe.CacheStale:
		p := l.cacheOf(e.Cache)
		if e.Path == "" || e.Err == nil || !p.current {
			l.fault("is not current: %#v", e)
		}
		p.current = false
		l.step(e)
	case observe.CacheEnded:
		p := l.cacheOf(e.Cache)
		if e.Path == "" || e.Err == nil || !p.runs || p.current {
			l.fault("ends wrongly (%+v): %#v", *p, e)
		}
		p.runs = false
		l.step(e)
	default:
		l.step(e)
	}
}

// member is a worker of a job.
type member struct {
	path string
	id   int
}

// enterMember enters a change of a worker. A roster may miss changes, a whole life of a worker
// among them, so that the changes need not chain: but a worker that the roster has seen leave
// is not reported as removed. A client with two rosters of one job reports each change twice:
// no test has one.
func (l *Ledger) enterMember(e observe.MemberChanged) {
	m := member{e.Path, e.Worker}
	if e.Path == "" || e.Change == "" || e.Worker < 0 {
		l.fault("a change of no worker: %#v", e)
	}
	if was := l.gone[m]; was != "" && e.Change == "removed" {
		l.fault("the worker has gone (%s): %#v", was, e)
	}
	switch e.Change {
	case "left", "failed", "removed":
		l.gone[m] = e.Change
	default:
		delete(l.gone, m)
	}
	l.step(e, e.Change)
}

// cachePeriod is what a cache does at the moment.
type cachePeriod struct{ runs, current, loaded bool }

func (l *Ledger) cacheOf(id uint64) *cachePeriod {
	if l.caches[id] == nil {
		l.caches[id] = &cachePeriod{}
	}
	return l.caches[id]
}

// wrongEnd is what is wrong about the end of a hold, its error and its trust.
func wrongEnd(e observe.HoldEnded) error {
	lost := errors.Is(e.Err, session.ErrLost)
	switch {
	case e.End == observe.Lost && !lost, e.End == observe.Unconfirmed && !errors.Is(e.Err, session.ErrTrustRanOut):
		return errors.New("lost without a loss") //nolint:err113 // a test's
	case (e.End == observe.Released || e.End == observe.HandedOver) && lost && !observe.IsContextEnd(e.Err):
		return errors.New("a loss is no release") //nolint:err113 // a test's
	case e.TrustLeft > 0 && (e.End != observe.Lost || !errors.Is(e.Err, session.ErrTrustRanOut)):
		return errors.New("trust that is not left") //nolint:err113 // a test's
	}
	return nil
}

// classOfWrite is classOf for the error of a write. The reason of an unknown outcome is
// not certain: the connection or the session, whichever loss is noticed first.
func classOfWrite(err error) string {
	class := classOf(err)
	if class != "given up" && errors.Is(err, session.ErrUnknownOutcome) {
		return "unknown"
	}
	return class
}
