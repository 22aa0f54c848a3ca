package value_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/value"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server, and round trips by the clock.

// cost wants do to make these requests, in n round trips.
func (w *World) cost(c *session.Client, trips int, want map[string]int, do func()) {
	w.Helper()
	const oneWay = 10 * time.Millisecond
	w.Settle()
	w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
	w.ResetStats()
	began := time.Now()
	do()
	took := time.Since(began)
	w.Server.Heal()
	got := w.Server.Stats().BySession[w.ID(c)]
	delete(got, "ping")
	require.Equal(w, want, got)
	require.Equal(w, time.Duration(trips)*2*oneWay, took, "round trips")
}

func TestCosts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/values", nil))
		client := w.Client()
		v := value.New(client, path, nil)
		one, two := map[string]int{"multi": 1}, map[string]int{"multi": 1, "getData": 1}
		w.cost(client, 1, two, func() { require.False(w, w.get(v).Exists) })
		if world.Has(world.CreationsWithStat) {
			w.cost(client, 4, map[string]int{"create2": 3, "getData": 2, "multi": 1}, func() { w.set(v, "a") })
		} else {
			w.set(v, "a")
		}
		w.cost(client, 1, one, func() { w.set(v, "b") })
		w.cost(client, 1, one, func() { w.swap(v, "b", "c", true) })
		w.cost(client, 1, one, func() { w.add(v, "d", "cd") })
		w.cost(client, 1, two, func() { w.swap(v, "b", "c", false) })
		w.cost(client, 1, two, func() { w.add(v, "", "cd") })
		var seen value.State
		w.cost(client, 1, two, func() { seen = w.get(v) })
		w.cost(client, 1, one, func() { w.try(v, seen, "e", true) })
		w.overwrite("f")
		w.cost(client, 3, map[string]int{"multi": 2, "getData": 2}, func() { w.add(v, "g", "fg") })
		w.Expire(client)
		w.Pass(time.Minute)
		w.cost(client, 1+world.RoundTripsOfCreation(), world.Requests(map[string]int{"create2": 1, "getData": 1, "multi": 1}), func() { w.add(v, "h", "fgh") })
	})
}

// For a watcher, a changed state is one event and one read.
func TestWatchedChangeIsOneRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.make("")
		want := ""
		for now, err := range value.New(client, path, nil).Watch(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, want, string(now.Data))
			if want != "" {
				require.Equal(w, map[string]int{"getData": 1}, w.Server.Stats().BySession[w.ID(client)])
			}
			if want += "x"; len(want) == 4 {
				break
			}
			w.Settle()
			w.ResetStats()
			w.overwrite(want)
		}
		w.Settle()
		w.RequireNoWatches()
	})
}
