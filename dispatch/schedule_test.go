package dispatch_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// minutely is a schedule with a slot at each minute.
func minutely(name string) dispatch.Schedule {
	return dispatch.Schedule{Name: name, Every: time.Minute, Task: dispatch.Task{Payload: []byte(name)}}
}

// set sets a schedule.
func (w *World) set(q *dispatch.Queue, s dispatch.Schedule) {
	w.Helper()
	require.NoError(w, q.SetSchedule(w.Within(time.Minute), s))
}

// schedules are the schedules of the queue.
func (w *World) schedules(q *dispatch.Queue) []dispatch.Schedule {
	w.Helper()
	list, err := q.Schedules(w.Within(time.Minute))
	require.NoError(w, err)
	return list
}

// next is the next slot of the only schedule.
func (w *World) next(q *dispatch.Queue) time.Time {
	w.Helper()
	list := w.schedules(q)
	require.Len(w, list, 1)
	return list[0].Next
}

// until passes the time up to a moment after a clock time, without the hour. Tests begin at
// midnight.
func (w *World) until(clock string) {
	w.Helper()
	at, err := time.Parse(time.RFC3339, "2000-01-01T00:"+clock+"Z")
	require.NoError(w, err)
	w.Pass(time.Until(at) + 100*time.Millisecond)
}

// slots are the slots of the tasks that exist, in their order, without date and hour.
func (w *World) slots(q *dispatch.Queue) (out []string) {
	w.Helper()
	for _, id := range w.ids(q) {
		_, slot, _ := strings.Cut(id, "@2000-01-01T00:")
		out = append(out, strings.TrimSuffix(slot, "Z"))
	}
	return out
}

// The task of each slot is submitted at its time, runs, and is not submitted again when it has
// been collected.
func TestScheduleSubmitsATaskAtEachSlot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.until("00:30")
		s := dispatch.Schedule{
			Name: "a/b", Every: time.Minute,
			Task: dispatch.Task{Payload: []byte("x"), Priority: 3, Labels: []string{"l"}, MaxAttempts: 2, Delay: time.Second, DeadlineAfter: time.Minute},
		}
		w.set(q, s)
		w.master(nil)
		w.worker(echo, &dispatch.WorkerOptions{Labels: []string{"l"}})
		w.until("00:59")
		require.Empty(w, w.ids(q))
		require.Equal(w, "2000-01-01T00:01:00Z", w.next(q).Format(time.RFC3339))
		w.until("01:00")
		require.Equal(w, []string{"a/b@2000-01-01T00:01:00Z"}, w.ids(q))
		in := w.get(q, "a/b@2000-01-01T00:01:00Z")
		require.Equal(w, []any{3, []string{"l"}, 2, "waiting"}, []any{in.Priority, in.Labels, in.MaxAttempts, string(in.State)})
		require.WithinDuration(w, in.Submitted.Add(time.Second), in.NotBefore, 0)
		require.WithinDuration(w, in.Submitted.Add(time.Minute), in.Deadline, 0)
		require.Equal(w, "x", string(w.collect(q, in.ID).Output))
		w.until("01:59")
		require.Empty(w, w.ids(q))
		w.until("04:00")
		require.Equal(w, []string{"02:00", "03:00", "04:00"}, w.slots(q))
		list := w.schedules(q)
		require.Len(w, list, 1)
		got := list[0]
		require.NoError(w, got.Err)
		require.Equal(w, "2000-01-01T00:04:00Z", got.Last.Format(time.RFC3339))
		require.Equal(w, "a/b@2000-01-01T00:04:00Z", got.LastTask)
		require.Equal(w, "2000-01-01T00:05:00Z", got.Next.Format(time.RFC3339))
		require.Equal(w, []any{"a/b", time.Minute, "x", 3, []string{"l"}, 2, time.Second, time.Minute, false},
			[]any{got.Name, got.Every, string(got.Task.Payload), got.Task.Priority, got.Task.Labels, got.Task.MaxAttempts, got.Task.Delay, got.Task.DeadlineAfter, got.Overlap})
		before := w.Server.Dump()
		w.set(q, got)
		w.set(q, s)
		require.Equal(w, before, w.Server.Dump(), "the same schedule again changes nothing")
	})
}

// Start is the first slot, and its fraction of a second is in the ids.
func TestScheduleWithAStart(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		s := minutely("x")
		s.Start, s.Every, s.Overlap = time.Now().Add(90*time.Second+250*time.Millisecond+time.Microsecond).In(time.FixedZone("x", 3600)), 20*time.Second, true
		w.set(q, s)
		w.until("01:30")
		require.Empty(w, w.ids(q))
		w.until("02:00")
		require.Equal(w, []string{"01:30.25", "01:50.25"}, w.slots(q))
		s.Name, s.Start = "y", s.Start.AddDate(-30, 0, 0) // another phase, in the past
		w.set(q, s)
		w.Pass(19 * time.Second)
		require.Len(w, w.ids(q), 4)
	})
}

// Slots that pass while no master leads count as one: the last of them.
func TestMissedSlotsCountAsOne(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.until("00:30")
		w.set(q, minutely("x"))
		w.until("05:30")
		require.Equal(w, "2000-01-01T00:01:00Z", w.next(q).Format(time.RFC3339))
		m := w.master(nil)
		w.Pass(time.Second)
		require.Equal(w, []string{"05:00"}, w.slots(q))
		require.NoError(w, m.end())
		w.collect(q, w.cancel(q)[0])
		w.until("05:59")
		m = w.master(nil)
		w.Pass(500 * time.Millisecond)
		require.Empty(w, w.ids(q), "the slot is over")
		require.NoError(w, m.end())
		w.until("09:10")
		w.master(nil)
		w.Pass(time.Second)
		require.Equal(w, []string{"09:00"}, w.slots(q))
	})
}

// cancel cancels all tasks that have not ended, and returns the ids of all.
func (w *World) cancel(q *dispatch.Queue) []string {
	w.Helper()
	ids := w.ids(q)
	for _, id := range ids {
		require.NoError(w, q.Cancel(w.Ctx, id))
	}
	return ids
}

// A slot is skipped while the task of the former slot has not ended, and is not run later. With
// Overlap it is run.
func TestSlotIsSkippedWhileTheFormerTaskHasNotEnded(t *testing.T) {
	for _, overlap := range []bool{false, true} {
		t.Run(fmt.Sprint("overlap ", overlap), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				s := minutely("x")
				s.Overlap = overlap
				w.set(q, s)
				m := w.master(nil)
				w.until("03:30")
				if overlap {
					require.Equal(w, []string{"01:00", "02:00", "03:00"}, w.slots(q))
					return
				}
				require.Equal(w, []string{"01:00"}, w.slots(q))
				got := w.schedules(q)[0]
				require.Equal(w, "01 04", got.Last.Format("04")+" "+got.Next.Format("04"))
				require.NoError(w, q.Cancel(w.Ctx, got.LastTask))
				require.NoError(w, m.end())
				w.master(nil)
				w.until("03:59")
				require.Equal(w, []string{"01:00"}, w.slots(q), "a skipped slot is over, for a new master, too")
				w.until("04:30")
				require.Equal(w, []string{"01:00", "04:00"}, w.slots(q))
				require.NoError(w, q.Cancel(w.Ctx, "x@2000-01-01T00:04:00Z"))
				require.NoError(w, q.Requeue(w.Ctx, "x@2000-01-01T00:04:00Z"))
				w.until("05:30")
				require.Len(w, w.ids(q), 2, "the former task waits again")
				require.NoError(w, q.Remove(w.Ctx, "x@2000-01-01T00:04:00Z"))
				w.submit(q, dispatch.Task{ID: "x@2000-01-01T00:04:00Z"}) // not that task
				w.until("06:30")
				require.Equal(w, []string{"01:00", "04:00", "06:00"}, w.slots(q))
			})
		})
	}
}

// readsSlot reports whether a master reads the schedule x for its slot.
func readsSlot(r zktest.Request) bool {
	return r.Op == "multiRead" && slices.Contains(r.Paths, path+"/schedules/x/last") && slices.Contains(r.Paths, path+"/admission/schedules")
}

// atSlot does something between the moments when the master, the world's n-th client, has read
// the schedule x at its slot and writes the slot.
func (w *World) atSlot(n int, clock string, do func()) {
	w.Helper()
	w.makeBuckets() // or the transaction fails for want of one
	read := make(chan struct{})
	var first sync.Once
	remove := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
		if readsSlot(r) {
			first.Do(func() {
				w.Server.Delay(linkOf(n), zktest.ToServer, 2*time.Second)
				close(read)
			})
		}
		return zktest.Action{}
	})
	defer remove()
	w.until(clock)
	<-read
	w.Pass(time.Second)
	do()
	w.Pass(5 * time.Second)
	w.Server.Heal()
}

// A task is requeued between the moments when the master reads that it has ended and submits the
// next: the slot is skipped.
func TestFormerTaskThatIsRequeuedAtTheSlot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		w.master(nil)
		w.until("01:30")
		first := w.cancel(q)[0]
		w.atSlot(2, "02:00", func() { require.NoError(w, q.Requeue(w.Ctx, first)) })
		w.until("02:30")
		require.Equal(w, []string{first}, w.ids(q))
		require.Equal(w, "03", w.next(q).Format("04"))
	})
}

// Slots wait while the queue is full, and count as one when it has room.
func TestSlotsWaitForRoom(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, c := w.queue(), w.Client()
		s := minutely("x")
		s.Overlap = true
		w.set(q, s)
		w.beside(dispatch.NewMaster(c, path, &dispatch.Options{MaxTasks: 2}).Run)
		w.submit(q, dispatch.Task{ID: "a"})
		w.submit(q, dispatch.Task{ID: "b"})
		w.countBeats()
		w.until("00:30")
		idle := w.counts(c, func() { w.until("00:50") })
		w.until("02:30")
		require.Equal(w, idle, w.counts(c, func() { w.until("02:50") }), "slots that wait cost nothing")
		w.until("03:10")
		require.ElementsMatch(w, []string{"a", "b"}, w.ids(q))
		require.Equal(w, "01", w.next(q).Format("04"))
		require.NoError(w, q.Cancel(w.Ctx, "a"))
		require.NoError(w, q.Cancel(w.Ctx, "b"))
		w.Pass(time.Second)
		require.Contains(w, w.ids(q), "x@2000-01-01T00:03:00Z")
		require.Len(w, w.ids(q), 3)
	})
}

// A replaced schedule keeps its last slot. If the slots change, those before the change are not
// run; if only the task changes, a slot that waits is run.
func TestScheduleIsReplaced(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		s := minutely("x")
		s.Overlap = true
		w.set(q, s)
		m := w.master(nil)
		w.until("01:40")
		require.Equal(w, []string{"01:00"}, w.slots(q))
		s.Every = 30 * time.Second
		w.set(q, s)
		w.until("01:59")
		require.Equal(w, []string{"01:00"}, w.slots(q), "01:30 is before the change")
		w.until("02:01")
		require.Equal(w, []string{"01:00", "02:00"}, w.slots(q))
		require.Equal(w, "02:00", w.schedules(q)[0].Last.Format("04:05"))
		require.NoError(w, m.end())
		w.until("02:40")
		s.Task.Payload = []byte("new")
		w.set(q, s)
		w.master(nil)
		w.Pass(time.Second)
		require.Equal(w, []string{"01:00", "02:00", "02:30"}, w.slots(q))
		w.worker(echo, nil)
		require.Equal(w, "new", string(w.collect(q, "x@2000-01-01T00:02:30Z").Output))
		existed, err := q.DeleteSchedule(w.Ctx, "x")
		require.NoError(w, err)
		require.True(w, existed)
		existed, err = q.DeleteSchedule(w.Ctx, "x")
		require.NoError(w, err)
		require.False(w, existed)
		w.until("05:00")
		require.Equal(w, []string{"01:00", "02:00"}, w.slots(q))
		require.Empty(w, w.schedules(q))
		require.Empty(w, w.Children(path+"/schedules"))
		w.set(q, s)
		w.until("05:40")
		require.Equal(w, "05:30", w.schedules(q)[0].Last.Format("04:05"))
	})
}

// A schedule is changed, or deleted, or deleted and set again, between the moments when the
// master reads it and submits its task: no task of the former schedule is submitted.
func TestScheduleThatChangesAtItsSlot(t *testing.T) {
	for name, change := range map[string]func(w *World, q *dispatch.Queue) error{
		"changed": func(w *World, q *dispatch.Queue) error {
			s := minutely("x")
			s.Start, s.Task.Payload = time.Now().Add(10*time.Second), []byte("new")
			return q.SetSchedule(w.Ctx, s)
		},
		"deleted": func(w *World, q *dispatch.Queue) error {
			_, err := q.DeleteSchedule(w.Ctx, "x")
			return err
		},
		"deleted and set again": func(w *World, q *dispatch.Queue) error {
			if _, err := q.DeleteSchedule(w.Ctx, "x"); err != nil {
				return err
			}
			s := minutely("x")
			s.Task.Payload = []byte("new")
			return q.SetSchedule(w.Ctx, s)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				w.set(q, minutely("x"))
				w.master(nil)
				w.atSlot(2, "01:00", func() { require.NoError(w, change(w, q)) })
				w.until("01:09")
				require.Empty(w, w.ids(q))
				w.worker(echo, nil)
				w.until("03:00")
				for _, id := range w.ids(q) {
					require.Equal(w, "new", string(w.collect(q, id).Output), id)
				}
			})
		})
	}
}

// A task that a client has submitted under the id of a slot is the task of the slot.
func TestTaskOfTheIDOfASlotExists(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		w.master(nil)
		w.submit(q, dispatch.Task{ID: "x@2000-01-01T00:01:00Z", Payload: []byte("another"), Delay: 90 * time.Second})
		w.until("02:10")
		require.Equal(w, []string{"01:00"}, w.slots(q), "02:00 is skipped")
		require.Equal(w, "01", w.schedules(q)[0].Last.Format("04"))
		require.NoError(w, q.Cancel(w.Ctx, "x@2000-01-01T00:01:00Z"))
		w.until("03:10")
		require.Equal(w, []string{"01:00", "03:00"}, w.slots(q))
	})
}

// Many schedules are due at once: each submits its task, in few requests.
func TestManySchedulesAtOnce(t *testing.T) {
	const n = 200
	inWorld(t, nil, func(w *World) {
		q, c := w.queue(), w.Client()
		w.beside(dispatch.NewMaster(c, path, nil).Run)
		for i := range n {
			s := minutely(fmt.Sprint("s", i))
			s.Overlap = true
			w.set(q, s)
		}
		w.makeBuckets()
		w.until("00:59")
		before := w.Requests(c)
		w.until("01:05")
		require.Len(w, w.ids(q), n)
		require.Less(w, w.Requests(c)-before, 5*n, "two for the new task, and a part of the transaction")
		require.Len(w, w.schedules(q), n)
	})
}

func TestArgumentsOfSchedulesAreChecked(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		for want, change := range map[string]func(s *dispatch.Schedule){
			"Name has 0 bytes":               func(s *dispatch.Schedule) { s.Name = "" },
			"Name has 257 bytes":             func(s *dispatch.Schedule) { s.Name = strings.Repeat("x", 257) },
			"Name is":                        func(s *dispatch.Schedule) { s.Name = "\xff" },
			"Every is 999ms":                 func(s *dispatch.Schedule) { s.Every = 999 * time.Millisecond },
			"Every is -1h0m0s":               func(s *dispatch.Schedule) { s.Every = -time.Hour },
			"Start is in the year 10000":     func(s *dispatch.Schedule) { s.Start = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) },
			"Start is in the year 0":         func(s *dispatch.Schedule) { s.Start = time.Time{}.Add(-1) },
			"Task.ID is":                     func(s *dispatch.Schedule) { s.Task.ID = "x" },
			"Task.Attached is true":          func(s *dispatch.Schedule) { s.Task.Attached = true },
			"Task.Deadline is set":           func(s *dispatch.Schedule) { s.Task.Deadline = time.Now() },
			"MaxAttempts is -1":              func(s *dispatch.Schedule) { s.Task.MaxAttempts = -1 },
			"Payload has 1000001 bytes":      func(s *dispatch.Schedule) { s.Task.Payload = make([]byte, 1_000_001) },
			"DeadlineAfter is -1s":           func(s *dispatch.Schedule) { s.Task.DeadlineAfter = -time.Second },
			"Labels has \"\"; it must be 1 ": func(s *dispatch.Schedule) { s.Task.Labels = []string{""} },
		} {
			s := minutely("x")
			change(&s)
			err := q.SetSchedule(w.Ctx, s)
			require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
			require.ErrorContains(w, err, want)
		}
		_, err := q.DeleteSchedule(w.Ctx, "")
		require.ErrorIs(w, err, dispatch.ErrInvalidArgument)
		require.Empty(w, w.schedules(q))
		_, err = w.Server.Get(path)
		require.Error(w, err, "nothing was written")
	})
}

// The longest name, labels and payload fit into the transactions.
func TestLargestSchedule(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		s := dispatch.Schedule{Name: strings.Repeat("\x01", 256), Every: time.Second, Task: dispatch.Task{Payload: make([]byte, 1_000_000)}}
		for n := range 32 {
			s.Task.Labels = append(s.Task.Labels, fmt.Sprintf("%s%02d", strings.Repeat("\x02", 62), n))
		}
		w.set(q, s)
		w.master(nil)
		w.worker(echo, &dispatch.WorkerOptions{Labels: s.Task.Labels})
		w.Pass(2500 * time.Millisecond)
		list := w.schedules(q)
		require.NotEmpty(w, list[0].LastTask)
		require.Len(w, w.collect(q, list[0].LastTask).Output, 1_000_000)
	})
}

// Requests of each call, of a slot, and of a change for the master.
func TestRequestsOfSchedules(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		w.countBeats()
		c, mc := w.Client(), w.Client()
		q := dispatch.New(c, path, nil)
		first := minutely("first")
		first.Start = time.Now().Add(47 * time.Second) // between audits
		w.set(q, first)
		w.makeBuckets()
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.Settle()
		w.Pass(5 * time.Second)
		s := minutely("x")
		change := w.counts(mc, func() { w.set(q, s) })
		require.Equal(w, map[string]int{"multiRead": 1, "sync": 2, "getData": 4, "exists": 1, "getChildren2": 1}, change, "the master reads the change")
		s.Overlap = true
		require.Equal(w, map[string]int{"getData": 2, "multi": 1}, w.counts(c, func() { w.set(q, s) }))
		require.Equal(w, map[string]int{"getData": 2}, w.counts(c, func() { w.set(q, s) }), "the same again, and a check that proves it")
		require.Equal(w, map[string]int{"getChildren2": 1, "multiRead": 1}, w.counts(c, func() { w.schedules(q) }), "and a check ahead")
		require.Equal(w, map[string]int{"getData": 3, "multi": 1}, w.counts(c, func() { _, _ = q.DeleteSchedule(w.Ctx, "x") }))
		w.until("00:46")
		slot := w.counts(mc, func() { w.Pass(2 * time.Second) })
		require.Equal(w, map[string]int{"sync": 1, "multiRead": 1, "multi": 1, "getData": 1}, slot, "with the read of a new task")
	})
}
