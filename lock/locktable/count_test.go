package locktable_test

import (
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// joinUnwatched makes an owner without watches on its locks, and the owner's client.
func (w *World) joinUnwatched() (*locktable.Owner, *session.Client) {
	w.Helper()
	c := w.Client()
	return w.join(c, &locktable.Options{Unwatched: true}), c
}

// requestCost counts the requests of c's session during f, by operation.
func (w *World) requestCost(c *session.Client, f func()) map[string]int {
	w.Helper()
	w.Pass(20 * time.Millisecond)
	var mu sync.Mutex
	out, id := map[string]int{}, w.ID(c)
	defer w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		mu.Lock()
		defer mu.Unlock()
		if r.Session == id && r.Op != "ping" && !r.OnlyChecks { // such are heartbeats
			out[r.Op]++
		}
		return zktest.Action{}
	})()
	f()
	w.Pass(20 * time.Millisecond)
	mu.Lock()
	defer mu.Unlock()
	return maps.Clone(out)
}

// Requests are counted at the server: n+1 reads, and a transaction per 500 locks. Of many
// locks without znodes, few are read.
func TestLocksAreTakenAndReleasedByTheHundred(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, c := w.joinUnwatched()
		for _, again := range []bool{false, true} { // an existing lock is only set
			for n, txns := range map[int]int{1: 1, 500: 1, 501: 2, 1200: 3} {
				var held []*locktable.Held
				reads := n
				if n >= 64 && len(w.Children(dir)) == 0 {
					reads = 3
				}
				require.Equal(w, map[string]int{"exists": 1, "getData": reads, "multi": txns},
					w.requestCost(c, func() { held = w.try(o, lockNames(n)...) }), "%d locks, %v", n, again)
				require.Len(w, held, n)
				require.Equal(w, map[string]int{"multi": txns}, w.requestCost(c, func() { require.NoError(w, o.Unlock(w.Ctx, held...)) }))
			}
		}
		require.Empty(w, w.requestCost(c, func() {
			require.Empty(w, w.try(o))
			require.NoError(w, o.Unlock(w.Ctx))
		}), "nothing is asked for")
		held := w.try(o, lockNames(600)...)
		require.Len(w, held, 600)
		require.Equal(w, map[string]int{"multi": 2, "delete": 1},
			w.requestCost(c, func() { require.NoError(w, o.Release(w.Ctx)) }))
	})
}

// An owner that joins an existing table writes its own znode, and nothing else.
func TestJoinIsOneReadAndOneWrite(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		first := w.join(c, nil)
		w.Settle()
		require.Equal(w, world.Requests(map[string]int{"exists": 1, "create2": 1}), w.requestCost(c, func() {
			_, err := locktable.New(c, dir, nil).Join(w.Ctx)
			require.NoError(w, err)
		}))
		require.NoError(w, first.Release(w.Ctx))
	})
}

func TestTakingIsTwoRoundTripsAndReleasingIsOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		o, _ := w.joinUnwatched()
		w.try(o, "x")
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		began := time.Now()
		held := w.try(o, lockNames(1500)...)
		require.Equal(w, 4*oneWay, time.Since(began))
		began = time.Now()
		require.NoError(w, o.Unlock(w.Ctx, held...))
		require.Equal(w, 2*oneWay, time.Since(began))
		w.Server.Heal()
	})
}

// Locks of other owners cost one read each, and one read per holder.
func TestLocksOfOthersCostARead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, _ := w.joinUnwatched()
		two, _ := w.joinUnwatched()
		w.try(one, lockNames(100)...)
		w.try(two, lockNames(200)...)
		o, c := w.joinUnwatched()
		require.Equal(w, map[string]int{"exists": 1, "getData": 200 + 2}, w.requestCost(c, func() { require.Empty(w, w.try(o, lockNames(200)...)) }))
	})
}

// If locks that were not sampled have znodes, the guess costs one transaction, and then each lock
// is read.
func TestAWrongGuessCostsATransaction(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		one, _ := w.joinUnwatched()
		w.try(one, "lock-0005", "lock-0050")
		o, c := w.joinUnwatched()
		var held []*locktable.Held
		require.Equal(w, map[string]int{"exists": 2, "getData": 3 + 200 + 1, "multi": 2},
			w.requestCost(c, func() { held = w.try(o, lockNames(200)...) }))
		require.Len(w, held, 198)
		require.NoError(w, o.Unlock(w.Ctx, held...))
	})
}

// Each held lock costs one more read, for its watch, and nothing at its release.
func TestWatchOfAHeldLockCostsARead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		o := w.join(c, nil)
		var held []*locktable.Held
		require.Equal(w, map[string]int{"exists": 1, "getData": 3 + 300, "multi": 1}, w.requestCost(c, func() { held = w.try(o, lockNames(300)...) }))
		require.Equal(w, map[string]int{"multi": 1}, w.requestCost(c, func() { require.NoError(w, o.Unlock(w.Ctx, held...)) }))
		require.NoError(w, o.Release(w.Ctx))
	})
}

// A waiter asks little for a release of hundreds: it handles the events of one
// transaction together.
func TestWaiterDealsWithManyReleasesAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 400
		one, _ := w.joinUnwatched()
		two, c := w.joinUnwatched()
		held := w.try(one, lockNames(n)...)
		out := w.startLock(w.withinMinute(), two, lockNames(n)...)
		w.requirePending(out)
		cost := w.requestCost(c, func() { require.NoError(w, one.Unlock(w.Ctx, held...)) })
		got := <-out
		require.NoError(w, got.err)
		require.Len(w, got.held, n)
		require.LessOrEqual(w, cost["getData"], n+1, "%v", cost)
		require.LessOrEqual(w, cost["multi"], 2, "%v", cost)
		require.LessOrEqual(w, cost["exists"], 4, "%v", cost)
	})
}

func TestNothingIsSentWhileLocksAreHeldButHeartbeats(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.try(w.join(c, nil), lockNames(100)...)
		w.Pass(10 * time.Second)
		w.ResetStats()
		w.Pass(10 * time.Minute)
		counts := w.Server.Stats().BySession[w.ID(c)]
		require.Len(w, counts, 2, "pings and heartbeats only: %v", counts)
	})
}
