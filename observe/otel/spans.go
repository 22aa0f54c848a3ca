package otel

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/zkrecipes/zkrecipes/observe"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

func (o *Observer) beginWait(ctx context.Context, e observe.WaitBegun) {
	_, span := o.tracer.Start(ctx, "wait "+string(e.Kind), trace.WithTimestamp(e.Begun),
		trace.WithAttributes(attribute.String("zkrecipes.kind", string(e.Kind)), path(e.Path)))
	o.mu.Lock()
	o.spans[e.ID] = span
	o.mu.Unlock()
	o.m.waiting.Add(ctx, 1, o.attributes(e.Kind, e.Path))
}

func (o *Observer) endWait(ctx context.Context, e observe.WaitEnded) {
	span := o.end(e.ID)
	if span == nil {
		return
	}
	if e.Err == nil && e.Kind.Held() {
		o.keepGrant(e.ID, span.SpanContext())
	}
	result := attribute.String("zkrecipes.result", word(e.Outcome()))
	span.SetAttributes(result)
	if e.Outcome() != observe.NotGranted {
		span.SetAttributes(errorType(e.Err)...)
	}
	if e.Outcome() == observe.Failed {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	span.End(trace.WithTimestamp(e.Begun.Add(e.Took)))
	o.m.waiting.Add(ctx, -1, o.attributes(e.Kind, e.Path))
	o.m.waits.Record(ctx, e.Took.Seconds(), o.attributes(e.Kind, e.Path, result))
}

// maxGrants bounds the memory of grants. A hold begins right after the end of its wait.
const maxGrants = 1000

// keepGrant keeps the span of a wait that was granted, for the links of its holds.
func (o *Observer) keepGrant(wait uint64, span trace.SpanContext) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.order) == maxGrants {
		delete(o.granted, o.order[0])
		o.order = slices.Delete(o.order, 0, 1)
	}
	o.granted[wait] = span
	o.order = append(o.order, wait)
}

// word is an outcome or an end as the value of an attribute.
func word[T ~string](w T) string { return strings.ReplaceAll(string(w), " ", "_") }

func (o *Observer) beginHold(ctx context.Context, e observe.HoldBegun) {
	opts := []trace.SpanStartOption{trace.WithTimestamp(e.Begun), trace.WithAttributes(
		attribute.String("zkrecipes.kind", string(e.Kind)), path(e.Path), znode(e.Znode), attribute.Int64("zkrecipes.token", e.Token),
		attribute.String("zkrecipes.session", fmt.Sprintf("%#x", e.Session)), attribute.Bool("zkrecipes.local", e.Local))}
	o.mu.Lock()
	if wait, known := o.granted[e.Wait]; known {
		opts = append(opts, trace.WithLinks(trace.Link{SpanContext: wait}))
	}
	o.mu.Unlock()
	_, span := o.tracer.Start(ctx, "hold "+string(e.Kind), opts...)
	o.mu.Lock()
	o.spans[e.ID] = span
	o.mu.Unlock()
	o.m.holding.Add(ctx, 1, o.attributes(e.Kind, e.Path))
}

func (o *Observer) endHold(ctx context.Context, e observe.HoldEnded) {
	span := o.end(e.ID)
	if span == nil {
		return
	}
	end := attribute.String("zkrecipes.end", word(e.End))
	span.SetAttributes(append(errorType(e.Err), end)...)
	if e.End == observe.Lost || e.End == observe.Unconfirmed {
		span.SetStatus(codes.Error, e.Err.Error())
	}
	if e.End == observe.Lost {
		span.SetAttributes(attribute.Float64("zkrecipes.trust_left", e.TrustLeft.Seconds()))
	}
	span.End(trace.WithTimestamp(e.Begun.Add(e.Took)))
	o.m.holding.Add(ctx, -1, o.attributes(e.Kind, e.Path))
	o.m.holds.Record(ctx, e.Took.Seconds(), o.attributes(e.Kind, e.Path, end))
}

// end takes the span of a wait or hold that ends; nil if the observer has not seen its
// beginning.
func (o *Observer) end(id uint64) trace.Span {
	o.mu.Lock()
	defer o.mu.Unlock()
	span := o.spans[id]
	delete(o.spans, id)
	return span
}
