package barrier_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server.

// warm runs a round, so the path exists and is known.
func (w *World) warm(all []*barrier.Barrier) {
	var outs []<-chan passed
	for _, b := range all {
		outs = append(outs, w.await(w.Ctx, b))
	}
	for _, out := range outs {
		w.round(out, 1)
	}
	w.Settle()
	w.ResetStats()
}

func TestAwaitIsTwoRequestsInOneRoundTripAndOneWhenTheRoundIsComplete(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.barriers(3, 3, nil)
		w.warm(all)
		a := w.await(w.Ctx, all[0])
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 1}), w.counts(clients[0]))
		b := w.await(w.Ctx, all[1])
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{Client: "c3"}, zktest.Both, oneWay)
		began := time.Now()
		round, err := all[2].Await(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 2, round)
		require.Equal(w, time.Duration(4+2*world.RoundTripsOfCreation())*oneWay, time.Since(began), "three round trips for the last: arrive, list, release")
		w.round(a, 2)
		w.round(b, 2)
		for _, c := range clients[:2] {
			require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 2}), w.counts(c))
		}
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 2, "getChildren2": 1, "multi": 1}), w.counts(clients[2]))
		w.Server.Heal()
		w.clean()
	})
}

// T21: the last party releases all and does not wait.
func TestRoundOf32IsAtMostThreePointTwoRequestsAParty_T21(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, _ := w.barriers(32, 32, nil)
		w.warm(all)
		const rounds = 10
		l := newLockstep(32, rounds)
		require.NoError(w, l.run(func(i int) error {
			for range rounds { // all at once
				if _, err := all[i].Await(w.Ctx); err != nil {
					return err
				}
			}
			return nil
		}))
		n := float64(sum(w.Server.Stats().Requests)) / 32 / rounds
		more := float64(world.RoundTripsOfCreation() - 1)
		require.LessOrEqual(w, n, 3.2+more, "%v", w.Server.Stats().Requests)
		require.GreaterOrEqual(w, n, 3.0+more)
	})
}

func TestEnterAndLeaveCounted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.doubles(2, 2, nil)
		for n := int64(1); n <= 2; n++ {
			w.ResetStats()
			seats := w.seats(n, w.enter(w.Ctx, all[0]), w.enter(w.Ctx, all[1]))
			if n == 2 {
				require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 2}), w.counts(clients[0]))
				require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 1, "getChildren2": 1, "multi": 1}), w.counts(clients[1]))
			}
			w.ResetStats()
			first := w.leave(w.Ctx, seats[0])
			w.left(first, w.leave(w.Ctx, seats[1]))
			if n == 2 {
				require.Equal(w, map[string]int{"delete": 1, "getChildren2": 2, "getData": 1}, w.counts(clients[0]))
				require.Equal(w, map[string]int{"delete": 1, "getChildren2": 1}, w.counts(clients[1]))
			}
		}
		w.clean()
	})
}

// A waiting party sends a single request during a wait of any length: a read of
// its own znode.
func TestWaitingForLongAsksOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		all, clients := w.barriers(2, 2, nil)
		w.warm(all)
		a := w.await(w.Ctx, all[0])
		w.Pass(time.Hour)
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getData": 2}), w.counts(clients[0]))
		b := w.await(w.Ctx, all[1])
		w.round(a, 2)
		w.round(b, 2)
		w.clean()
	})
}

func TestGateCounted(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := w.Client(), w.Client()
		g := barrier.NewGate(c, dir, nil)
		require.NoError(w, g.Set(w.Ctx))
		require.NoError(w, g.Remove(w.Ctx))
		w.ResetStats()
		require.NoError(w, g.Set(w.Ctx))
		require.Equal(w, world.Requests(map[string]int{"exists": 1, "create2": 1}), w.counts(c))
		out := make(chan error, 1)
		// Waited for below; ends when the gate opens.
		go func() { out <- barrier.NewGate(other, dir, nil).Wait(w.Ctx) }()
		w.Pass(time.Hour)
		require.Equal(w, map[string]int{"sync": 1, "multi": 1, "getData": 1}, w.counts(other))
		w.ResetStats()
		require.NoError(w, g.Remove(w.Ctx))
		require.NoError(w, <-out)
		w.Settle()
		require.Equal(w, map[string]int{"multi": 1, "exists": 1, "delete": 1}, w.counts(c))
		require.Equal(w, map[string]int{"getData": 1}, w.counts(other))
	})
}

// counts are the requests of c's session since the last ResetStats, without
// pings and
// heartbeats.
func (w *World) counts(c *session.Client) map[string]int {
	out := map[string]int{}
	for op, n := range w.Server.Stats().BySession[w.ID(c)] {
		if op != "ping" {
			out[op] = n
		}
	}
	return out
}
