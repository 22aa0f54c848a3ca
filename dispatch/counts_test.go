package dispatch_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// countsPath is the record that the master publishes.
const countsPath = path + "/counts"

// stats are the stats within a virtual minute.
func (w *World) stats(q *dispatch.Queue) dispatch.Stats {
	w.Helper()
	st, err := q.Stats(w.Within(time.Minute))
	require.NoError(w, err)
	return st
}

// published are the stats, which a master must have published.
func (w *World) published(q *dispatch.Queue) dispatch.Stats {
	w.Helper()
	st := w.stats(q)
	require.False(w, st.Published.IsZero(), "no counts are published: %+v", st)
	return st
}

// counted are the stats, for which Stats must have read the tasks.
func (w *World) counted(q *dispatch.Queue) dispatch.Stats {
	w.Helper()
	st := w.stats(q)
	require.True(w, st.Published.IsZero(), "%+v", st)
	return st
}

// The number of requests of Stats does not depend on the number of tasks.
func TestStatsTakeTheSameRequestsForAnyNumberOfTasks(t *testing.T) {
	var first map[string]int
	for _, n := range []int{10, 1000} {
		inWorld(t, nil, func(w *World) {
			w.countBeats()
			c := w.Client()
			q := dispatch.New(c, path, nil)
			w.submit(q, dispatch.Task{ID: "template", Delay: 100 * time.Hour})
			w.flood(n - 1)
			w.master(nil)
			w.worker(echo, nil)
			w.Pass(5 * time.Second)
			requests := w.counts(c, func() { require.Equal(w, n, w.published(q).Tasks["waiting"]) })
			t.Logf("%d tasks: %v", n, requests)
			if first == nil {
				first = requests
			}
			require.Equal(w, first, requests)
			require.Equal(w, map[string]int{"sync": 1, "getChildren2": 2, "getData": 1 + 1 + 2 + 2, "exists": 1}, requests)
		})
	}
}

// List reads the tasks in batches, and so does Stats without a master.
func TestListReadsTasksInBatches(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c := w.Client()
		q := dispatch.New(c, path, nil)
		w.submit(q, dispatch.Task{ID: "template", Delay: 100 * time.Hour})
		const n = 2000
		w.flood(n - 1)
		buckets := len(w.Children(path + "/tasks"))
		lists := buckets + 1
		requests := w.counts(c, func() { require.Len(w, idsOf(w, q), n) })
		require.Equal(w, map[string]int{"getChildren2": lists, "multiRead": 8 + 3 + 15}, requests)
		requests = w.counts(c, func() { require.Equal(w, n, w.counted(q).Tasks["waiting"]) })
		t.Logf("%d tasks, %d buckets: %v", n, buckets, requests)
		require.Equal(w, 8+3+15, requests["multiRead"])
	})
}

// Garbage that makes the reply to a batch too long for the client does not keep List from
// listing the tasks.
func TestListReadsTasksOneByOneIfABatchIsTooLong(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := dispatch.New(w.ClientWith(session.Options{MaxReply: 16 << 10}), path, nil)
		w.submit(q, dispatch.Task{ID: "template", Delay: time.Hour})
		w.flood(99)
		for i, bucket := range w.Children(path + "/tasks") {
			if i < 10 {
				require.NoError(w, w.Server.Create(path+"/tasks/"+bucket+"/garbage", make([]byte, 10<<10)))
			}
		}
		list, err := q.List(w.Within(time.Minute))
		require.NoError(w, err)
		require.Len(w, list, 110)
		st := w.counted(q)
		require.Equal(w, map[dispatch.State]int{"waiting": 100, "": 10}, st.Tasks)
	})
}

// A queue at rest shows a change at once, and when it was published.
func TestChangesOfAQuietQueueArePublishedAtOnce(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		w.Pass(10 * time.Second)
		require.Empty(w, w.published(q).Tasks)
		began := time.Now().Truncate(time.Millisecond)
		w.submit(q, dispatch.Task{ID: "x"})
		w.Settle()
		st := w.published(q)
		require.Equal(w, map[dispatch.State]int{"waiting": 1}, st.Tasks)
		require.WithinRange(w, st.Published, began, time.Now())
		require.WithinDuration(w, began, st.Oldest, time.Millisecond)
		w.Pass(time.Hour)
		require.Equal(w, st, w.stats(q), "nothing has changed, so nothing was written")
	})
}

// publishes reports whether these are the paths of a transaction that publishes counts: the
// guard, and the record. A client that reads the record checks it alone.
func publishes(paths []string) bool { return len(paths) > 1 && slices.Contains(paths, countsPath) }

// publications counts the records that were written from now on.
func (w *World) publications() func() int {
	n := 0
	w.Server.OnApply(func(txn zktest.Txn) {
		if txn.Code == 0 && publishes(txn.Paths) {
			n++
		}
	})
	return func() int { return n }
}

// However many tasks come and go, the counts are written once a second on average, and lag
// by about a second.
func TestBusyQueuePublishesOnceASecond(t *testing.T) {
	seconds := 30
	if testing.Short() { // under the race detector
		seconds = 10
	}
	inWorld(t, nil, func(w *World) {
		w.master(nil)
		w.worker(takes(70*time.Millisecond), nil)
		q := w.queue()
		w.Pass(10 * time.Second)
		n, before := w.publications(), time.Now()
		for i := 0; time.Since(before) < time.Duration(seconds)*time.Second; i++ {
			w.submit(q, numbered(i))
			w.Pass(10 * time.Millisecond)
			if i%100 == 50 {
				require.Less(w, time.Since(w.published(q).Published), 1100*time.Millisecond)
			}
		}
		require.InDelta(w, seconds, n(), 5)
		n = w.publications()
		w.Pass(2 * time.Second)
		tasks := len(idsOf(w, q, "done"))
		require.Equal(w, map[dispatch.State]int{"done": tasks}, w.published(q).Tasks)
		require.LessOrEqual(w, n(), 2)
		n = w.publications()
		w.Pass(time.Hour)
		require.Zero(w, n(), "nothing changes")
	})
}

// Without a master, the record of a former master is not believed; the next master
// publishes its own.
func TestCountsOfAFormerMasterAreNotShown(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		require.Empty(w, w.counted(q).Tasks, "no queue")
		tasks := 0
		for range 4 {
			c, m := w.masterWith(nil)
			w.Pass(5 * time.Second)
			require.Equal(w, tasks, w.published(q).Tasks["waiting"])
			former, err := w.Server.Get(countsPath)
			require.NoError(w, err)
			w.kill(c, m)
			require.Equal(w, tasks, w.counted(q).Tasks["waiting"])
			w.submit(q, numbered(tasks))
			tasks++
			st := w.counted(q)
			require.Equal(w, tasks, st.Tasks["waiting"])
			require.Empty(w, st.Master)
			now, err := w.Server.Get(countsPath)
			require.NoError(w, err)
			require.Equal(w, former, now)
		}
		// A master that is stopped leaves its record behind as well.
		m := w.master(nil)
		w.Pass(5 * time.Second)
		w.published(q)
		require.NoError(w, m.end())
		require.Equal(w, tasks, w.counted(q).Tasks["waiting"])
	})
}

// While the next master is still reading the tasks, Stats reads them, too.
func TestStatsReadTheTasksUntilTheNextMasterHas(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		c, m := w.masterWith(nil)
		w.submit(q, dispatch.Task{ID: "first"})
		w.Pass(5 * time.Second)
		w.published(q)
		w.kill(c, m)
		w.submit(q, dispatch.Task{ID: "second"})
		next := w.Client()
		id := w.ID(next)
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == id && strings.HasPrefix(r.Path, path+"/tasks/") {
				return zktest.Action{Do: zktest.DelayReply, For: 2 * time.Second}
			}
			return zktest.Action{}
		})
		w.beside(dispatch.NewMaster(next, path, nil).Run)
		shown := map[bool]int{}
		for range 100 {
			st := w.stats(q)
			require.Equal(w, map[dispatch.State]int{"waiting": 2}, st.Tasks)
			shown[!st.Published.IsZero() && st.Master != ""]++
			w.Pass(100 * time.Millisecond)
		}
		require.Greater(w, shown[false], 15, "the master was reading")
		require.Greater(w, shown[true], 15, "the master has published")
	})
}

// A master that lags writes no counts once another master leads.
func TestDeposedMasterPublishesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		old := w.Client() // c1
		w.beside(dispatch.NewMaster(old, path, nil).Run)
		w.Settle()
		oldID := w.ID(old)
		w.master(nil)
		q := w.queue()
		w.Pass(10 * time.Second)
		late, wrong, right := 0, 0, 0
		var deposed time.Time
		recently := func() bool { return !deposed.IsZero() && time.Since(deposed) <= 2*time.Second }
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Session == oldID && publishes(r.Paths) && recently() {
				late++
			}
			return zktest.Action{}
		})
		w.Server.OnApply(func(txn zktest.Txn) {
			if txn.Code == 0 && publishes(txn.Paths) && recently() {
				if txn.Session == oldID {
					wrong++
				} else {
					right++
				}
			}
		})
		w.Server.Delay(linkOf(1), zktest.ToServer, 2*time.Second) // as if it was paused
		for n := range 20 {
			w.submit(q, numbered(n))
			w.Pass(200 * time.Millisecond)
		}
		deposed = time.Now()
		for _, name := range w.Children(path + "/masters") {
			n, err := w.Server.Get(path + "/masters/" + name)
			require.NoError(w, err)
			if n.EphemeralOwner == oldID {
				require.NoError(w, w.Server.Delete(n.Path))
			}
		}
		w.Pass(1500 * time.Millisecond)
		require.Equal(w, 20, w.published(q).Tasks["waiting"])
		w.Pass(time.Second)
		w.Server.Heal()
		if world.Has(world.Subscriptions) { // otherwise they come after its lists
			require.Positive(w, late, "the requests of the old master arrive")
		}
		require.Zero(w, wrong, "and change nothing")
		require.Positive(w, right)
	})
}
