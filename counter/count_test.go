package counter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server, and round trips by the clock.

// oneWay is the delay of a message, where relevant.
const oneWay = 10 * time.Millisecond

// cost wants do to make these requests, in n round trips.
func (w *World) cost(c *session.Client, trips int, want map[string]int, do func()) {
	w.Helper()
	w.Settle()
	w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
	w.ResetStats()
	began := time.Now()
	do()
	took := time.Since(began)
	w.Server.Heal()
	got := w.Server.Stats().BySession[w.ID(c)]
	delete(got, "ping")
	require.Equal(w, world.Requests(want), got)
	require.Equal(w, time.Duration(trips)*2*oneWay, took, "round trips")
}

func TestUncontendedChangeIsOneRequest(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		one := map[string]int{"multi": 1}
		w.cost(client, 1, one, func() { w.add(c, 1) })
		w.cost(client, 1, one, func() { require.NoError(w, c.Set(w.Ctx, 5)) })
		w.cost(client, 1, one, func() {
			ok, err := c.CompareAndSwap(w.Ctx, 5, 6)
			require.NoError(w, err)
			require.True(w, ok)
		})
		w.Pass(time.Hour) // known values do not expire
		w.cost(client, 1, one, func() { require.EqualValues(w, 7, w.add(c, 1)) })
	})
}

func TestReadIsTwoRequestsInOneRoundTrip(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		two := map[string]int{"multi": 1, "getData": 1}
		get := func() {
			_, err := c.Get(w.Ctx)
			require.NoError(w, err)
		}
		w.cost(client, 1, two, get) // also if there is nothing
		w.add(c, 1)
		w.cost(client, 1, two, get)
		w.cost(client, 1, two, func() {
			ok, err := c.CompareAndSwap(w.Ctx, 77, 78)
			require.NoError(w, err)
			require.False(w, ok)
		})
	})
}

func TestFirstChangeOfASessionIsThreeRequestsInTwoRoundTrips(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(1))
		client := w.Client()
		c := counter.New(client, path, nil)
		first := map[string]int{"create2": 1, "getData": 1, "multi": 1}
		trips := 1 + world.RoundTripsOfCreation()
		w.cost(client, trips, first, func() { w.add(c, 1) })
		w.Expire(client)
		w.Pass(time.Minute)
		w.cost(client, trips, first, func() { require.EqualValues(w, 3, w.add(c, 1)) })
	})
}

func TestFirstChangeOfACounterIsSixRequests(t *testing.T) {
	world.Needs(t, world.CreationsWithStat)
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/counters", nil))
		client := w.Client()
		w.cost(client, 4, map[string]int{"create2": 3, "getData": 2, "multi": 1}, func() {
			w.add(counter.New(client, path, nil), 1)
		})
	})
}

// A change after another client's costs a refused write and a read more; with
// others about, the read travels with the write.
func TestLostRaceIsThreeRequests(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		require.NoError(w, w.Server.Set(path, long(5)))
		w.cost(client, 3, map[string]int{"multi": 2, "getData": 2}, func() { require.EqualValues(w, 6, w.add(c, 1)) })
		w.cost(client, 1, map[string]int{"multi": 1}, func() { require.EqualValues(w, 7, w.add(c, 1)) })
	})
}

func TestLostReplyIsFoundOutWithThreeRequestsAtMost(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		w.Server.FailNth(writes, 1, zktest.Action{Do: zktest.DropReplyCut})
		w.ResetStats()
		require.EqualValues(w, 2, w.add(c, 1))
		got := w.Server.Stats().BySession[w.ID(client)]
		require.Equal(w, 2, got["multi"], "the write, and a request answered behind the write: %v", got)
		require.LessOrEqual(w, got["exists"], 2, "one for the wait for a connection, if necessary")
		require.Zero(w, got["getData"])
	})
}

func TestNextIsOneRequestOrOneForEachBlock(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		one := counter.NewSequence(client, path, nil)
		ten := counter.NewSequence(client, path+"-ten", &counter.Options{Block: 10})
		draw := func(q *counter.Sequence, n int) func() {
			return func() {
				for range n {
					_, err := q.Next(w.Ctx)
					require.NoError(w, err)
				}
			}
		}
		draw(one, 1)()
		draw(ten, 10)()
		w.cost(client, 5, map[string]int{"multi": 5}, draw(one, 5))
		w.cost(client, 5, map[string]int{"multi": 5}, draw(ten, 50))
	})
}

func TestSharedCosts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.NewShared(client, path, 4, nil)
		require.NoError(w, c.Set(w.Ctx, 5))
		var seen counter.VersionedValue
		w.cost(client, 1, map[string]int{"multi": 1, "getData": 1}, func() {
			var err error
			seen, err = c.Get(w.Ctx)
			require.NoError(w, err)
		})
		w.cost(client, 1, map[string]int{"multi": 1}, func() {
			ok, err := c.TrySet(w.Ctx, seen, 6)
			require.NoError(w, err)
			require.True(w, ok)
		})
		w.cost(client, 1, map[string]int{"multi": 1}, func() { require.NoError(w, c.Set(w.Ctx, 7)) })
	})
}

// For a watcher, a changed state is one event and one read.
func TestWatchedChangeIsOneRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		w.make(long(0))
		n := int64(0)
		for st, err := range counter.New(client, path, nil).Watch(w.Ctx) {
			require.NoError(w, err)
			require.Equal(w, n, st.Value)
			if n > 0 {
				require.Equal(w, map[string]int{"getData": 1}, w.Server.Stats().BySession[w.ID(client)])
			}
			if n++; n == 5 {
				break
			}
			w.Settle()
			w.ResetStats()
			require.NoError(w, w.Server.Set(path, long(n)))
		}
		w.Settle()
		w.RequireNoWatches()
	})
}
