package counter_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// begun begins a round of n with the latch l.
func (w *World) begun(l *counter.Latch, n int) {
	w.Helper()
	ok, err := l.TrySetCount(w.Ctx, n)
	require.NoError(w, err)
	require.True(w, ok)
}

// down counts l down, and requires left to be the new count.
func (w *World) down(l *counter.Latch, left int) {
	w.Helper()
	n, err := l.CountDown(w.Within(time.Minute))
	require.NoError(w, err)
	require.Equal(w, left, n)
}

// await starts l.Await, and returns once it waits or has ended.
func (w *World) await(l *counter.Latch) <-chan error {
	out := make(chan error, 1)
	// The bubble waits for the goroutine; it ends with the world at the latest.
	go func() { out <- l.Await(w.Ctx) }()
	w.Settle()
	return out
}

func TestLatchCountsDownToZeroInRounds(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l, other := counter.NewLatch(w.Client(), path, nil), counter.NewLatch(w.Client(), path, nil)
		require.Equal(w, path, l.Path())
		count := func(want int) {
			n, err := other.Count(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, want, n)
		}
		count(0)
		require.NoError(w, other.Await(w.Ctx), "a count that was never set is 0")
		w.down(l, 0)
		for round := byte(1); round <= 2; round++ {
			w.begun(l, 2)
			count(2)
			ok, err := other.TrySetCount(w.Ctx, 5)
			require.NoError(w, err)
			require.False(w, ok, "the count is not 0")
			require.Equal(w, []byte{0, 0, 0, round, 0, 0, 0, 2}, w.node().Data)
			w.down(l, 1)
			w.down(other, 0)
			w.down(l, 0)
			count(0)
			require.NoError(w, l.Await(w.Ctx))
			require.Equal(w, []byte{0, 0, 0, round, 0, 0, 0, 0}, w.node().Data)
		}
	})
}

func TestLatchRefusesWrongArgumentsAndForeignData(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		l := counter.NewLatch(c, path, nil)
		for _, n := range []int{0, -1, counter.MaxCount + 1} {
			_, err := l.TrySetCount(w.Ctx, n)
			require.ErrorIs(w, err, counter.ErrInvalidArgument)
			require.ErrorContains(w, err, "counter: set count "+path)
		}
		for _, o := range []*counter.Options{{Block: 2}, {Format: counter.CuratorInt}} {
			require.ErrorIs(w, counter.NewLatch(c, path, o).Await(w.Ctx), counter.ErrInvalidArgument)
		}
		w.make(long(-5))
		_, err := l.CountDown(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		_, err = l.TrySetCount(w.Ctx, 1)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		_, err = l.Count(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		require.ErrorIs(w, l.Await(w.Ctx), counter.ErrCorrupt)
		require.Equal(w, int64(-5), w.value(), "nothing was changed")
		require.NoError(w, w.Server.Set(path, []byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 0}))
		w.begun(l, 3)
		require.Equal(w, []byte{0, 0, 0, 1, 0, 0, 0, 3}, w.node().Data, "the first round follows the last number")
	})
}

// Waiting costs one watch, and a read for each change.
func TestLatchIsAwaitedWithOneWatch(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		waiter, l := counter.NewLatch(c, path, nil), counter.NewLatch(w.Client(), path, nil)
		w.begun(l, 3)
		out := w.await(waiter)
		require.Equal(w, 1, w.Server.Stats().Watches)
		before := w.Requests(c)
		w.Pass(time.Minute)
		require.Equal(w, before, w.Requests(c), "nothing is polled")
		for left := 2; left > 0; left-- {
			w.down(l, left)
			w.Settle()
			require.Empty(w, out)
			require.Equal(w, 1, w.Server.Stats().Watches)
		}
		require.LessOrEqual(w, w.Requests(c)-before, 2)
		w.down(l, 0)
		require.NoError(w, <-out)
		w.Settle()
		w.RequireNoWatches()
	})
}

// The next round begins before the waiter learns that its own is over.
func TestAwaitedRoundThatWasMissedIsOver(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		waiter, l := counter.NewLatch(w.Client(), path, nil), counter.NewLatch(w.Client(), path, nil)
		w.begun(l, 2)
		out := w.await(waiter)
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.down(l, 1)
		w.down(l, 0)
		w.begun(l, 2)
		w.Server.Heal()
		require.NoError(w, <-out)
		again := w.await(waiter)
		w.down(l, 1)
		w.Settle()
		require.Empty(w, again, "the new round goes on")
		w.down(l, 0)
		require.NoError(w, <-again)
	})
}

// A waiter goes on in its next session, and by its own context.
func TestAwaitGoesOnInTheNextSession(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		waiter, l := counter.NewLatch(c, path, nil), counter.NewLatch(w.Client(), path, nil)
		w.begun(l, 1)
		require.ErrorIs(w, waiter.Await(w.Within(time.Second)), context.DeadlineExceeded)
		out := w.await(waiter)
		w.Expire(c)
		w.Pass(time.Minute)
		require.Empty(w, out)
		w.down(l, 0)
		require.NoError(w, <-out)
	})
}

// A latch that is deleted while it is awaited is not taken for one whose count is 0, nor its
// successor for itself.
func TestDeletedLatchIsReported(t *testing.T) {
	for _, next := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			waiter, l := counter.NewLatch(w.Client(), path, nil), counter.NewLatch(w.Client(), path, nil)
			w.begun(l, 2)
			out := w.await(waiter)
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			w.wipe()
			if next {
				w.begun(l, 2)
			}
			w.Server.Heal()
			require.ErrorIs(w, <-out, counter.ErrDeleted)
			require.Equal(w, next, waiter.Await(w.Within(time.Second)) != nil)
		})
	}
}

// A server that lags behind shows the time before the count was set: Await does not pass.
func TestAwaitIsNotMisledByAServerThatLagsBehind(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		w.Pass(time.Second)
		leader := w.Server.Leader()
		follower := leader%3 + 1
		l := counter.NewLatch(w.ClientAt(w.Server.ServerAddr(leader), session.Options{}), path, nil)
		waiter := counter.NewLatch(w.ClientAt(w.Server.ServerAddr(follower), session.Options{}), path, nil)
		require.NoError(w, waiter.Await(w.Ctx))
		require.NoError(w, w.Server.Lag(follower, true))
		w.begun(l, 1)
		out := w.await(waiter)
		w.Pass(time.Second)
		require.Empty(w, out)
		require.NoError(w, w.Server.Lag(follower, false))
		w.Pass(5 * time.Second)
		require.Empty(w, out)
		w.down(l, 0)
		require.NoError(w, <-out)
	})
}

// A leader that has lost its followers answers every sync, without knowing that a majority
// has set the count: Await does not pass.
func TestAwaitIsNotMisledByALeaderWithoutFollowers(t *testing.T) {
	inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		alone := w.Server.Leader()
		waiter := counter.NewLatch(w.ClientAt(w.Server.ServerAddr(alone), session.Options{}), path, nil)
		l := counter.NewLatch(w.ClientAt(w.Server.ServerAddr(1+alone%3), session.Options{}), path, nil)
		w.down(l, 0) // the znode exists
		require.NoError(w, waiter.Await(w.Ctx))
		w.Settle()
		w.Server.IsolateServer(alone)
		w.begun(l, 1)
		require.NotEqual(w, alone, w.Server.Leader())
		out := w.await(waiter)
		w.Pass(time.Minute)
		require.Empty(w, out)
		w.Server.HealPeers()
		w.down(l, 0)
		require.NoError(w, <-out)
	})
}

// Goroutines that share a latch share its writes, and each counts once.
func TestGoroutinesCountDownOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		l := counter.NewLatch(w.Client(), path, nil)
		const n = 50
		w.begun(l, n)
		left := make(chan int, n)
		for range n {
			// Waited for below; ends with its count.
			go func() {
				v, err := l.CountDown(w.Ctx)
				if err != nil {
					v = -1
				}
				left <- v
			}()
		}
		seen := map[int]bool{}
		for range n {
			seen[<-left] = true
		}
		require.Len(w, seen, n)
		require.True(w, seen[0] && seen[n-1])
	})
}
