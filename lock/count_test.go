package lock_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server.

// N16, N17, N18: with fifty waiters a release wakes two. The first takes the lock
// without a request, and the second lists the queue, unless it entered third.
func TestReleaseWakesTwoOfFiftyWaiters_N17(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		const n = 50
		clients := make([]*session.Client, n)
		outs := make([]<-chan won, n)
		h := w.lock(lock.New(w.Client(), dir, nil))
		for i := range n {
			clients[i] = w.Client()
			outs[i] = w.startLock(w.Ctx, lock.New(clients[i], dir, nil))
		}
		for i := range n {
			w.ResetStats()
			sent := w.Server.Stats().PacketsSent
			w.unlock(h)
			synctest.Wait()
			g := <-outs[i] // first come, first served
			require.NoError(w, g.err)
			for j, c := range clients[i:] {
				var want map[string]int
				if j == 1 && i > 0 {
					want = map[string]int{"getChildren2": 1}
				}
				require.Equal(w, want, w.Server.Stats().BySession[w.ID(c)], "waiter %d, when waiter %d got the lock", i+j, i)
			}
			require.LessOrEqual(w, w.Server.Stats().PacketsSent-sent, 5, "two answers, and three events: one is that of the holder's own watch")
			h = g.held
		}
		w.unlock(h)
	})
}

func TestWaiterAsksNothingWhenTheHolderBeforeItReleases(t *testing.T) {
	for _, after := range []time.Duration{time.Second, 5 * time.Minute} {
		t.Run(fmt.Sprint(after), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				a, b := w.Client(), w.Client()
				h := w.lock(lock.New(a, dir, nil))
				out := w.startLock(w.Ctx, lock.New(b, dir, nil))
				w.Pass(after)
				w.ResetStats()
				w.unlock(h)
				synctest.Wait()
				g := <-out
				require.NoError(w, g.err)
				counts := w.Server.Stats().BySession[w.ID(b)]
				if after <= time.Second {
					require.Zero(w, w.Requests(b), "%v", counts)
				} else {
					// Trust is stale: a proof is sent, and no read.
					require.LessOrEqual(w, w.Requests(b), 1, "%v", counts)
					require.LessOrEqual(w, counts["multi"], 1)
				}
				w.unlock(g.held)
			})
		})
	}
}

// A waiter sends four requests, in two round trips, whatever the length of the queue; the
// first waiter sends three. A Mutex that has not seen the queue for a heartbeat period asks
// for its length first, with one more request and round trip: here all of them at first, and
// then the two that were granted, after a long wait, without a listing. After a long wait the
// waiter also watches its own node, with one more request.
func TestWaitingCostsTwoRoundTripsWhateverTheQueue(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first := lock.New(w.Client(), dir, nil)
		mutexes, clients := make([]*lock.Mutex, 8), make([]*session.Client, 8)
		for i := range mutexes {
			clients[i] = w.Client()
			mutexes[i] = lock.New(clients[i], dir, nil)
		}
		for _, unknown := range []bool{true, false} {
			h := w.lock(first)
			outs := []<-chan won{}
			for i, m := range mutexes {
				w.ResetStats()
				outs = append(outs, w.startLock(w.Ctx, m))
				more := 0
				if unknown || i < 2 {
					more = 1
				}
				want := world.Requests(map[string]int{"create2": 1, "getChildren2": 1, "getData": min(i+1, 2) + more})
				require.Equal(w, want, w.Server.Stats().BySession[w.ID(clients[i])], "%d", i)
			}
			w.Pass(time.Second)
			w.ResetStats()
			w.Pass(10 * time.Minute)
			require.Zero(w, w.Server.Stats().Requests["exists"]+w.Server.Stats().Requests["getData"]+w.Server.Stats().Requests["getChildren2"])
			for _, out := range outs {
				w.unlock(h)
				g := <-out
				require.NoError(w, g.err)
				h = g.held
			}
			w.unlock(h)
		}
	})
}

func TestTryLockThatFailsIsOneRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := w.Client(), w.Client()
		h := w.lock(lock.New(a, dir, nil))
		w.ResetStats()
		_, err := lock.New(b, dir, nil).TryLock(w.Ctx)
		require.ErrorIs(w, err, lock.ErrBusy)
		require.Equal(w, map[string]int{"getChildren2": 1}, w.Server.Stats().BySession[w.ID(b)])
		w.unlock(h)
	})
}

func TestSemaphoreUncontendedIsThreeRequestsInOneRoundTrip(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		s := lock.NewSemaphore(c, dir, 3, nil)
		require.NoError(w, w.acquire(s, 2).Release(w.Ctx))
		w.Settle()
		w.ResetStats()
		const oneWay = 10 * time.Millisecond
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		began := time.Now()
		p := w.acquire(s, 2)
		require.Equal(w, time.Duration(2*world.RoundTripsOfCreation())*oneWay, time.Since(began))
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getChildren2": 1, "getData": 1}), w.Server.Stats().BySession[w.ID(c)])
		w.ResetStats()
		require.NoError(w, p.Release(w.Ctx))
		require.Equal(w, map[string]int{"delete": 1}, w.Server.Stats().BySession[w.ID(c)])
		w.Server.Heal()
	})
}
