package otel

import (
	"context"
	"fmt"
	"sync"

	"github.com/zkrecipes/zkrecipes/observe"
	global "go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

const scope = "github.com/zkrecipes/zkrecipes/observe/otel"

// Options of [New]. nil and the zero value mean all defaults.
type Options struct {
	// TracerProvider makes the spans; default: OpenTelemetry's global provider.
	TracerProvider trace.TracerProvider
	// MeterProvider keeps the metrics; default: OpenTelemetry's global provider.
	MeterProvider metric.MeterProvider
	// PathAttribute is the attribute zkrecipes.path of metrics for a path of a recipe:
	// bound the number of its values. Default: metrics have no path. Spans have the path.
	PathAttribute func(kind observe.Kind, path string) string
}

// Observer is an [observe.Observer]. Several clients may share one.
type Observer struct {
	tracer trace.Tracer
	m      *instruments
	now    *sessions
	sums   *tallies
	path   func(observe.Kind, string) string

	mu    sync.Mutex            // guards the fields below
	spans map[uint64]trace.Span // of waits and holds in progress
	// granted has the spans of the newest waits that were granted: a wait may have several
	// holds, or share the hold of another wait. order has their IDs, the oldest first.
	granted map[uint64]trace.SpanContext
	order   []uint64
}

var _ observe.RequestObserver = (*Observer)(nil)

// New makes an observer. o may be nil. The error is a meter's, which refuses an instrument.
func New(o *Options) (*Observer, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	if opts.TracerProvider == nil {
		opts.TracerProvider = global.GetTracerProvider()
	}
	if opts.MeterProvider == nil {
		opts.MeterProvider = global.GetMeterProvider()
	}
	m, err := newInstruments(opts.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	now, err := newSessions(opts.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	sums, err := newTallies(opts.MeterProvider.Meter(scope))
	if err != nil {
		return nil, fmt.Errorf("otel: %w", err)
	}
	return &Observer{
		tracer: opts.TracerProvider.Tracer(scope), m: m, now: now, sums: sums, path: opts.PathAttribute,
		spans: map[uint64]trace.Span{}, granted: map[uint64]trace.SpanContext{},
	}, nil
}

// Observe records e.
func (o *Observer) Observe(ctx context.Context, e observe.Event) {
	switch e := e.(type) {
	case observe.WaitBegun:
		o.beginWait(ctx, e)
	case observe.WaitQueued:
		o.spanOf(e.ID).AddEvent("queued", trace.WithAttributes(znode(e.Znode), attribute.Int("zkrecipes.ahead", e.Ahead)))
	case observe.WaitEnded:
		o.endWait(ctx, e)
	case observe.HoldBegun:
		o.beginHold(ctx, e)
	case observe.HoldEnded:
		o.endHold(ctx, e)
	case observe.RoundPassed:
		o.m.rounds.Add(ctx, 1, o.attributes("", e.Path))
		o.spanOf(e.Wait).SetAttributes(attribute.Int64("zkrecipes.round", e.Round), attribute.Int("zkrecipes.parties", e.Parties))
	case observe.BatchWritten:
		o.countBatch(ctx, e)
		addEvent(ctx, e, e.Err, path(e.Path), attribute.Int("zkrecipes.operations", e.Operations),
			attribute.Int("zkrecipes.conflicts", e.Conflicts), attribute.Int("zkrecipes.unknown", e.Unknown))
	case observe.TransactionEnded:
		o.m.transactions.Record(ctx, e.Took.Seconds(), metric.WithAttributes(resultOrDeclined(e.Err, e.Declined)))
		o.m.attempts.Add(ctx, int64(e.Attempts))
		o.m.unknown.Add(ctx, int64(e.Unknown), metric.WithAttributes(attribute.String("zkrecipes.what", "transaction")))
		o.countUnresolved(ctx, "transaction", e.Err)
		addEvent(ctx, e, e.Err, attribute.Int("zkrecipes.attempts", e.Attempts), attribute.Int("zkrecipes.unknown", e.Unknown))
	case observe.OutcomeUnknown:
		o.countUnresolved(ctx, e.Recipe, e.Err)
		addEvent(ctx, e, e.Err, path(e.Path), attribute.String("zkrecipes.what", e.Recipe), attribute.String("zkrecipes.op", e.Op))
	case observe.CacheBegun, observe.CacheSynced, observe.CacheStale, observe.CacheEnded:
		o.countCache(ctx, e)
	case observe.MemberChanged:
		o.m.memberChanges.Add(ctx, 1, o.attributes("", e.Path, attribute.String("zkrecipes.change", e.Change)))
	case observe.TaskChanged:
		o.countTask(ctx, e)
		addEvent(ctx, e, nil, path(e.Path), attribute.String("zkrecipes.task", e.Task), attribute.String("zkrecipes.from", e.From), attribute.String("zkrecipes.to", e.To))
	case observe.Rebalanced:
		o.m.rebalances.Record(ctx, e.Took.Seconds(), o.attributes("", e.Path, resultOf(e.Err)))
		o.m.moves.Add(ctx, int64(e.Moves), o.attributes("", e.Path))
		if e.Err == nil {
			o.sums.addGroup(ctx, e, o.attributes("", e.Path))
		}
	case observe.CoordinationEnded:
		o.sums.removeGroup(ctx, e.Path, o.attributes("", e.Path))
	case observe.AssignmentTaken:
		o.m.assignments.Record(ctx, e.Took.Seconds(), o.attributes("", e.Path))
	default:
		o.observeSession(ctx, e)
	}
}

// ObserveRequest records the duration of r. A negative answer, which recipes expect, is no
// failure.
func (o *Observer) ObserveRequest(ctx context.Context, r observe.Request) {
	attrs := []attribute.KeyValue{
		attribute.String("db.system.name", "zookeeper"), attribute.String("db.operation.name", r.Op),
		attribute.String("zkrecipes.result", word(r.Result)),
	}
	if r.Result != observe.Negative {
		attrs = append(attrs, errorType(r.Err)...)
	}
	o.m.requests.Record(ctx, r.Took.Seconds(), metric.WithAttributes(attrs...))
}

// spanOf is the span of a wait or hold in progress; a span that records nothing if there
// is none.
func (o *Observer) spanOf(id uint64) trace.Span {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.spans[id]; s != nil {
		return s
	}
	return noop.Span{}
}

// addEvent adds e to the span in ctx.
func addEvent(ctx context.Context, e observe.Event, err error, attrs ...attribute.KeyValue) {
	if span := trace.SpanFromContext(ctx); span.IsRecording() {
		span.AddEvent(e.Name(), trace.WithAttributes(append(attrs, errorType(err)...)...))
	}
}

// attributes of a metric.
func (o *Observer) attributes(kind observe.Kind, path string, more ...attribute.KeyValue) metric.MeasurementOption {
	if kind != "" {
		more = append(more, attribute.String("zkrecipes.kind", string(kind)))
	}
	if o.path != nil {
		more = append(more, attribute.String("zkrecipes.path", o.path(kind, path)))
	}
	return metric.WithAttributes(more...)
}

func path(p string) attribute.KeyValue  { return attribute.String("zkrecipes.path", p) }
func znode(p string) attribute.KeyValue { return attribute.String("zkrecipes.znode", p) }
