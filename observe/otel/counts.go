package otel

import (
	"context"
	"errors"

	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

func (o *Observer) countBatch(ctx context.Context, e observe.BatchWritten) {
	o.m.batches.Record(ctx, e.Took.Seconds(), o.attributes("", e.Path, resultOrDeclined(e.Err, e.Declined)))
	o.m.operations.Add(ctx, int64(e.Operations), o.attributes("", e.Path))
	o.m.conflicts.Add(ctx, int64(e.Conflicts), o.attributes("", e.Path))
	o.m.unknown.Add(ctx, int64(e.Unknown), metric.WithAttributes(attribute.String("zkrecipes.what", "counter")))
	o.countUnresolved(ctx, "counter", e.Err)
}

// countUnresolved counts a call that ends with err, if that leaves an outcome unknown.
func (o *Observer) countUnresolved(ctx context.Context, what string, err error) {
	if errors.Is(err, session.ErrUnknownOutcome) {
		o.m.unresolved.Add(ctx, 1, metric.WithAttributes(attribute.String("zkrecipes.what", what)))
	}
}

func (o *Observer) countCache(ctx context.Context, e observe.Event) {
	switch e := e.(type) {
	case observe.CacheBegun:
		o.m.caches.Add(ctx, 1, o.attributes("", e.Path))
	case observe.CacheSynced:
		o.m.current.Add(ctx, 1, o.attributes("", e.Path))
		o.m.loads.Record(ctx, e.Took.Seconds(), o.attributes("", e.Path))
		o.sums.addCache(ctx, e.Cache, e.Entries, o.attributes("", e.Path))
	case observe.CacheStale:
		o.m.current.Add(ctx, -1, o.attributes("", e.Path))
	case observe.CacheEnded:
		o.m.caches.Add(ctx, -1, o.attributes("", e.Path))
		o.sums.addCache(ctx, e.Cache, 0, o.attributes("", e.Path))
	}
}

func (o *Observer) countTask(ctx context.Context, e observe.TaskChanged) {
	o.m.taskChanges.Add(ctx, 1, o.attributes("", e.Path, attribute.String("zkrecipes.from", e.From), attribute.String("zkrecipes.to", e.To)))
	if e.From != "" && e.Took > 0 { // 0: not known
		o.m.taskStates.Record(ctx, e.Took.Seconds(), o.attributes("", e.Path, attribute.String("zkrecipes.state", e.From)))
	}
}

func (o *Observer) observeSession(ctx context.Context, e observe.Event) {
	o.now.note(e)
	status := func(s string) metric.MeasurementOption {
		return metric.WithAttributes(attribute.String("zkrecipes.status", s))
	}
	switch e := e.(type) {
	case observe.SessionChanged:
		if e.Before != "connecting" {
			o.m.clients.Add(ctx, -1, status(e.Before))
		}
		if e.Status != "closed" {
			o.m.clients.Add(ctx, 1, status(e.Status))
		}
		o.m.changes.Add(ctx, 1, status(e.Status))
	case observe.TrustLow:
		o.m.trustLow.Add(ctx, 1)
	case observe.HeartbeatEnded:
		o.m.heartbeats.Record(ctx, e.Took.Seconds(), metric.WithAttributes(errorType(e.Err)...))
	}
}
