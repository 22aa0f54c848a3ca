package prom_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/observe/prom"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// value is the value of a gauge or counter with exactly these labels, or the number of
// observations of a histogram; -1 if there is none.
func value(t *testing.T, o *prom.Observer, name string, labels ...string) float64 {
	t.Helper()
	r := prometheus.NewPedanticRegistry()
	require.NoError(t, r.Register(o))
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() != "zkrecipes_"+name {
			continue
		}
		for _, m := range f.GetMetric() {
			var got []string
			for _, l := range m.GetLabel() {
				got = append(got, l.GetName()+"="+l.GetValue())
			}
			if strings.Join(got, ",") != strings.Join(labels, ",") {
				continue
			}
			switch {
			case m.GetGauge() != nil:
				return m.GetGauge().GetValue()
			case m.GetCounter() != nil:
				return m.GetCounter().GetValue()
			}
			return float64(m.GetHistogram().GetSampleCount())
		}
	}
	return -1
}

func TestLockIsSeenWhileItIsAwaitedHeldAndLost(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	metrics := prom.New(nil)
	c, err := session.Connect(ctx, srv.Addr(), &session.Options{Observer: metrics})
	require.NoError(t, err)
	labels := []string{"kind=lock", "path=/locks/a"}

	m := lock.New(c, "/locks/a", nil)
	h, err := m.Lock(ctx)
	require.NoError(t, err)
	require.InDelta(t, 1, value(t, metrics, "held", labels...), 0)
	require.InDelta(t, 0, value(t, metrics, "waiting", labels...), 0)
	within, give := context.WithTimeout(ctx, 50*time.Millisecond)
	defer give()
	_, err = m.Lock(within)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.InDelta(t, 1, value(t, metrics, "wait_seconds", append(labels, "result=given_up")...), 0)
	require.Positive(t, value(t, metrics, "oldest_hold_seconds", labels...))
	require.NoError(t, h.Unlock(ctx))
	require.InDelta(t, 0, value(t, metrics, "held", labels...), 0)
	require.InDelta(t, 1, value(t, metrics, "hold_seconds", "end=released", "kind=lock", "path=/locks/a"), 0)

	h, err = m.Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, srv.ExpireSession(h.Session().ID()))
	<-h.Context().Done()
	require.Eventually(t, func() bool {
		return value(t, metrics, "hold_seconds", "end=lost", "kind=lock", "path=/locks/a") == 1
	}, 10*time.Second, time.Millisecond)
	require.Positive(t, value(t, metrics, "requests_total", "op=create", "result=ok"))
	require.InDelta(t, -1, value(t, metrics, "requests_total", "op=create", "result=refused"), 0)
	require.NoError(t, c.Close(ctx))
	require.InDelta(t, 1, value(t, metrics, "session_changes_total", "status=closed"), 0)
	for _, status := range []string{"connected", "lost"} {
		require.InDelta(t, 0, value(t, metrics, "clients", "status="+status), 0, status)
	}
}

func TestWaitThatDoesNotEndHasAnAge(t *testing.T) {
	o := prom.New(nil)
	w := observe.Wait{ID: 7, Kind: observe.ReadLock, Path: "/l", Begun: time.Now().Add(-time.Hour)}
	o.Observe(context.Background(), observe.WaitBegun{Wait: w})
	require.InDelta(t, 3600, value(t, o, "oldest_wait_seconds", "kind=read_lock", "path=/l"), 60)
	o.Observe(context.Background(), observe.WaitEnded{Wait: w, Took: time.Hour, Err: errors.New("refused")})
	require.InDelta(t, -1, value(t, o, "oldest_wait_seconds", "kind=read_lock", "path=/l"), 0)
	require.InDelta(t, 1, value(t, o, "wait_seconds", "kind=read_lock", "path=/l", "result=failed"), 0)
}

func TestOutageHasAnAgeUntilTheClientIsConnected(t *testing.T) {
	o := prom.New(nil)
	ctx := context.Background()
	o.Observe(ctx, observe.SessionChanged{Client: 1, Status: "connected", Before: "connecting", Session: 5})
	o.Observe(ctx, observe.SessionChanged{Client: 1, Status: "suspended", Before: "connected", Session: 5})
	o.Observe(ctx, observe.NoConnection{Client: 1, Session: 5, For: time.Minute})
	o.Observe(ctx, observe.NoConnection{Client: 2, Session: 6, For: 6 * time.Second})
	require.InDelta(t, 60, value(t, o, "disconnected_seconds"), 5)
	require.InDelta(t, 1, value(t, o, "clients", "status=suspended"), 0)
	o.Observe(ctx, observe.SessionChanged{Client: 1, Status: "connected", Before: "suspended", Session: 9})
	require.InDelta(t, 6, value(t, o, "disconnected_seconds"), 5, "the other client's")
}

func TestSamplesOfSessionsAreAddedUpUntilTheyEnd(t *testing.T) {
	o := prom.New(nil)
	ctx := context.Background()
	require.InDelta(t, -1, value(t, o, "trust_left_seconds"), 0, "nothing is held")
	o.Observe(ctx, observe.SessionSampled{Client: 1, Holds: 2, Watches: 3, TrustLeft: 5 * time.Second})
	o.Observe(ctx, observe.SessionSampled{Client: 2, Holds: 1, Watches: 4, TrustLeft: 7 * time.Second, Deletions: 1})
	o.Observe(ctx, observe.SessionSampled{Client: 3, Watches: 1})
	require.InDelta(t, 3, value(t, o, "session_holds"), 0)
	require.InDelta(t, 8, value(t, o, "session_watches"), 0)
	require.InDelta(t, 1, value(t, o, "session_deletions"), 0)
	require.InDelta(t, 5, value(t, o, "trust_left_seconds"), 1)
	o.Observe(ctx, observe.SessionChanged{Client: 1, Status: "lost", Before: "suspended"})
	require.InDelta(t, 7, value(t, o, "trust_left_seconds"), 1)
	require.InDelta(t, 1, value(t, o, "session_holds"), 0)
}

func TestAMillionPathsAreFewLabels(t *testing.T) {
	o := prom.New(&prom.Options{MaxPaths: 10})
	for i := range 100_000 {
		w := observe.Wait{ID: uint64(i + 1), Kind: observe.Lock, Path: fmt.Sprintf("/users/%d", i)}
		o.Observe(context.Background(), observe.WaitBegun{Wait: w})
	}
	require.Equal(t, 11, testutil.CollectAndCount(o, "zkrecipes_waiting"))
	require.InDelta(t, 100_000-10, value(t, o, "waiting", "kind=lock", "path=other"), 0)

	o = prom.New(&prom.Options{PathLabel: func(observe.Kind, string) string { return "/users/*" }})
	for i := range 1000 {
		o.Observe(context.Background(), observe.BatchWritten{Path: fmt.Sprintf("/users/%d\xff", i), Operations: 2})
	}
	require.InDelta(t, 2000, value(t, o, "batch_operations_total", "path=/users/*"), 0)
}

func TestNamesFollowTheConventions(t *testing.T) {
	o := prom.New(nil)
	for _, e := range everyEvent() {
		o.Observe(context.Background(), e)
	}
	o.ObserveRequest(context.Background(), observe.Request{Op: "get", Result: observe.NotSent})
	problems, err := testutil.CollectAndLint(o)
	require.NoError(t, err)
	require.Empty(t, problems)
}

func everyEvent() []observe.Event {
	w := observe.Wait{ID: 1, Kind: observe.Lock, Path: "/l"}
	h := observe.Hold{ID: 1, Kind: observe.Lock, Path: "/l"}
	return []observe.Event{
		observe.WaitBegun{Wait: w}, observe.WaitQueued{Wait: w}, observe.WaitEnded{Wait: w},
		observe.HoldBegun{Hold: h}, observe.HoldEnded{Hold: h, End: observe.HandedOver},
		observe.RoundPassed{Path: "/b"}, observe.BatchWritten{Path: "/c", Operations: 1}, observe.TransactionEnded{Attempts: 1},
		observe.CacheBegun{Cache: 1, Path: "/t"}, observe.CacheSynced{Cache: 1, Path: "/t"}, observe.CacheStale{Cache: 1, Path: "/t"}, observe.CacheEnded{Cache: 2}, observe.MemberChanged{Path: "/j", Change: "died"},
		observe.Rebalanced{Path: "/r", Moves: 1}, observe.CoordinationEnded{Path: "/other"}, observe.AssignmentTaken{Path: "/r", Took: 1}, observe.TaskChanged{Path: "/q", From: "queued", To: "done", Took: 1},
		observe.SessionChanged{Status: "connected", Before: "connecting"}, observe.NoConnection{For: time.Second},
		observe.OutcomeUnknown{Recipe: "job", Path: "/j", Op: "scale", Err: session.ErrUnknownOutcome},
		observe.TrustLow{}, observe.HeartbeatEnded{}, observe.SessionSampled{Client: 1, Holds: 1},
	}
}

// A reply that was lost and found out is another thing than a call that has not found out.
func TestCallsThatLeaveAnOutcomeUnknownAreCounted(t *testing.T) {
	o := prom.New(nil)
	unknown := fmt.Errorf("%w: the connection is lost", session.ErrUnknownOutcome)
	for _, e := range []observe.Event{
		observe.BatchWritten{Path: "/c", Operations: 1, Unknown: 3}, observe.BatchWritten{Path: "/c", Operations: 1, Unknown: 1, Err: unknown},
		observe.TransactionEnded{Attempts: 1, Err: context.Canceled}, observe.TransactionEnded{Attempts: 1, Err: unknown},
		observe.OutcomeUnknown{Recipe: "barrier", Path: "/b", Op: "await", Err: unknown},
		observe.OutcomeUnknown{Recipe: "tasks", Path: "/q", Op: "submit to", Err: unknown},
		observe.OutcomeUnknown{Recipe: "tasks", Path: "/q", Op: "submit to", Err: unknown},
	} {
		o.Observe(context.Background(), e)
	}
	for what, want := range map[string]float64{"counter": 1, "transaction": 1, "barrier": 1, "tasks": 2, "job": 0} {
		require.InDelta(t, want, value(t, o, "unresolved_outcomes_total", "what="+what), 0, what)
	}
	require.InDelta(t, 4, value(t, o, "unknown_outcomes_total", "what=counter"), 0)
}

// The package's documentation lists every metric with its labels.
func TestDocumentationListsTheMetrics(t *testing.T) {
	text, err := os.ReadFile("doc.go")
	require.NoError(t, err)
	listed := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^//\t(zkrecipes_[a-z_]+)(?:\{([a-z,]*)\})? `).FindAllStringSubmatch(string(text), -1) {
		listed[m[1]+"{"+m[2]+"}"] = true
	}
	descs := make(chan *prometheus.Desc, 100)
	prom.New(nil).Describe(descs)
	close(descs)
	made := map[string]bool{}
	parts := regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		m := parts.FindStringSubmatch(d.String())
		made[m[1]+"{"+m[2]+"}"] = true
	}
	require.Equal(t, made, listed)
}
