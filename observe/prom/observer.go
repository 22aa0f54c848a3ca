package prom

import (
	"context"
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
)

// Observer is an [observe.Observer], and a [prometheus.Collector] of what it has seen.
// Several clients may share one.
type Observer struct {
	paths    *paths
	m        *metrics
	ages     *ages
	now      *samples
	caches   *caches
	groups   *groups
	computed []prometheus.Collector // the four above
}

var (
	_ observe.RequestObserver = (*Observer)(nil)
	_ prometheus.Collector    = (*Observer)(nil)
)

// New makes an observer. o may be nil. Register it with a registry, and give it to
// session.Options.Observer before the client connects.
func New(o *Options) *Observer {
	var opts Options
	if o != nil {
		opts = *o
	}
	if len(opts.Buckets) == 0 {
		opts.Buckets = defaultBuckets()
	}
	out := &Observer{paths: newPaths(opts), m: newMetrics(opts.Buckets), ages: newAges(), now: newSamples(), caches: newCaches(), groups: newGroups()}
	out.computed = []prometheus.Collector{out.ages, out.now, out.caches, out.groups}
	return out
}

// Describe describes all metrics.
func (o *Observer) Describe(to chan<- *prometheus.Desc) {
	for _, c := range o.m.all {
		c.Describe(to)
	}
	for _, c := range o.computed {
		c.Describe(to)
	}
}

// Collect collects all metrics.
func (o *Observer) Collect(to chan<- prometheus.Metric) {
	for _, c := range o.m.all {
		c.Collect(to)
	}
	for _, c := range o.computed {
		c.Collect(to)
	}
}

// Observe counts e.
func (o *Observer) Observe(_ context.Context, e observe.Event) {
	switch e := e.(type) {
	case observe.WaitBegun, observe.WaitEnded:
		o.observeWait(e)
	case observe.HoldBegun, observe.HoldEnded:
		o.observeHold(e)
	case observe.RoundPassed:
		o.m.rounds.WithLabelValues(o.path(e.Path)).Inc()
	case observe.BatchWritten:
		path := o.path(e.Path)
		o.m.operations.WithLabelValues(path).Add(float64(e.Operations))
		o.m.conflicts.WithLabelValues(path).Add(float64(e.Conflicts))
		o.m.unknown.WithLabelValues("counter").Add(float64(e.Unknown))
		o.countUnresolved("counter", e.Err)
		o.m.batches.WithLabelValues(path, resultOrDeclined(e.Err, e.Declined)).Observe(e.Took.Seconds())
	case observe.TransactionEnded:
		o.m.attempts.Add(float64(e.Attempts))
		o.m.unknown.WithLabelValues("transaction").Add(float64(e.Unknown))
		o.countUnresolved("transaction", e.Err)
		o.m.transactions.WithLabelValues(resultOrDeclined(e.Err, e.Declined)).Observe(e.Took.Seconds())
	case observe.OutcomeUnknown:
		o.countUnresolved(e.Recipe, e.Err)
	case observe.CacheSynced:
		o.caches.observe(e, o.path)
		o.m.loads.WithLabelValues(o.path(e.Path)).Observe(e.Took.Seconds())
	case observe.CacheBegun, observe.CacheStale, observe.CacheEnded:
		o.caches.observe(e, o.path)
	case observe.MemberChanged:
		path := o.path(e.Path)
		o.m.countMembersFromZero(path)
		o.m.memberChanges.WithLabelValues(path, e.Change).Inc()
	case observe.Rebalanced:
		path := o.path(e.Path)
		o.m.rebalances.WithLabelValues(path, resultLabel(e.Err)).Observe(e.Took.Seconds())
		o.m.moves.WithLabelValues(path).Add(float64(e.Moves))
		if e.Err == nil {
			o.groups.add(e, path)
		}
	case observe.CoordinationEnded:
		o.groups.remove(e.Path)
	case observe.AssignmentTaken:
		o.m.assignments.WithLabelValues(o.path(e.Path)).Observe(e.Took.Seconds())
	case observe.TaskChanged:
		path := o.path(e.Path)
		o.m.countTasksFromZero(path)
		o.m.taskChanges.WithLabelValues(path, e.From, e.To).Inc()
		if e.From != "" && e.Took > 0 { // 0: not known
			o.m.taskStates.WithLabelValues(path, e.From).Observe(e.Took.Seconds())
		}
	default:
		o.observeSession(e)
	}
}

func (o *Observer) observeWait(e observe.Event) {
	switch e := e.(type) {
	case observe.WaitBegun:
		o.countBegin(waiting, o.m.waiting, e.Kind, e.Path, e.ID, e.Begun)
	case observe.WaitEnded:
		if l, known := o.end(waiting, o.m.waiting, e.ID); known {
			o.m.waits.WithLabelValues(l.kind, l.path, kindLabel(e.Outcome())).Observe(e.Took.Seconds())
		}
	}
}

func (o *Observer) observeHold(e observe.Event) {
	switch e := e.(type) {
	case observe.HoldBegun:
		l := o.countBegin(holding, o.m.held, e.Kind, e.Path, e.ID, e.Begun)
		o.m.losses.WithLabelValues(l.kind, l.path) // from 0
	case observe.HoldEnded:
		if l, known := o.end(holding, o.m.held, e.ID); known {
			if e.End == observe.Lost {
				o.m.losses.WithLabelValues(l.kind, l.path).Inc()
			}
			o.m.holds.WithLabelValues(l.kind, l.path, kindLabel(e.End)).Observe(e.Took.Seconds())
		}
	}
}

// countBegin counts a wait or hold that begins.
func (o *Observer) countBegin(s state, count *prometheus.GaugeVec, kind observe.Kind, path string, id uint64, since time.Time) labels {
	l := labels{kindLabel(kind), o.paths.of(kind, path)}
	count.WithLabelValues(l.kind, l.path).Inc()
	o.ages.beginAge(s, id, l, since)
	return l
}

// end counts a wait or hold that ends, and reports whether its beginning was seen.
func (o *Observer) end(s state, count *prometheus.GaugeVec, id uint64) (labels, bool) {
	l, known := o.ages.end(s, id)
	if known {
		count.WithLabelValues(l.kind, l.path).Dec()
	}
	return l, known
}

func (o *Observer) observeSession(e observe.Event) {
	switch e := e.(type) {
	case observe.SessionChanged:
		if e.Before != "connecting" {
			o.m.clients.WithLabelValues(e.Before).Dec()
		}
		if e.Status != "closed" {
			o.m.clients.WithLabelValues(e.Status).Inc()
		}
		o.m.sessionChanges.WithLabelValues(e.Status).Inc()
		if e.Status == "connected" || e.Status == "closed" {
			o.ages.end(disconnected, e.Client)
		}
		if e.Status == "lost" || e.Status == "closed" {
			o.now.remove(e.Client)
		}
	case observe.NoConnection:
		o.ages.beginAge(disconnected, e.Client, labels{}, time.Now().Add(-e.For))
	case observe.SessionSampled:
		o.now.add(e)
	case observe.TrustLow:
		o.m.trustLow.Inc()
	case observe.HeartbeatEnded:
		o.now.renew(e)
		o.m.heartbeats.WithLabelValues(resultLabel(e.Err)).Observe(e.Took.Seconds())
	}
}

// ObserveRequest counts r.
func (o *Observer) ObserveRequest(_ context.Context, r observe.Request) {
	o.m.requests.WithLabelValues(r.Op, kindLabel(r.Result)).Inc()
	o.m.requestTimes.WithLabelValues(r.Op).Observe(r.Took.Seconds())
}

// countUnresolved counts a call that ends with err, if that leaves an outcome unknown.
func (o *Observer) countUnresolved(what string, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		o.m.unresolved.WithLabelValues(what).Inc()
	}
}

func (o *Observer) path(path string) string { return o.paths.of("", path) }

func resultOrDeclined(err error, declined bool) string {
	if declined {
		return "declined"
	}
	return resultLabel(err)
}

func resultLabel(err error) string {
	if err == nil {
		return "ok"
	}
	return "failed"
}
