package prom_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/observe/prom"
	"github.com/zkrecipes/zkrecipes/rebalanser"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Caches that share a label are current when all of them are.
func TestACacheDoesNotHideThatAnotherIsStale(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := prom.New(nil)
		see := func(e observe.Event) { o.Observe(context.Background(), e) }
		want := func(synced, stale, entries float64) {
			t.Helper()
			require.InDelta(t, synced, value(t, o, "cache_synced", "path=/c"), 0)
			require.InDelta(t, stale, value(t, o, "cache_stale_seconds", "path=/c"), 0)
			require.InDelta(t, entries, value(t, o, "cache_entries", "path=/c"), 0)
		}
		want(-1, -1, -1)
		see(observe.CacheBegun{Cache: 1, Path: "/c"})
		time.Sleep(time.Second)
		want(0, 1, 0)
		see(observe.CacheSynced{Cache: 1, Path: "/c", Entries: 3})
		see(observe.CacheBegun{Cache: 2, Path: "/c"})
		see(observe.CacheSynced{Cache: 2, Path: "/c", Entries: 4})
		want(1, 0, 7)
		see(observe.CacheStale{Cache: 1, Path: "/c"})
		time.Sleep(2 * time.Second)
		see(observe.CacheStale{Cache: 2, Path: "/c"})
		time.Sleep(3 * time.Second)
		see(observe.CacheSynced{Cache: 2, Path: "/c", Entries: 4, Again: true})
		want(0, 5, 7)
		see(observe.CacheEnded{Cache: 1, Path: "/c", Err: context.Canceled})
		want(1, 0, 4)
		see(observe.CacheStale{Cache: 1, Path: "/c"}) // of no running cache
		want(1, 0, 4)
	})
}

func TestGroupsOfALabelAreAddedUp(t *testing.T) {
	o := prom.New(&prom.Options{PathLabel: func(observe.Kind, string) string { return "all" }})
	for _, e := range []observe.Rebalanced{
		{Path: "/a", Members: 2, Resources: 10},
		{Path: "/b", Members: 3, Resources: 5},
		{Path: "/a", Members: 1, Resources: 9},
		{Path: "/b", Err: errors.New("no valid assignment")},
	} {
		o.Observe(context.Background(), e)
	}
	require.InDelta(t, 4, value(t, o, "rebalance_members", "path=all"), 0)
	require.InDelta(t, 14, value(t, o, "rebalance_resources", "path=all"), 0)
}

// Trust becomes less from scrape to scrape, without any event.
func TestTrustAges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := prom.New(nil)
		ctx := context.Background()
		left := func() float64 { return value(t, o, "trust_left_seconds") }
		o.Observe(ctx, observe.SessionSampled{Client: 1, Holds: 1, TrustLeft: 7 * time.Second})
		time.Sleep(2 * time.Second)
		require.InDelta(t, 5, left(), 0.001)
		o.Observe(ctx, observe.HeartbeatEnded{Client: 1, Holds: 1, TrustLeft: 6 * time.Second})
		require.InDelta(t, 6, left(), 0.001)
		o.Observe(ctx, observe.HeartbeatEnded{Client: 2, Holds: 1, TrustLeft: time.Second})
		require.InDelta(t, 6, left(), 0.001, "a client without a sample")
		time.Sleep(time.Minute)
		require.InDelta(t, 0, left(), 0)
	})
}

func TestUnknownTimesOfTasksAreNotMeasured(t *testing.T) {
	o := prom.New(nil)
	for _, took := range []time.Duration{0, time.Second, 0} {
		o.Observe(context.Background(), observe.TaskChanged{Path: "/q", From: "waiting", To: "assigned", Took: took})
	}
	require.InDelta(t, 1, value(t, o, "task_state_seconds", "path=/q", "state=waiting"), 0)
	require.InDelta(t, 3, value(t, o, "task_changes_total", "from=waiting", "path=/q", "to=assigned"), 0)
}

// A counter that appears with its first event has no increase then: an alert would miss the
// first loss, which is often the only one.
func TestRareEventsAreCountedFromZero(t *testing.T) {
	o := prom.New(nil)
	ctx := context.Background()
	for _, status := range []string{"connected", "suspended", "lost", "closed"} {
		require.InDelta(t, 0, value(t, o, "session_changes_total", "status="+status), 0, status)
	}
	for _, what := range []string{"counter", "transaction", "barrier", "job", "tasks"} {
		require.InDelta(t, 0, value(t, o, "unresolved_outcomes_total", "what="+what), 0, what)
	}
	losses := func() float64 { return value(t, o, "losses_total", "kind=lock", "path=/l") }
	require.InDelta(t, -1, losses(), 0)
	for i, c := range []struct {
		end    observe.End
		losses float64
	}{{observe.Released, 0}, {observe.Unconfirmed, 0}, {observe.HandedOver, 0}, {observe.Lost, 1}, {observe.Lost, 2}} {
		h := observe.Hold{ID: uint64(i + 1), Kind: observe.Lock, Path: "/l"}
		before := max(0, losses())
		o.Observe(ctx, observe.HoldBegun{Hold: h})
		require.InDelta(t, before, losses(), 0)
		o.Observe(ctx, observe.HoldEnded{Hold: h, End: c.end, Err: session.ErrLost})
		require.InDelta(t, c.losses, losses(), 0, c.end)
	}
}

// The first task that fails, and the first worker that dies, come after other changes.
func TestFailuresOfTasksAndWorkersAreCountedFromZero(t *testing.T) {
	o := prom.New(nil)
	failures := func() map[string]float64 {
		return map[string]float64{
			"dead":   value(t, o, "task_changes_total", "from=assigned", "path=/q", "to=dead"),
			"failed": value(t, o, "task_changes_total", "from=waiting", "path=/q", "to=failed"),
			"died":   value(t, o, "member_changes_total", "change=died", "path=/j"),
		}
	}
	require.Equal(t, map[string]float64{"dead": -1, "failed": -1, "died": -1}, failures(), "no series")
	o.Observe(context.Background(), observe.TaskChanged{Path: "/q", Task: "t", To: "waiting"})
	o.Observe(context.Background(), observe.MemberChanged{Path: "/j", Change: "joined"})
	require.Equal(t, map[string]float64{"dead": 0, "failed": 0, "died": 0}, failures())
	o.Observe(context.Background(), observe.TaskChanged{Path: "/q", Task: "t", From: "assigned", To: "dead", Attempt: 1})
	o.Observe(context.Background(), observe.MemberChanged{Path: "/j", Change: "died"})
	require.Equal(t, map[string]float64{"dead": 1, "failed": 0, "died": 1}, failures())
}

// A transaction whose function writes nothing has not failed.
func TestDeclinedTransactionsAreNoFailures(t *testing.T) {
	o := prom.New(nil)
	o.Observe(context.Background(), observe.TransactionEnded{Attempts: 1, Err: errors.New("the account is empty"), Declined: true})
	o.Observe(context.Background(), observe.BatchWritten{Path: "/v", Operations: 1, Err: errors.New("the account is empty"), Declined: true})
	require.InDelta(t, 1, value(t, o, "batch_seconds", "path=/v", "result=declined"), 0)
	require.InDelta(t, 1, value(t, o, "transaction_seconds", "result=declined"), 0)
	require.InDelta(t, -1, value(t, o, "transaction_seconds", "result=failed"), 0)
}

// A group is counted by the process that coordinates it, and not after that.
func TestGroupIsCountedWhileItIsCoordinated(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	o := prom.New(nil)
	c, err := session.Connect(ctx, srv.Addr(), &session.Options{Observer: o})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	group := rebalanser.Open(c, "/shares", nil)
	require.NoError(t, group.Create(ctx))
	_, err = group.AddResources(ctx, "r1", "r2")
	require.NoError(t, err)
	eventually := func(members, resources float64) {
		t.Helper()
		require.Eventually(t, func() bool {
			return value(t, o, "rebalance_members", "path=/shares") == members && value(t, o, "rebalance_resources", "path=/shares") == resources
		}, time.Minute, 5*time.Millisecond)
	}
	running, stop := context.WithCancel(ctx)
	defer stop()
	use := func(ctx context.Context, _ *rebalanser.Resource) error { <-ctx.Done(); return nil }
	ended := make(chan error, 1)
	// Waited for below; ends with running.
	go func() { ended <- rebalanser.New(c, "/shares", rebalanser.Each(use), nil).Run(running) }()
	eventually(1, 2)
	o.Observe(ctx, observe.Rebalanced{Path: "/other", Members: 3})
	stop()
	require.NoError(t, <-ended)
	eventually(-1, -1)
	require.InDelta(t, 3, value(t, o, "rebalance_members", "path=/other"), 0)
}
