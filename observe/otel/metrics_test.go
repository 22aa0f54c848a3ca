package otel_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/observe/otel"
	"github.com/zkrecipes/zkrecipes/session"
	"go.opentelemetry.io/otel/attribute"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
)

// observed is an observer, and what its metrics are after some events.
func observed(t *testing.T, events ...observe.Event) (see func(observe.Event), metrics func() []metricdata.Metrics) {
	t.Helper()
	reader := sdkmetric.NewManualReader()
	o, err := otel.New(&otel.Options{MeterProvider: sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))})
	require.NoError(t, err)
	see = func(e observe.Event) { o.Observe(context.Background(), e) }
	for _, e := range events {
		see(e)
	}
	o.ObserveRequest(context.Background(), observe.Request{Op: "get", Result: observe.OK})
	o.ObserveRequest(context.Background(), observe.Request{Op: "get", Result: observe.Negative, Err: session.ErrNoNode})
	o.ObserveRequest(context.Background(), observe.Request{Op: "get", Result: observe.NotSent, Err: session.ErrExpired})
	return see, func() []metricdata.Metrics {
		t.Helper()
		var data metricdata.ResourceMetrics
		require.NoError(t, reader.Collect(context.Background(), &data))
		return data.ScopeMetrics[0].Metrics
	}
}

// points are the kind of a metric, the keys of its attributes, and the sum of its values;
// the number of values for a histogram.
func points(t *testing.T, m metricdata.Metrics) (kind string, keys map[string]bool, sum float64) {
	t.Helper()
	keys = map[string]bool{}
	note := func(s attribute.Set, v float64) {
		sum += v
		for _, kv := range s.ToSlice() {
			keys[string(kv.Key)] = true
		}
	}
	switch d := m.Data.(type) {
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range d.DataPoints {
			note(p.Attributes, float64(p.Count))
		}
	case metricdata.Sum[int64]:
		if kind = "up-down counter"; d.IsMonotonic {
			kind = "counter"
		}
		for _, p := range d.DataPoints {
			note(p.Attributes, float64(p.Value))
		}
	case metricdata.Gauge[int64]:
		kind = "gauge"
		for _, p := range d.DataPoints {
			note(p.Attributes, float64(p.Value))
		}
	case metricdata.Gauge[float64]:
		kind = "gauge"
		for _, p := range d.DataPoints {
			note(p.Attributes, p.Value)
		}
	default:
		require.Failf(t, "unknown kind", "%s: %T", m.Name, m.Data)
	}
	return kind, keys, sum
}

// everyEvent has all events, such that each metric gets a value.
func everyEvent() []observe.Event {
	w := observe.Wait{ID: 1, Kind: observe.Lock, Path: "/l"}
	h := observe.Hold{ID: 2, Kind: observe.Lock, Path: "/l", Wait: 1}
	failed := fmt.Errorf("%w: %w", session.ErrLost, session.ErrExpired)
	return []observe.Event{
		observe.WaitBegun{Wait: w}, observe.WaitQueued{Wait: w, Ahead: 1}, observe.WaitEnded{Wait: w},
		observe.HoldBegun{Hold: h}, observe.HoldEnded{Hold: h, End: observe.HandedOver},
		observe.RoundPassed{Path: "/b"},
		observe.BatchWritten{Path: "/c", Operations: 3, Conflicts: 2, Unknown: 1, Err: fmt.Errorf("%w: gone", session.ErrUnknownOutcome)},
		observe.TransactionEnded{Attempts: 2, Unknown: 1, Err: session.ErrUnknownOutcome}, observe.TransactionEnded{Attempts: 1, Err: failed},
		observe.CacheBegun{Path: "/t"}, observe.CacheSynced{Path: "/t"}, observe.CacheStale{Path: "/t"}, observe.CacheEnded{Path: "/t"},
		observe.MemberChanged{Path: "/j", Change: "died"}, observe.Rebalanced{Path: "/r", Moves: 4, Members: 2, Resources: 7},
		observe.CoordinationEnded{Path: "/other"}, observe.AssignmentTaken{Path: "/r", Took: time.Second},
		observe.OutcomeUnknown{Recipe: "job", Path: "/j", Op: "scale", Err: session.ErrUnknownOutcome},
		observe.TaskChanged{Path: "/q", From: "waiting", To: "done", Took: time.Second}, observe.TaskChanged{Path: "/q", To: "waiting"},
		observe.SessionChanged{Client: 1, Status: "connected", Before: "connecting"}, observe.NoConnection{Client: 2, For: time.Minute},
		observe.TrustLow{}, observe.SessionSampled{Client: 1, Holds: 1, Watches: 5, Deletions: 6, TrustLeft: time.Minute},
		observe.HeartbeatEnded{Client: 1, Err: failed},
	}
}

// The package's documentation lists every metric with its unit, kind and attributes.
func TestDocumentationListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	var listed, made []string
	for _, m := range regexp.MustCompile(`(?m)^//\t((?:zkrecipes|db)\.\S+) +(\S+) +(.+)$`).FindAllStringSubmatch(string(text), -1) {
		listed = append(listed, strings.Join(m[1:], " "))
	}
	_, metrics := observed(t, everyEvent()...)
	for _, m := range metrics() {
		kind, keys, _ := points(t, m)
		line := m.Name + " " + m.Unit + " " + kind
		if len(keys) > 0 {
			line += ": " + strings.Join(slices.Sorted(maps.Keys(keys)), ", ")
		}
		made = append(made, line)
	}
	require.ElementsMatch(t, made, listed)
}

func TestEveryEventIsCounted(t *testing.T) {
	_, metrics := observed(t, everyEvent()...)
	got := map[string]float64{}
	for _, m := range metrics() {
		_, _, sum := points(t, m)
		got[strings.TrimPrefix(m.Name, "zkrecipes.")] = sum
	}
	require.InDelta(t, 60, got["session.trust_left"], 1)
	require.InDelta(t, 60, got["session.disconnected"], 1)
	delete(got, "session.trust_left")
	delete(got, "session.disconnected")
	require.Equal(t, map[string]float64{
		"wait.duration": 1, "wait.active": 0, "hold.duration": 1, "hold.active": 0, "barrier.rounds": 1,
		"batch.duration": 1, "batch.operations": 3, "batch.conflicts": 2, "transaction.duration": 2, "transaction.attempts": 3,
		"outcome.unknown": 2, "outcome.unresolved": 3, "cache.load.duration": 1, "cache.running": 0, "cache.current": 0, "cache.entries": 0,
		"member.changes": 1, "rebalance.duration": 1, "assignment.duration": 1, "rebalance.moves": 4, "rebalance.members": 2, "rebalance.resources": 7, "task.changes": 2, "task.state.duration": 1,
		"session.clients": 1, "session.changes": 1, "session.holds": 1, "session.watches": 5, "session.deletions": 6,
		"session.trust_low": 1, "session.heartbeat": 1, "db.client.operation.duration": 3,
	}, got)
}

// Events have totals, of which the counters have the sum: of the running caches, and of the
// last valid assignment of each group.
func TestTotalsOfCachesAndGroupsAreAddedUp(t *testing.T) {
	see, metrics := observed(t)
	want := func(name string, sum float64) {
		t.Helper()
		for _, m := range metrics() {
			if m.Name == "zkrecipes."+name {
				_, _, got := points(t, m)
				require.InDelta(t, sum, got, 0, name)
				return
			}
		}
		require.Failf(t, "missing", "%s", name)
	}
	for _, e := range []observe.Event{
		observe.CacheBegun{Cache: 1, Path: "/c"}, observe.CacheSynced{Cache: 1, Path: "/c", Entries: 3},
		observe.CacheBegun{Cache: 2, Path: "/c"}, observe.CacheSynced{Cache: 2, Path: "/c", Entries: 4},
	} {
		see(e)
	}
	want("cache.entries", 7)
	see(observe.CacheStale{Cache: 1, Path: "/c"})
	want("cache.entries", 7)
	see(observe.CacheSynced{Cache: 1, Path: "/c", Entries: 1, Again: true})
	want("cache.entries", 5)
	see(observe.CacheStale{Cache: 2, Path: "/c"})
	see(observe.CacheEnded{Cache: 2, Path: "/c"})
	want("cache.entries", 1)
	for _, e := range []observe.Rebalanced{
		{Path: "/a", Members: 2, Resources: 10},
		{Path: "/b", Members: 3, Resources: 5},
		{Path: "/a", Members: 1, Resources: 9},
		{Path: "/b", Err: errors.New("no valid assignment")},
	} {
		see(e)
	}
	want("rebalance.members", 4)
	want("rebalance.resources", 14)
	for _, path := range []string{"/b", "/b", "/c"} {
		see(observe.CoordinationEnded{Path: path})
	}
	want("rebalance.members", 1)
	want("rebalance.resources", 9)
}

// Trust becomes less from collection to collection, and ends with the session.
func TestTrustAndOutagesAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		see, metrics := observed(t)
		value := func(name string) float64 {
			for _, m := range metrics() {
				if m.Name == "zkrecipes.session."+name {
					_, _, sum := points(t, m)
					return sum
				}
			}
			return -1
		}
		require.InDelta(t, -1, value("trust_left"), 0, "nothing is held")
		see(observe.SessionSampled{Client: 1, Holds: 1, TrustLeft: 7 * time.Second})
		time.Sleep(2 * time.Second)
		require.InDelta(t, 5, value("trust_left"), 0.001)
		see(observe.HeartbeatEnded{Client: 1, Holds: 1, TrustLeft: 6 * time.Second})
		require.InDelta(t, 6, value("trust_left"), 0.001)
		see(observe.NoConnection{Client: 1, For: time.Second})
		time.Sleep(9 * time.Second)
		require.InDelta(t, 0, value("trust_left"), 0)
		require.InDelta(t, 10, value("disconnected"), 0.001)
		see(observe.SessionChanged{Client: 1, Status: "lost", Before: "suspended"})
		require.InDelta(t, -1, value("trust_left"), 0)
		see(observe.SessionChanged{Client: 1, Status: "connected", Before: "lost"})
		require.InDelta(t, 0, value("disconnected"), 0)
	})
}

// Results are words with "_", as everywhere; only a request that has failed has the attribute
// error.type, as the semantic conventions demand.
func TestRequestsThatHaveFailedHaveAnErrorType(t *testing.T) {
	_, metrics := observed(t)
	got := map[string]string{}
	for _, m := range metrics() {
		if d, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "db.client.operation.duration" {
			for _, p := range d.DataPoints {
				result, _ := p.Attributes.Value("zkrecipes.result")
				class, _ := p.Attributes.Value("error.type")
				got[result.AsString()] = class.AsString()
			}
		}
	}
	require.Equal(t, map[string]string{"ok": "", "negative": "", "not_sent": "expired"}, got)
}

func TestErrorsHaveClasses(t *testing.T) {
	for want, err := range map[string]error{
		"expired":          fmt.Errorf("lock: %w: %w", session.ErrLost, session.ErrExpired),
		"trust_ran_out":    fmt.Errorf("%w: %w: %w", session.ErrLost, session.ErrTrustRanOut, context.Canceled),
		"node_deleted":     fmt.Errorf("%w: %w", session.ErrLost, session.ErrNodeDeleted),
		"closed":           fmt.Errorf("%w: %w", session.ErrLost, session.ErrClosed),
		"lost":             fmt.Errorf("%w: another client has changed its znode", session.ErrLost),
		"canceled":         fmt.Errorf("lock: %w", context.Canceled),
		"deadline":         context.DeadlineExceeded,
		"refused":          &session.OpError{Op: "create", Path: "/l", Err: session.ErrNoAuth},
		"unknown_outcome":  session.ErrUnknownOutcome,
		"invalid_argument": session.ErrInvalidArgument,
		"_OTHER":           errors.New("broken"),
	} {
		_, metrics := observed(t, observe.HeartbeatEnded{Err: err})
		var got []string
		for _, m := range metrics() {
			if d, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "zkrecipes.session.heartbeat" {
				v, _ := d.DataPoints[0].Attributes.Value("error.type")
				got = append(got, v.AsString())
			}
		}
		require.Equal(t, []string{want}, got)
	}
}

// A transaction whose function writes nothing has not failed.
func TestDeclinedTransactionsAreNoFailures(t *testing.T) {
	_, metrics := observed(t, observe.TransactionEnded{Attempts: 1, Err: errors.New("the account is empty"), Declined: true})
	for _, m := range metrics() {
		if d, ok := m.Data.(metricdata.Histogram[float64]); ok && m.Name == "zkrecipes.transaction.duration" {
			v, _ := d.DataPoints[0].Attributes.Value("zkrecipes.result")
			require.Equal(t, "declined", v.AsString())
		}
	}
}
