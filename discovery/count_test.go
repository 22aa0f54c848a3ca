package discovery_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// cost runs op and says which requests it has made, and how many round trips it
// took.
func (w *World) cost(session int64, op func()) (map[string]int, int) {
	w.Helper()
	const oneWay = 10 * time.Millisecond
	w.Settle()
	w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
	w.ResetStats()
	began := time.Now()
	op()
	trips := time.Since(began)
	require.Zero(w, trips%(2*oneWay))
	out := w.Server.Stats().BySession[session]
	delete(out, "ping")
	w.Server.Heal()
	return out, int(trips / (2 * oneWay))
}

// Requests are counted at the server. The service exists, and trust is proved by
// another registration.
func TestRequestsOfEachOperation(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		for _, s := range []string{service, "api"} { // the paths exist
			i := instance("other")
			i.Service = s
			w.register(r, i)
		}
		var g *discovery.Registration
		for _, typ := range types {
			i := typed("one", typ)
			more := world.RoundTripsOfCreation() - 1 // a read of the stat each
			create, exists, trips := 1, 1+more, 1+more
			if typ == discovery.DynamicSequential {
				exists = more // its heartbeats watch it
			}
			got, n := w.cost(w.ID(c), func() { g = w.register(r, i) })
			require.Equal(w, create, got["create2"]+got["create"], typ)
			require.Equal(w, exists, got["exists"], typ)
			require.Equal(w, trips, n, typ)
			require.LessOrEqual(w, len(got), 3, "%v", got) // and a heartbeat, perhaps

			i.Port = 1
			got, n = w.cost(w.ID(c), func() { require.NoError(w, g.Update(w.Ctx, i)) })
			require.Equal(w, 1, got["setData"], typ)
			require.Equal(w, 1, n, typ)
			delete(got, "multi")
			require.LessOrEqual(w, got["exists"], 1, "the watch that the update has used up")
			delete(got, "exists")
			require.Len(w, got, 1, "%v", got)

			got, n = w.cost(w.ID(c), func() { require.NoError(w, g.Update(w.Ctx, i)) })
			require.Zero(w, got["setData"], "the same again is a look")
			require.Equal(w, 1, got["getData"], typ)
			require.LessOrEqual(w, got["multi"], 2, "the transaction that only checks, and a heartbeat, perhaps")
			delete(got, "multi")
			require.LessOrEqual(w, got["exists"], 1)
			delete(got, "exists")
			require.Len(w, got, 1, "%v", got)
			require.Equal(w, 1, n, typ)

			got, n = w.cost(w.ID(c), func() { require.NoError(w, g.Move(w.Ctx, "api", i)) })
			require.LessOrEqual(w, got["multi"], 2, "the transaction, and a heartbeat, perhaps")
			require.Equal(w, 2, n, typ)

			got, n = w.cost(w.ID(c), func() { w.unregister(g) })
			require.Equal(w, 1, got["delete"], typ)
			delete(got, "multi")
			require.Len(w, got, 1, "%v", got)
			require.Equal(w, 1, n, typ)
		}
	})
}

// A former znode is replaced by five requests: one to see what was in flight, the stats
// of directory and znode, the transaction, and the stat of the new znode.
func TestReplacingAFormerZnodeIsFiveRequests(t *testing.T) {
	for _, typ := range ephemerals {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			g := w.register(registry(c), typed("one", typ))
			w.silence(c, g)
			w.stateIs(g, registered)
			got := w.Server.Stats().BySession[w.ID(c)]
			require.Contains(w, []int{2, 3}, got["multi"], "%v: and a heartbeat, perhaps", got)
			require.Equal(w, 3, got["exists"])
			require.Zero(w, got["create2"]+got["create"]+got["delete"])
			w.unregister(g)
		})
	}
}

func TestReadingIsOneListAndOneReadEach(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		const n = 600 // more than are in progress at a time
		for k := range n {
			i := typed(fmt.Sprint("i", k), discovery.Static)
			w.unregisterLater(w.register(r, i))
		}
		got, trips := w.cost(w.ID(c), func() { require.Len(w, w.ids(r, service), n) })
		require.Equal(w, map[string]int{"getChildren2": 1, "getData": n}, got)
		require.LessOrEqual(w, trips, 2+n/256)
		got, trips = w.cost(w.ID(c), func() {
			_, err := r.Instance(w.Ctx, service, "i7")
			require.NoError(w, err)
		})
		require.Equal(w, map[string]int{"getData": 1}, got)
		require.Equal(w, 1, trips)
		got, _ = w.cost(w.ID(c), func() {
			_, err := r.Services(w.Ctx)
			require.NoError(w, err)
		})
		require.Equal(w, map[string]int{"getChildren2": 1}, got)
		got, trips = w.cost(w.ID(c), func() {
			_, err := r.ServiceCounts(w.Ctx)
			require.NoError(w, err)
		})
		require.Equal(w, map[string]int{"getChildren2": 1, "exists": 1}, got)
		require.Equal(w, 2, trips)
	})
}

func (w *World) unregisterLater(g *discovery.Registration) {
	w.Cleanup(func() { _ = g.Unregister(w.Ctx) })
}

// A change costs its watchers one read, however many instances there are.
func TestWatchingCostsOneReadPerChange(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		c, watcher := w.Client(), w.Client()
		r := registry(c)
		for k := range 100 {
			w.register(r, instance(fmt.Sprint("i", k)))
		}
		ctx := w.Within(time.Minute)
		seen := w.watch(ctx, registry(watcher), service)
		require.Len(w, seen.last(w), 100)
		got, _ := w.cost(w.ID(watcher), func() { w.register(r, instance("new")); w.Pass(100 * time.Millisecond) })
		require.Equal(w, map[string]int{"getData": 1}, got)
		require.Len(w, seen.last(w), 101)
	})
}

// While nothing happens only heartbeats are sent, one for all.
func TestKeepingCostsHeartbeatsOnly(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		r := registry(c)
		for k := range 10 {
			w.register(r, instance(fmt.Sprint("i", k)))
		}
		w.register(r, typed("static", discovery.Static))
		w.Pass(5 * time.Second)
		w.ResetStats()
		w.Pass(time.Minute)
		got := w.Server.Stats().BySession[w.ID(c)]
		delete(got, "ping")
		require.Len(w, got, 1, "%v", got)
		require.InDelta(w, time.Minute.Seconds()/w.Session(c).Heartbeat().Seconds(), got["multi"], 2)
	})
}
