package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
	"pgregory.net/rapid"
)

// handed is a task assigned to a worker since a time.
func handed(n int, worker string, since time.Time, labels ...string) seen {
	r := ready(n, 0).givenTo(worker, newSerial(7, int64(n)), since)
	r.Labels = labels
	return seen{record: r, czxid: int64(n + 1), mzxid: int64(n + 1), mtime: since}
}

// recalledOf are the numbers of the recalled tasks, by worker.
func recalledOf(list []recall) map[string][]string {
	out := map[string][]string{}
	for _, r := range list {
		out[r.worker] = r.serials
	}
	return out
}

// serials are the numbers of the tasks from first to last.
func serials(from, to int) (out []string) {
	for n := from; n <= to; n++ {
		out = append(out, newSerial(7, int64(n)))
	}
	return out
}

// The last tasks of a worker are recalled, until the loads are the same.
func TestHalfOfWhatOneHasPrefetchedIsRecalled(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	sc.addWorker("a", profile{Concurrency: 1, Prefetch: 20})
	for n := range 11 {
		sc.putTask(handed(n, "a", now))
	}
	require.Empty(t, sc.planRecalls(now.Add(time.Hour)), "no other worker exists")
	sc.addWorker("b", profile{Concurrency: 1, Prefetch: 20})
	require.Empty(t, sc.planRecalls(now), "they have just come")
	at, ever := sc.nextWake()
	require.True(t, ever)
	require.Equal(t, now.Add(recallAfter), at)
	require.Empty(t, sc.planRecalls(at.Add(-1)))
	require.Equal(t, map[string][]string{"a": serials(6, 10)}, recalledOf(sc.planRecalls(at)), "6 and 5")
	require.Empty(t, sc.planRecalls(at.Add(time.Second)), "they are on their way")
	sc.addWorker("c", profile{Concurrency: 1, Prefetch: 20})
	require.Equal(t, map[string][]string{"a": serials(4, 10)}, recalledOf(sc.planRecalls(at.Add(2*time.Second))), "4, 4, and 3")
}

// While the queue is paused, no other worker would get the recalled tasks.
func TestNothingIsRecalledWhileTheQueueIsPaused(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	sc.addWorker("a", profile{Concurrency: 1, Prefetch: 20})
	sc.addWorker("b", profile{Concurrency: 1, Prefetch: 20})
	for n := range 11 {
		sc.putTask(handed(n, "a", now))
	}
	require.Empty(t, sc.planRecalls(now), "they have just come")
	sc.paused = true
	require.Empty(t, sc.planRecalls(now.Add(time.Hour)))
	_, ever := sc.nextWake()
	require.False(t, ever, "there is nothing to look at")
	sc.paused = false
	require.Len(t, sc.planRecalls(now.Add(time.Hour)), 1)
}

// Only tasks that have not begun are recalled, for workers that can take them
// now.
func TestTasksThatAreNotRecalled(t *testing.T) {
	start := time.Now()
	now := start.Add(time.Second)
	for name, c := range map[string]struct {
		change func(sc *scheduler)
		want   map[string][]string
	}{
		"nothing else":           {func(*scheduler) {}, map[string][]string{"a": serials(2, 3)}},
		"the other has no room":  {func(sc *scheduler) { sc.putTask(handed(8, "b", start)); sc.putTask(handed(9, "b", start)) }, nil},
		"the other has one slot": {func(sc *scheduler) { sc.putTask(handed(8, "b", start)) }, map[string][]string{"a": serials(3, 3)}},
		"the other leaves":       {func(sc *scheduler) { sc.addWorker("b", profile{Concurrency: 2, Prefetch: 2, Draining: true}) }, nil},
		"the first leaves":       {func(sc *scheduler) { sc.addWorker("a", profile{Concurrency: 2, Prefetch: 2, Draining: true}) }, nil},
		"the other is kept":      {func(sc *scheduler) { sc.reserved = sc.workers["b"] }, nil},
		"the other has a suspect": {func(sc *scheduler) {
			x := handed(9, "b", start)
			x.Deaths = suspectAfter
			sc.putTask(x)
		}, nil},
		"a suspect": {func(sc *scheduler) {
			sc.tasks["t03"].Deaths = suspectAfter
			sc.tasks["t02"].orphan = true
		}, nil},
		"labels":                     {func(sc *scheduler) { sc.putTask(seenLater(handed(3, "a", start, "gpu"))) }, map[string][]string{"a": serials(2, 2)}},
		"too young":                  {func(sc *scheduler) { sc.putTask(seenLater(handed(3, "a", now))) }, map[string][]string{"a": serials(2, 2)}},
		"something is done about it": {func(sc *scheduler) { sc.seizeTask(sc.tasks["t03"]) }, map[string][]string{"a": serials(2, 2)}},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScheduler()
			sc.addWorker("a", profile{Concurrency: 2, Prefetch: 2})
			sc.addWorker("b", profile{Concurrency: 2, Prefetch: 2})
			for n := range 4 {
				sc.putTask(handed(n, "a", start))
			}
			c.change(sc)
			got := recalledOf(sc.planRecalls(now))
			require.Len(t, got, len(c.want))
			for worker, list := range c.want {
				require.Equal(t, list, got[worker])
			}
		})
	}
}

// seenLater is a task after another write.
func seenLater(t seen) seen {
	t.mzxid += 100
	return t
}

// An unresponsive worker does not keep others from getting tasks of other
// workers.
func TestRecallsThatAreNotAnsweredDoNotCount(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	for _, id := range []string{"a", "b"} {
		sc.addWorker(id, profile{Concurrency: 1, Prefetch: 1})
	}
	sc.addWorker("idle", profile{Concurrency: 1})
	for n := range 4 {
		sc.putTask(handed(n, []string{"a", "b"}[n/2], now))
	}
	now = now.Add(time.Second)
	require.Equal(t, map[string][]string{"a": serials(1, 1)}, recalledOf(sc.planRecalls(now)))
	require.Empty(t, sc.planRecalls(now.Add(recallWait-1)))
	require.Equal(t, map[string][]string{"b": serials(3, 3)}, recalledOf(sc.planRecalls(now.Add(recallWait+recallAfter))))
}

// A worker's folder never names more tasks than fit.
func TestRecallIsBounded(t *testing.T) {
	sc, now := newScheduler(), time.Now()
	sc.addWorker("a", profile{Concurrency: 1, Prefetch: 5000})
	sc.addWorker("b", profile{Concurrency: 1, Prefetch: 5000})
	for n := range 5000 {
		sc.putTask(handed(n, "a", now))
	}
	require.Len(t, sc.planRecalls(now.Add(time.Second))[0].serials, maxRecalled)
	require.Empty(t, sc.planRecalls(now.Add(2*time.Second)))
}

// For any distribution of tasks, the recalls end, and then no worker has a free
// slot while another worker has suitable tasks that have not begun.
func TestRecallsSpreadTasks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sc, now := newScheduler(), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		var workers []string
		for i := range rapid.IntRange(2, 5).Draw(t, "workers") {
			workers = append(workers, fmt.Sprint("w", i))
			sc.addWorker(workers[i], profile{
				Concurrency: rapid.IntRange(1, 4).Draw(t, "slots"), Prefetch: rapid.IntRange(0, 8).Draw(t, "prefetch"),
				Labels: rapid.SampledFrom([][]string{nil, {"x"}}).Draw(t, "labels"),
			})
		}
		zxid, serials := int64(1000), int64(0)
		next := func() string { serials++; return newSerial(7, serials) }
		for n := range rapid.IntRange(0, 40).Draw(t, "tasks") {
			slot := sc.workers[rapid.SampledFrom(workers).Draw(t, "worker")]
			if slot.load == slot.Concurrency+slot.Prefetch {
				continue
			}
			x := handed(n, slot.id, now)
			if slices.Contains(slot.Labels, "x") && rapid.Bool().Draw(t, "wants x") {
				x.Labels = slot.Labels
			}
			sc.putTask(x)
		}
		write := func(e *entry, r record) {
			zxid++
			sc.putTask(seenAs(r, session.Stat{Czxid: e.czxid, Mzxid: zxid, Mtime: now.UnixMilli()}))
		}
		quiet := 0
		for rounds := 0; quiet < 3; rounds++ {
			require.Less(t, rounds, 200, "the recalls do not end")
			now = now.Add(recallAfter)
			list := sc.planRecalls(now)
			if quiet++; len(list) > 0 {
				quiet = 0
			}
			for _, r := range list {
				begun := sc.inOrder(r.worker)[:sc.workers[r.worker].Concurrency]
				for _, e := range sc.inOrder(r.worker) {
					if slices.Contains(r.serials, serialOf(e.Assignment)) {
						require.NotContains(t, begun, e)
						write(e, e.returned())
					}
				}
			}
			for _, m := range sc.planMoves(now, 100, next) {
				write(sc.tasks[m.task.ID], m.next)
				sc.settleMove(m)
			}
		}
		for _, slot := range sc.workers {
			for _, o := range sc.workers {
				if tail := sc.inOrder(o.id); slot.load < slot.Concurrency && o.load > o.Concurrency {
					for _, e := range tail[o.Concurrency:] {
						require.False(t, hasAll(slot.Labels, e.Labels), "%s is idle, and %s has %s", slot.id, o.id, e.ID)
					}
				}
			}
		}
	})
}

func TestFolderKeepsUnknownFieldsWhenTasksAreRecalled(t *testing.T) {
	data, err := withRecalled([]byte(`{"format":1,"name":"w","concurrency":2,"prefetch":0,"new":{"a":[1]}}`), []string{"1.2"})
	require.NoError(t, err)
	require.JSONEq(t, `{"format":1,"name":"w","concurrency":2,"prefetch":0,"new":{"a":[1]},"recalled":["1.2"]}`, string(data))
	_, err = withRecalled([]byte(`{"format":2,"name":"w","concurrency":2}`), nil)
	require.ErrorIs(t, err, ErrRecord)
}
