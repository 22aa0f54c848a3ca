package election_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server, and round trips by the clock.

const oneWay = 10 * time.Millisecond

// cost returns the costs of do for c: requests by name, and round trips.
func (w *World) cost(c *session.Client, do func()) (requests map[string]int, trips int) {
	w.Helper()
	w.Settle()
	w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
	w.ResetStats()
	began := time.Now()
	do()
	took := time.Since(began)
	require.Zero(w, took%(2*oneWay), "%v", took)
	requests = w.Server.Stats().BySession[w.ID(c)]
	delete(requests, "ping")
	if requests == nil {
		requests = map[string]int{}
	}
	w.Server.Heal()
	return requests, int(took / (2 * oneWay))
}

func TestStandingIsTwoRequestsAndAwaitingThreeMore(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.line(20)
		c := w.Client()
		var k *election.Candidacy
		counts, trips := w.cost(c, func() { k = w.stand(elector(c, "me")) })
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 1}), counts)
		require.Equal(w, world.RoundTripsOfCreation(), trips)
		counts, _ = w.cost(c, func() {
			_, err := k.Await(w.Within(10 * oneWay))
			require.Error(w, err)
		})
		require.Equal(w, map[string]int{"getChildren2": 1, "getData": 2}, counts, "a list and two watches, whatever the length of the queue")
		counts, trips = w.cost(c, func() { require.NoError(w, k.Withdraw(w.Ctx)) })
		require.Equal(w, 1, trips)
		require.Equal(w, 1, counts["delete"])
		w.Settle()
		require.LessOrEqual(w, counts["removeWatches"], 2)
	})
}

func TestReadsAreCountedAndBehindASync(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		e := elector(c, "me")
		counts, trips := w.cost(c, func() { require.Empty(w, w.leaderID(e)) })
		require.Equal(w, map[string]int{"sync": 1, "getChildren2": 2, "multi": 1}, counts, "a majority confirms that there is no leader")
		require.Equal(w, 2, trips)
		w.line(5)
		counts, trips = w.cost(c, func() { require.Equal(w, "c1", w.leaderID(e)) })
		require.Equal(w, map[string]int{"sync": 1, "getChildren2": 1, "getData": 2}, counts, "the leader, and what it has proclaimed")
		require.Equal(w, 2, trips)
		counts, trips = w.cost(c, func() {
			list, err := e.Candidates(w.Ctx)
			require.NoError(w, err)
			require.Len(w, list, 5)
		})
		require.Equal(w, map[string]int{"sync": 1, "getChildren2": 3, "getData": 6}, counts, "also those outside and those with a priority, and the proclaimed value")
		require.Equal(w, 4, trips)
	})
}

func TestObserverReadsThriceAtFirstAndAfterEachChange(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.line(3)
		c := w.Client()
		w.ResetStats()
		v := w.observe(w.Ctx, elector(c, ""))
		require.Equal(w, map[string]int{"sync": 1, "getChildren2": 1, "getData": 1, "exists": 1}, w.Server.Stats().BySession[w.ID(c)])
		w.ResetStats()
		w.resign(w.leads(q.outs[0]))
		w.Settle()
		require.Equal(w, world.Requests(map[string]int{"getChildren2": 1, "getData": 1, "exists": 1, "removeWatches": 1}), w.Server.Stats().BySession[w.ID(c)])
		require.Equal(w, []string{"c1", "c2"}, v.ids())
		w.ResetStats()
		w.Pass(time.Hour)
		require.Zero(w, w.Requests(c), "nothing is polled")
	})
}
