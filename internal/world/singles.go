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
	case observe.TransactionEnded:
		if e.Attempts < 0 || e.Unknown < 0 || e.Unknown > e.Attempts || e.Took < 0 || e.Attempts == 0 && e.Err == nil {
			l.fault("no transaction: %#v", e)
		}
		l.step(e, classOfWrite(e.Err))
	case observe.CacheSynced:
		p := l.cachesOf(e.Path)
		if !e.Again {
			p.caches++
		}
		p.current++
		if e.Path == "" || e.Entries < 0 || e.Took < 0 || p.current > p.caches {
			l.fault("%d of %d caches are current: %#v", p.current, p.caches, e)
		}
		l.step(e, e.Entries)
	case observe.CacheStale:
		p := l.cachesOf(e.Path)
		p.current--
		if e.Err == nil || p.current < 0 {
			l.fault("%d of %d caches are current: %#v", p.current, p.caches, e)
		}
		l.step(e)
	default:
		l.step(e)
	}
}

// cachePeriods counts the caches of one path, and those of them that are current.
type cachePeriods struct{ caches, current int }

func (l *Ledger) cachesOf(path string) *cachePeriods {
	if l.caches[path] == nil {
		l.caches[path] = &cachePeriods{}
	}
	return l.caches[path]
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
