package otel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/observe/otel"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// rig is a server, a client with an observer, and what the observer has made.
type rig struct {
	*testing.T
	ctx    context.Context
	server *zktest.Server
	client *session.Client
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
	reader *sdkmetric.ManualReader
}

func newRig(t *testing.T) *rig {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	r := &rig{T: t, ctx: ctx, spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	observer, err := otel.New(&otel.Options{
		TracerProvider: r.tracer, MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader)),
		PathAttribute: func(_ observe.Kind, path string) string { return path },
	})
	require.NoError(t, err)
	r.server, err = zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.server.Close()) })
	r.client, err = session.Connect(ctx, r.server.Addr(), &session.Options{Observer: observer})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.client.Close(ctx)) })
	return r
}

// ended waits for n ended spans.
func (r *rig) ended(n int) []sdktrace.ReadOnlySpan {
	r.Helper()
	require.Eventually(r, func() bool { return len(r.spans.Ended()) >= n }, 10*time.Second, time.Millisecond)
	require.Len(r, r.spans.Ended(), n)
	return r.spans.Ended()
}

func attributesOf(s sdktrace.ReadOnlySpan) map[attribute.Key]string {
	out := map[attribute.Key]string{}
	for _, kv := range s.Attributes() {
		out[kv.Key] = kv.Value.String()
	}
	return out
}

func TestWaitAndHoldAreSpansOfTheCallersTrace(t *testing.T) {
	r := newRig(t)
	ctx, parent := r.tracer.Tracer("test").Start(r.ctx, "report")
	h, err := lock.New(r.client, "/locks/a", nil).Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, h.Unlock(ctx))
	spans := r.ended(2)
	wait, hold := spans[0], spans[1]
	require.Equal(t, "wait lock", wait.Name())
	require.Equal(t, "hold lock", hold.Name())
	for _, s := range spans {
		require.Equal(t, parent.SpanContext().SpanID(), s.Parent().SpanID())
		require.Equal(t, codes.Unset, s.Status().Code)
		require.Equal(t, "/locks/a", attributesOf(s)["zkrecipes.path"])
	}
	require.Equal(t, "queued", wait.Events()[0].Name)
	require.Equal(t, "granted", attributesOf(wait)["zkrecipes.result"])
	require.Equal(t, wait.SpanContext(), hold.Links()[0].SpanContext)
	require.Equal(t, "released", attributesOf(hold)["zkrecipes.end"])
	require.Equal(t, h.Path(), attributesOf(hold)["zkrecipes.znode"])
}

func TestLostHoldAndWaitGivenUp(t *testing.T) {
	r := newRig(t)
	m := lock.New(r.client, "/locks/a", nil)
	h, err := m.Lock(r.ctx)
	require.NoError(t, err)
	within, cancel := context.WithCancel(r.ctx)
	defer cancel()
	waited := make(chan error, 1)
	// Waited for below; ends with within.
	go func() {
		_, err := m.Lock(within)
		waited <- err
	}()
	require.Eventually(t, func() bool { return len(r.spans.Started()) == 3 }, 10*time.Second, time.Millisecond)
	cancel()
	require.ErrorIs(t, <-waited, context.Canceled)
	givenUp := r.ended(2)[1]
	require.Equal(t, codes.Unset, givenUp.Status().Code)
	require.Equal(t, "given_up", attributesOf(givenUp)["zkrecipes.result"])
	require.NoError(t, r.server.ExpireSession(h.Session().ID()))
	lost := r.ended(3)[2]
	require.Equal(t, codes.Error, lost.Status().Code)
	require.Equal(t, "lost", attributesOf(lost)["zkrecipes.end"])
	require.Equal(t, "expired", attributesOf(lost)["error.type"])
	require.ErrorIs(t, h.Unlock(r.ctx), session.ErrLost)
}

func TestMetricsCountWaitsHoldsAndRequests(t *testing.T) {
	r := newRig(t)
	m := lock.New(r.client, "/locks/a", nil)
	first, err := m.Lock(r.ctx)
	require.NoError(t, err)
	require.NoError(t, first.Unlock(r.ctx))
	_, err = m.Lock(r.ctx)
	require.NoError(t, err)
	var data metricdata.ResourceMetrics
	require.NoError(t, r.reader.Collect(r.ctx, &data))
	counts := map[string]int64{}
	for _, m := range data.ScopeMetrics[0].Metrics {
		switch d := m.Data.(type) {
		case metricdata.Histogram[float64]:
			for _, p := range d.DataPoints {
				counts[m.Name] += int64(p.Count) //nolint:gosec // few
			}
		case metricdata.Sum[int64]:
			for _, p := range d.DataPoints {
				counts[m.Name] += p.Value
			}
		}
	}
	require.EqualValues(t, 2, counts["zkrecipes.wait.duration"])
	require.EqualValues(t, 1, counts["zkrecipes.hold.duration"])
	require.EqualValues(t, 1, counts["zkrecipes.hold.active"])
	require.EqualValues(t, 0, counts["zkrecipes.wait.active"])
	require.Positive(t, counts["db.client.operation.duration"])
}

func TestEventsWithoutABeginningAreIgnored(t *testing.T) {
	o, err := otel.New(nil)
	require.NoError(t, err)
	ctx := context.Background()
	o.Observe(ctx, observe.WaitQueued{Wait: observe.Wait{ID: 4}})
	o.Observe(ctx, observe.WaitEnded{Wait: observe.Wait{ID: 4}})
	o.Observe(ctx, observe.HoldEnded{Hold: observe.Hold{ID: 4}, End: observe.Lost, Err: session.ErrLost})
	o.Observe(ctx, observe.RoundPassed{Wait: 4})
	o.Observe(ctx, observe.BatchWritten{Path: "/c"})
}
