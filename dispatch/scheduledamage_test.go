package dispatch_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/observe"
)

// An operator deletes a znode while a master leads, after the first slot. A schedule that exists
// is run again, and a schedule can be set again.
func TestSchedulesWhoseZnodesWereDeleted(t *testing.T) {
	for at, want := range map[string]struct {
		exists bool
		slots  string // after the damage, by the present master
	}{
		"/admission/schedules": {true, "02:00 03:00"},
		"/admission":           {true, "02:00 03:00"},
		"/admission/open":      {true, "02:00 03:00"},
		"/schedules":           {false, ""},
		"/schedules/x":         {false, ""},
		"/schedules/x/last":    {true, "01:00 02:00 03:00"}, // the task is gone, too
		"/tasks":               {true, "02:00 03:00"},
		"/data":                {true, "02:00 03:00"},
		"":                     {false, ""},
	} {
		t.Run(at, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				s := minutely("x")
				s.Overlap = true
				w.set(q, s)
				m := w.master(nil)
				w.until("01:10")
				require.Equal(w, []string{"01:00"}, w.slots(q))
				require.NoError(w, q.Remove(w.Ctx, "x@2000-01-01T00:01:00Z"))
				require.NoError(w, w.Server.DeleteAll(path+at))
				w.until("01:30")
				require.NoError(w, m.end())
				m = w.master(nil)
				w.until("03:10")
				require.Equal(w, want.slots, strings.Join(w.slots(q), " "))
				require.Len(w, w.schedules(q), map[bool]int{true: 1}[want.exists])
				w.cancel(q)
				s.Task.Priority = 9
				w.set(q, s)
				w.until("04:10")
				require.Contains(w, w.slots(q), "04:00")
				require.Equal(w, 9, w.get(q, "x@2000-01-01T00:04:00Z").Priority)
				require.NoError(w, m.end())
			})
		})
	}
}

// The session of the master ends, and all znodes are gone, as on servers that were created again
// empty: schedules that are set again are run.
func TestSchedulesOnServersThatWereCreatedAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q, mc := w.queue(), w.Client()
		w.set(q, minutely("x"))
		w.beside(dispatch.NewMaster(mc, path, nil).Run)
		w.until("01:10")
		require.Len(w, w.ids(q), 1)
		require.NoError(w, w.Server.DeleteAll(path))
		w.Expire(mc)
		w.Pass(10 * time.Second)
		w.set(q, minutely("x"))
		w.until("02:10")
		require.Equal(w, []string{"02:00"}, w.slots(q))
	})
}

// Znodes that an operator has created, as from a backup, are noticed within a minute, and records
// that an operator has overwritten are left alone.
func TestSchedulesThatWereWrittenByHand(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		x := minutely("x")
		x.Overlap = true
		w.set(q, x)
		w.set(q, minutely("y"))
		node, err := w.Server.Get(path + "/schedules/x")
		require.NoError(w, err)
		require.NoError(w, w.Server.DeleteAll(path+"/schedules/x"))
		m := w.master(nil)
		w.until("01:30")
		require.NoError(w, w.Server.Create(path+"/schedules/x", node.Data))
		w.until("03:10")
		require.Contains(w, w.ids(q), "x@2000-01-01T00:03:00Z")
		w.cancel(q)
		for n, bad := range []string{"garbage", "", `{"format":2}`, string(node.Data)} {
			newer := n == 2
			require.NoError(w, w.Server.Set(path+"/schedules/y", []byte(bad)))
			before := len(w.ids(q))
			w.Pass(2 * time.Minute)
			w.cancel(q)
			require.Len(w, w.ids(q), before+2, "of x")
			list := w.schedules(q)
			require.Len(w, list, 2)
			require.NoError(w, list[0].Err)
			require.ErrorIs(w, list[1].Err, dispatch.ErrRecord)
			require.ErrorContains(w, list[1].Err, path+"/schedules/y")
			require.Equal(w, "y", list[1].Name)
			s := minutely("y")
			s.Task.Priority = n
			err := q.SetSchedule(w.Ctx, s)
			require.Equal(w, newer, err != nil, "garbage is replaced: %v", err)
			if newer {
				require.ErrorIs(w, err, dispatch.ErrRecord)
				_, err = q.DeleteSchedule(w.Ctx, "y")
				require.ErrorIs(w, err, dispatch.ErrRecord)
			}
		}
		require.NoError(w, m.end())
		require.NoError(w, w.Server.Set(path+"/schedules/y", []byte("garbage")))
		existed, err := q.DeleteSchedule(w.Ctx, "y")
		require.NoError(w, err)
		require.True(w, existed)
	})
}

// The record of the last slot was overwritten, or is of a newer version: no task is submitted, and
// the reason is shown, until the schedule is deleted, or the record.
func TestLastSlotThatCannotBeRead(t *testing.T) {
	for _, bad := range []string{"garbage", `{"format":2}`} {
		t.Run(bad, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				s := minutely("x")
				s.Overlap = true
				w.set(q, s)
				w.master(nil)
				w.until("01:10")
				last := path + "/schedules/x/last"
				require.NoError(w, w.Server.Set(last, []byte(bad)))
				w.cancel(q)
				w.until("03:10")
				require.Len(w, w.ids(q), 1)
				got := w.schedules(q)[0]
				require.ErrorIs(w, got.Err, dispatch.ErrRecord)
				require.ErrorContains(w, got.Err, last)
				require.Equal(w, []any{"x", time.Minute, "x"}, []any{got.Name, got.Every, string(got.Task.Payload)})
				require.NoError(w, w.Server.Delete(last))
				w.until("05:10")
				require.Contains(w, w.slots(q), "05:00")
			})
		})
	}
}

// The record of the former task was overwritten: slots are skipped until the task is removed.
func TestFormerTaskThatCannotBeRead(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.set(q, minutely("x"))
		m := w.master(nil)
		w.until("01:10")
		bucket := path + "/tasks/" + w.Children(path + "/tasks")[0] + "/"
		require.NoError(w, w.Server.Set(bucket+"x@2000-01-01T00:01:00Z", []byte("garbage")))
		w.until("02:10")
		require.NoError(w, m.end())
		require.Len(w, w.ids(q), 1)
		require.NoError(w, q.Remove(w.Ctx, "x@2000-01-01T00:01:00Z"))
		w.master(nil)
		w.until("03:10")
		require.Equal(w, []string{"03:00"}, w.slots(q))
		// A task of the id of the next slot that cannot be read counts as that slot's.
		w.cancel(q)
		w.submit(q, dispatch.Task{ID: "x@2000-01-01T00:04:00Z", Delay: time.Hour})
		for _, n := range w.Server.Dump() {
			if strings.HasPrefix(n.Path, path+"/tasks/") && strings.HasSuffix(n.Path, "4:00Z") {
				require.NoError(w, w.Server.Set(n.Path, []byte("garbage")))
			}
		}
		w.until("05:10")
		got := w.schedules(q)[0]
		require.Equal(w, []string{"x@2000-01-01T00:04:00Z", "06"}, []string{got.LastTask, got.Next.Format("04")})
		require.NoError(w, q.Remove(w.Ctx, "x@2000-01-01T00:04:00Z"))
		w.until("06:10")
		require.Contains(w, w.slots(q), "06:00")
	})
}

// A folder whose list of schedules is long is read, also after a change.
func TestLongPayloadsOfManySchedules(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		w.master(nil)
		for n := range 12 {
			s := minutely(fmt.Sprint("s", n))
			s.Task.Payload = make([]byte, 900_000)
			w.set(q, s)
		}
		w.until("01:20")
		require.Len(w, w.ids(q), 12)
		require.Len(w, w.schedules(q), 12)
	})
}

// The observer of the master's client is told of each submission once.
func TestSubmissionsBySchedulesAreObserved(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		q := w.queue()
		s := minutely("x")
		s.Overlap = true
		w.set(q, s)
		c, events := w.ClientObserved(func(e observe.Event) bool { _, is := e.(observe.TaskChanged); return is })
		w.beside(dispatch.NewMaster(c, path, nil).Run)
		w.until("02:10")
		for _, slot := range []string{"1", "2"} {
			require.Equal(w, observe.TaskChanged{Path: path, Task: "x@2000-01-01T00:0" + slot + ":00Z", To: "waiting"}, <-events)
		}
		require.Empty(w, events)
	})
}
