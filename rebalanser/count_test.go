package rebalanser_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// requests are the requests of some members since the last ResetStats, by
// operation: without pings and heartbeats.
func (w *World) requests(nodes ...*node) map[string]int {
	w.Helper()
	all := map[string]int{}
	stats := w.Server.Stats()
	for _, n := range nodes {
		for op, k := range stats.BySession[w.ID(n.client)] {
			if op != "ping" && op != "connect" {
				all[op] += k
			}
		}
	}
	return all
}

// cost is the number of these members' requests for f, until everything is at
// rest: too short for a heartbeat.
func (w *World) cost(f func(), nodes ...*node) map[string]int {
	w.Helper()
	w.Pass(20 * time.Millisecond)
	w.ResetStats()
	f()
	w.Pass(20 * time.Millisecond)
	return w.requests(nodes...)
}

// total is the sum of the requests.
func total(counts map[string]int) (n int) {
	for _, k := range counts {
		n += k
	}
	return n
}

// joins is the cost of a third member's join for each of the three members, and
// the number of moved resources.
func (w *World) joins(resources int) (coordinator, other, third map[string]int, moved int) {
	w.Helper()
	w.stock(resources)
	c1 := w.node("c1", rebalanser.Options{}).run()
	w.Pass(20 * time.Millisecond)
	c2 := w.node("c2", rebalanser.Options{}).run()
	w.Pass(20 * time.Millisecond)
	c3 := w.node("c3", rebalanser.Options{})
	coordinator = w.cost(func() { c3.run() }, c1)
	require.NoError(w, w.err())
	return coordinator, w.requests(c2), w.requests(c3), len(w.of("c3"))
}

// In resource mode a moving resource is read at most twice, and written in
// batches: the coordinator itself sends no request per resource. R22, R24, R26.
func TestRebalancingOfResourceModeCosts_R19_R20(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		coordinator, other, third, moved := w.joins(60)
		require.Equal(w, 20, moved)
		require.Equal(w, map[string]int{"getChildren2": 1, "getData": 2, "multi": 2}, coordinator,
			"list the clients, read the new one, write the shards; read the own, release")
		require.Equal(w, map[string]int{"getData": 1, "multi": 1}, other, "read the shard, release")
		require.LessOrEqual(w, third["getData"], 4+2*moved+2*2, "each barrier and each owner: each try")
		require.LessOrEqual(w, third["multi"], 1+2, "before the reads for joining; each try")
		require.LessOrEqual(w, third["exists"], 2+2*2, "each try, one per releasing owner and two more: itself, the folder")
		require.Equal(w, 2, third["create2"]+third["create"])
	})
	many := 6000
	if testing.Short() {
		many = 3000
	}
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		coordinator, other, third, moved := w.joins(many)
		require.Equal(w, many/3, moved)
		require.Equal(w, 1, coordinator["getChildren2"])
		require.LessOrEqual(w, total(coordinator), 10, "%v", coordinator)
		require.LessOrEqual(w, total(other), 6, "%v", other)
		require.LessOrEqual(w, third["getData"], 4+2*moved+2*2)
		require.LessOrEqual(w, third["multi"], 12, "by 500: %v", third)
	})
}

// In global mode the number of resources does not matter. All members stop, get their
// assignments, and start: R39, R40, R41, R42, R43, R44, R45.
func TestRebalancingOfGlobalModeCosts_R37_R38(t *testing.T) {
	for _, resources := range []int{60, 6000} {
		inWorld(t, rebalanser.GlobalBarrier, nil, func(w *World) {
			coordinator, other, third, moved := w.joins(resources)
			require.Equal(w, resources/3, moved)
			require.Equal(w, 4, coordinator["multi"], "the shards, and the status three times: %v", coordinator)
			require.LessOrEqual(w, coordinator["getChildren2"], 1+4+2*3,
				"the clients; the acknowledgments, after each that came or went: %v", coordinator)
			for _, c := range []map[string]int{coordinator, other} {
				require.Equal(w, 1, c["create2"]+c["create"], "the report of the stop")
				require.Equal(w, 1, c["delete"], "the report of the start")
			}
			base := 0
			if resources == 6000 {
				base = 1 // a third of the shard has gone, so that there is a new base
			}
			require.Equal(w, world.Requests(map[string]int{"create2": 1, "exists": 1, "delete": 1, "getData": 4 + base}), other, "the status three times, the shard and its base once")
			require.Equal(w, 3, third["create2"]+third["create"])
			require.LessOrEqual(w, total(third), 17+base+3*(world.RoundTripsOfCreation()-1), "%v", third)
		})
	}
}

// A member not concerned by a change sends no request. X13.
func TestMembersThatKeepWhatTheyHaveAskNothing_R21(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		a := w.stock(4)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(20 * time.Millisecond)
		c2 := w.node("c2", rebalanser.Options{Subscription: []string{"r00", "x*"}}).run()
		w.Pass(20 * time.Millisecond)
		require.Equal(w, []string{"r00"}, w.of("c2"))
		cost := w.cost(func() {
			_, err := a.AddResources(w.Ctx, "y1", "y2", "y3")
			require.NoError(w, err)
		}, c2)
		require.Empty(w, cost)
		require.Len(w, w.of("c1"), 6)
		_ = c1
	})
}

func TestAdministrationCostsRequestsByTheHundred(t *testing.T) {
	inBoth(t, func(w *World) {
		c := w.Client()
		a := rebalanser.Open(c, path, &rebalanser.Options{Mode: w.mode})
		require.NoError(w, a.Create(w.Ctx))
		cost := func(f func()) int {
			w.ResetStats()
			f()
			return w.Requests(c)
		}
		many := names(2000)
		const few = 1 + 2 // a transaction ahead; the folder, and the resource
		require.Equal(w, 3+4, cost(func() { _, err := a.AddResources(w.Ctx, many...); require.NoError(w, err) }))
		require.Equal(w, 3, cost(func() { _, err := a.AddResources(w.Ctx, many...); require.NoError(w, err) }), "they are there")
		require.Equal(w, few+1, cost(func() { _, err := a.AddResources(w.Ctx, "x"); require.NoError(w, err) }))
		require.Equal(w, few, cost(func() { _, err := a.AddResources(w.Ctx, "x"); require.NoError(w, err) }), "it is there")
		require.Equal(w, few+1, cost(func() { _, err := a.RemoveResources(w.Ctx, "x"); require.NoError(w, err) }))
		require.Equal(w, 2, cost(func() { _, err := a.Resources(w.Ctx); require.NoError(w, err) }))
		require.Equal(w, 3, cost(func() { require.NoError(w, a.Pause(w.Ctx)) }))
		require.Equal(w, 3, cost(func() { require.NoError(w, a.Resume(w.Ctx)) }))
		require.Equal(w, 10, cost(func() { w.status(a) }), "no members")
		require.Equal(w, 3+4, cost(func() { _, err := a.RemoveResources(w.Ctx, many...); require.NoError(w, err) }))
	})
}

// The group waits while it has no coordinator: a member that takes over raises the epoch
// with one read and one transaction.
func TestTakingOverCostsOneReadAndOneTransactionMore(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inBoth(t, func(w *World) {
		w.stock(12)
		c1 := w.node("c1", rebalanser.Options{}).run()
		w.Pass(20 * time.Millisecond)
		c2 := w.node("c2", rebalanser.Options{}).run()
		w.Pass(20 * time.Millisecond)
		cost := w.cost(c1.stop, c2)
		require.Len(w, w.of("c2"), 12)
		want := map[rebalanser.Mode]map[string]int{
			rebalanser.ResourceBarrier: {"addWatch": 1, "exists": 1, "getData": 13, "multi": 3},
			rebalanser.GlobalBarrier:   {"addWatch": 1, "create2": 1, "delete": 1, "exists": 1, "getData": 11, "multi": 5},
		}
		// One listing can show several changes.
		lists := map[rebalanser.Mode]int{rebalanser.ResourceBarrier: 4, rebalanser.GlobalBarrier: 8}
		require.LessOrEqual(w, cost["getChildren2"], lists[w.mode])
		delete(cost, "getChildren2")
		require.Equal(w, want[w.mode], cost)
	})
}
