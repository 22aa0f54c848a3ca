package otel_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/observe/otel"
	"github.com/zkrecipes/zkrecipes/session"
	"go.opentelemetry.io/otel/attribute"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
)

// spansOf is an observer without metrics, and its spans.
func spansOf(t *testing.T) (*otel.Observer, *tracetest.SpanRecorder) {
	t.Helper()
	spans := tracetest.NewSpanRecorder()
	o, err := otel.New(&otel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))})
	require.NoError(t, err)
	return o, spans
}

func grant(o *otel.Observer, id uint64) {
	w := observe.Wait{ID: id, Kind: observe.Lock, Path: "/l"}
	o.Observe(context.Background(), observe.WaitBegun{Wait: w})
	o.Observe(context.Background(), observe.WaitEnded{Wait: w})
}

func hold(o *otel.Observer, id, wait uint64) {
	h := observe.Hold{ID: id, Kind: observe.Lock, Path: "/l", Wait: wait}
	o.Observe(context.Background(), observe.HoldBegun{Hold: h})
	o.Observe(context.Background(), observe.HoldEnded{Hold: h, End: observe.Released})
}

// Each lock of a table is linked to the one wait for all of them.
func TestLocksOfATableAreLinkedToTheirWait(t *testing.T) {
	r := newRig(t)
	owner, err := locktable.New(r.client, "/table", nil).Join(r.ctx)
	require.NoError(t, err)
	held, err := owner.Lock(r.ctx, "a", "b", "c")
	require.NoError(t, err)
	require.Len(t, held, 3)
	require.NoError(t, owner.Release(r.ctx))
	wait, links := r.ended(4)[0], 0
	require.Equal(t, "wait lock", wait.Name())
	for _, s := range r.ended(4)[1:] {
		for _, l := range s.Links() {
			require.Equal(t, wait.SpanContext(), l.SpanContext)
			links++
		}
	}
	require.Equal(t, 3, links)
}

// Waits that share a hold, and so have none of their own, are forgotten in time.
func TestGrantsWithoutAHoldAreForgotten(t *testing.T) {
	o, spans := spansOf(t)
	for id := range uint64(1001) {
		grant(o, id+1)
	}
	hold(o, 5000, 1)
	hold(o, 5001, 2)
	hold(o, 5002, 2)
	ended := spans.Ended()[1001:]
	require.Empty(t, ended[0].Links(), "the oldest of more than a thousand grants")
	require.Len(t, ended[1].Links(), 1)
	require.Len(t, ended[2].Links(), 1)
}

// A hand-over within the process is a hold that says so, with a link of its own.
func TestLocalHoldsAndRoundsAreSpans(t *testing.T) {
	r := newRig(t)
	m := lock.New(r.client, "/locks/a", nil)
	first, err := m.Lock(r.ctx)
	require.NoError(t, err)
	next := make(chan *lock.Held, 1)
	// Waited for below; ends with its lock.
	go func() {
		h, err := m.Lock(r.ctx)
		if err != nil {
			t.Error(err)
		}
		next <- h
	}()
	require.Eventually(t, func() bool { return len(r.spans.Started()) == 3 }, 10*time.Second, time.Millisecond)
	require.NoError(t, first.Unlock(r.ctx))
	require.NoError(t, (<-next).Unlock(r.ctx))
	ends := map[string]string{}
	for _, s := range r.ended(4) {
		if s.Name() == "hold lock" {
			require.Len(t, s.Links(), 1)
			ends[attributesOf(s)["zkrecipes.local"]] = attributesOf(s)["zkrecipes.end"]
		}
	}
	require.Equal(t, map[string]string{"false": "handed_over", "true": "released"}, ends)

	o, spans := spansOf(t)
	w := observe.Wait{ID: 7, Kind: observe.Round, Path: "/b"}
	o.Observe(r.ctx, observe.WaitBegun{Wait: w})
	o.Observe(r.ctx, observe.RoundPassed{Path: "/b", Wait: 7, Round: 3, Parties: 4})
	o.Observe(r.ctx, observe.WaitEnded{Wait: w})
	got := attributesOf(spans.Ended()[0])
	require.Equal(t, "3", got["zkrecipes.round"])
	require.Equal(t, "4", got["zkrecipes.parties"])
	require.Equal(t, "granted", got["zkrecipes.result"])
}

// A hold that was lost says how long the servers keep the session; another hold does not.
func TestLossSaysHowMuchTrustWasLeft(t *testing.T) {
	o, spans := spansOf(t)
	h := observe.Hold{ID: 1, Kind: observe.Lock, Path: "/l"}
	o.Observe(context.Background(), observe.HoldBegun{Hold: h})
	o.Observe(context.Background(), observe.HoldEnded{Hold: h, End: observe.Lost, Err: session.ErrTrustRanOut, TrustLeft: 1500 * time.Millisecond})
	hold(o, 2, 0)
	ended := spans.Ended()
	require.Equal(t, "1.5", attributesOf(ended[0])["zkrecipes.trust_left"])
	require.NotContains(t, attributesOf(ended[1]), attribute.Key("zkrecipes.trust_left"))
}
