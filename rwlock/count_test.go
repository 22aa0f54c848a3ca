package rwlock_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Requests are counted at the server.

func TestTryIsAListingMoreAndARefusalIsOneRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, m := w.Client(), w.new()
		tested := rwlock.New(c, dir, nil)
		w.unlock(w.get(tested.RLock))
		w.Settle() // the first heartbeat
		for _, tc := range []struct{ held, try take }{{m.RLock, tested.TryLock}, {m.Lock, tested.TryRLock}, {m.Lock, tested.TryLock}} {
			h := w.get(tc.held)
			w.ResetStats()
			_, err := tc.try(w.Ctx)
			require.ErrorIs(w, err, rwlock.ErrBusy)
			require.Equal(w, map[string]int{"getChildren2": 1}, w.Server.Stats().BySession[w.ID(c)])
			w.unlock(h)
			w.ResetStats()
			h = w.get(tc.try)
			require.Equal(w, world.Requests(map[string]int{"create2": 1, "getChildren2": 2}), w.Server.Stats().BySession[w.ID(c)])
			w.unlock(h)
		}
	})
}

// crowd is readers of a client each.
type crowd struct {
	clients []*session.Client
	outs    []<-chan won
}

// readers has n readers wait.
func (w *World) readers(n int) *crowd {
	w.Helper()
	c := &crowd{}
	for range n {
		client := w.Client()
		c.clients = append(c.clients, client)
		c.outs = append(c.outs, w.startTake(w.Ctx, rwlock.New(client, dir, nil).RLock))
	}
	w.Pass(2 * time.Second) // by then they watch their own nodes as well
	w.pending(c.outs...)
	return c
}

// asked returns the requests of the crowd, without heartbeats.
func (w *World) asked(c *crowd) map[string]int {
	synctest.Wait()
	out := map[string]int{}
	for _, client := range c.clients {
		for op, n := range w.Server.Stats().BySession[w.ID(client)] {
			if op != "ping" && op != "multi" {
				out[op] += n
			}
		}
	}
	return out
}

// Fifty readers wait for one writer. When it goes they are in, and have asked
// for nothing.
func TestReadersThatWaitForOneWriterListNothing_N26(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		w.ResetStats()
		c := w.readers(50)
		require.Equal(w, world.Requests(map[string]int{"create2": 50, "getChildren2": 50, "getData": 50, "exists": 50}), w.asked(c))
		w.ResetStats()
		w.unlock(h)
		for _, out := range c.outs {
			w.unlock(w.granted(out))
		}
		require.Equal(w, map[string]int{"delete": 50}, w.asked(c))
	})
}

// The same by a downgrade.
func TestReadersThatWaitForADowngradeListNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		c := w.readers(20)
		w.ResetStats()
		r := w.down(h)
		for _, out := range c.outs {
			w.unlock(w.granted(out))
		}
		require.Equal(w, map[string]int{"delete": 20}, w.asked(c))
		w.unlock(r)
	})
}

// The writer that the readers watch gives up while an earlier one waits: each
// goes on to that one with one read, and no listing.
func TestReadersGoOnToTheEarlierWriterWithoutAListing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		var giveUp []context.CancelFunc
		for range 3 {
			ctx, cancel := context.WithCancel(w.Ctx)
			w.startTake(ctx, w.new().Lock)
			giveUp = append(giveUp, cancel)
		}
		c := w.readers(20)
		for _, i := range []int{2, 1, 0} {
			w.ResetStats()
			giveUp[i]()
			w.Settle()
			require.Equal(w, map[string]int{"getData": 20}, w.asked(c))
			w.pending(c.outs...)
		}
		w.ResetStats()
		w.unlock(h)
		for _, out := range c.outs {
			w.unlock(w.granted(out))
		}
		require.Equal(w, map[string]int{"delete": 20}, w.asked(c))
	})
}

// N26: readers that leave wake only the writer right behind, which asks for nothing while it
// watches all of them: neither meanwhile nor in the hand-over. Of twenty it watches sixteen.
func TestReadersThatLeaveWakeOneWriter_N25(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		var in []*rwlock.Held
		for range 20 {
			in = append(in, w.get(w.new().RLock))
		}
		next := w.Client()
		writer := w.startTake(w.Ctx, rwlock.New(next, dir, nil).Lock)
		c := w.readers(10)
		last := w.startTake(w.Ctx, w.new().Lock)
		for i, h := range in {
			w.ResetStats()
			w.unlock(h)
			require.Empty(w, w.asked(c))
			var want map[string]int
			if i == 4 {
				want = map[string]int{"getData": 1, "getChildren2": 1} // the fourth has gone, and who else?
			}
			require.Equal(w, want, w.Server.Stats().BySession[w.ID(next)], i)
		}
		h := w.granted(writer)
		w.unlock(h)
		for _, out := range c.outs {
			w.unlock(w.granted(out))
		}
		w.unlock(w.granted(last))
	})
}

// A reader that leaves between the writer's listing and its watches costs no listing: the
// others are watched already.
func TestWriterThatMissesADepartureListsNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		first, second := w.get(w.new().RLock), w.get(w.new().RLock)
		c := w.Client()
		id := w.ID(c)
		w.Once(func(r zktest.Request) bool { return r.Session == id && r.Op == "getData" }, func() {
			require.NoError(w, w.Server.Delete(first.Path()))
		})
		writer := w.startTake(w.Ctx, rwlock.New(c, dir, nil).Lock)
		w.Settle()
		require.Error(w, first.Unlock(w.Ctx))
		w.unlock(second)
		w.unlock(w.granted(writer))
		counts := w.Server.Stats().BySession[id]
		require.Equal(w, 1, counts["getChildren2"], "that of the arrival")
		require.Equal(w, 2, counts["getData"])
	})
}

// P10: a waiting contender sends no request, however long it waits. A writer
// behind a writer costs what a writer behind a reader costs, and a listing.
func TestWaitingWritersDoNotSpin_P10(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		h := w.get(w.new().Lock)
		c := w.Client()
		w.ResetStats()
		out := w.startTake(w.Ctx, rwlock.New(c, dir, nil).Lock)
		require.Equal(w, world.Requests(map[string]int{"create2": 1, "getChildren2": 1, "getData": 1}), w.Server.Stats().BySession[w.ID(c)])
		third := w.startTake(w.Ctx, w.new().Lock)
		w.Pass(2 * time.Second)
		w.ResetStats()
		w.Pass(time.Hour)
		require.Zero(w, w.Requests(c))
		w.unlock(h)
		h = w.granted(out)
		counts := w.Server.Stats().BySession[w.ID(c)]
		require.Equal(w, 1, counts["getChildren2"])
		require.Zero(w, counts["getData"])
		require.LessOrEqual(w, counts["exists"], 1, "the hold's watch, with its first heartbeat")
		w.unlock(h)
		w.unlock(w.granted(third))
	})
}
