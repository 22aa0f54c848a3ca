package otel

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// instruments are the metrics of an observer.
type instruments struct {
	waits, holds, rebalances, heartbeats, requests metric.Float64Histogram
	waiting, holding                               metric.Int64UpDownCounter
	changes                                        metric.Int64Counter
}

func newInstruments(meter metric.Meter) (*instruments, error) {
	var failed error
	histogram := func(name, text string) metric.Float64Histogram {
		h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text),
			metric.WithExplicitBucketBoundaries(.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 25, 50, 100, 250, 500))
		failed = errors.Join(failed, err)
		return h
	}
	upDown := func(name, unit, text string) metric.Int64UpDownCounter {
		c, err := meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(text))
		failed = errors.Join(failed, err)
		return c
	}
	m := &instruments{
		waits:      histogram("zkrecipes.wait.duration", "Duration of waits that ended."),
		holds:      histogram("zkrecipes.hold.duration", "Duration of holds that ended."),
		rebalances: histogram("zkrecipes.rebalance.duration", "Time until an assignment was carried out."),
		heartbeats: histogram("zkrecipes.session.heartbeat", "Duration of heartbeats."),
		requests:   histogram("db.client.operation.duration", "Duration of requests to the servers."),
		waiting:    upDown("zkrecipes.wait.active", "{wait}", "Waits in progress."),
		holding:    upDown("zkrecipes.hold.active", "{hold}", "What is held now."),
	}
	changes, err := meter.Int64Counter("zkrecipes.session.changes", metric.WithUnit("{change}"), metric.WithDescription("Changes of sessions to a status."))
	m.changes = changes
	return m, errors.Join(failed, err)
}
