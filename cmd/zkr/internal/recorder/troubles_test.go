//go:build unix

package recorder_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// told is the history of a recording.
type told struct {
	stays []*history.Stay
	gaps  []txnlog.Finding
	found []history.Suspicion
}

// tell reads the history of a recording at and below a path, and checks what holds for each.
func tell(w *world.World, dir, path string) *told {
	w.Helper()
	out := &told{}
	f, err := recording.OpenFolder("r", dir)
	require.NoError(w, err)
	audit := history.NewAuditor(func(s history.Suspicion) { out.found = append(out.found, s) })
	r, err := history.NewRecordingReader(w.Ctx, path, f, &history.Options{
		Began: audit.Began, Granted: audit.Granted, Thing: audit.Thing,
		Ended: func(s *history.Stay) {
			audit.Ended(s)
			out.stays = append(out.stays, s)
		},
		Report: func(f txnlog.Finding) { out.gaps = append(out.gaps, f) },
	})
	require.NoError(w, err)
	defer func() { _ = r.Close() }()
	_, err = r.Run(w.Ctx)
	require.NoError(w, err)
	for i, s := range out.stays {
		if held, known := s.Held(); known {
			require.GreaterOrEqual(w, held, time.Duration(0), "stay %d", i)
		}
		if waited, known := s.Waited(); known {
			require.GreaterOrEqual(w, waited, time.Duration(0), "stay %d", i)
		}
		require.True(w, s.EndedAfter == nil || !s.EndedAfter.After(s.Ended.Time))
	}
	require.NotContains(w, out.kinds(), history.TwoHolders)
	return out
}

func (d *told) kinds() (out []string) {
	for _, s := range d.found {
		out = append(out, s.Kind)
	}
	return out
}

// outline is who held, and how that ended: "after" if the end is between two moments.
func (d *told) outline() (out []string) {
	for _, s := range d.stays {
		line := s.Client() + " " + s.As
		switch {
		case s.EndedAfter != nil:
			line += " " + string(s.How) + " after"
		case s.Ended != nil:
			line += " " + string(s.How)
		}
		out = append(out, line)
	}
	return out
}

// at lists the clients that had the lock at a moment, with a question mark where that is uncertain.
func (d *told) at(moment time.Time) (out []string) {
	for _, s := range d.stays {
		switch {
		case s.IsUncertainAt(moment):
			out = append(out, s.Client()+"?")
		case s.HasAt(moment):
			out = append(out, s.Client())
		}
	}
	return out
}

// lock takes the lock /l.
func (s *stage) lock(c *session.Client, id string) *lock.Held {
	s.Helper()
	h, err := lock.New(c, "/l", &lock.Options{ID: id}).Lock(s.Ctx)
	require.NoError(s, err)
	s.Pass(time.Second)
	return h
}

// unlock releases a lock.
func (s *stage) unlock(h *lock.Held) {
	s.Helper()
	require.NoError(s, h.Unlock(s.Ctx))
	s.Pass(time.Second)
}

// The holds below a deleted root are over, and the next root is recorded as ever: nothing is
// missing.
func TestRecordedRootIsDeletedAndMadeAgain(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := recordTo(w, t.TempDir(), "/l", w.Client(), recorder.Options{}, nil)
		c := w.Client()
		_ = s.lock(c, "one")
		require.NoError(w, w.Server.DeleteAll("/l"))
		deleted := time.Now()
		w.Pass(10 * time.Second)
		s.unlock(s.lock(w.Client(), "two"))
		_, gaps := s.end()
		require.Empty(w, gaps)
		d := tell(w, s.dir, "/l")
		require.Equal(w, []string{"one holds gone", "two holds gone"}, d.outline())
		require.Less(w, d.stays[0].Ended.Time.Sub(deleted), time.Second)
		require.Empty(w, d.found)
	})
}

// While the folder, or the file, is deleted, the recorder goes on in a new one, and says
// from when on nothing is recorded.
func TestRecorderGoesOnWhenItsFilesAreDeleted(t *testing.T) {
	for _, folder := range []bool{true, false} {
		world.In(t, nil, func(w *world.World) {
			dir := filepath.Join(t.TempDir(), "recording")
			c, begun := w.Client(), time.Now()
			s := record(w, dir, w.Client(), recorder.Options{})
			one := s.lock(c, "one")
			harm := dir
			if !folder {
				harm = filepath.Join(dir, "recording-00000001.jsonl.gz")
			}
			require.NoError(w, os.RemoveAll(harm))
			s.unlock(one)
			held := time.Now()
			two := s.lock(c, "two")
			require.Equal(w, []string{"recording", "recording"}, kinds(s.events))
			require.Equal(w, recording.ErrDeleted.Error(), s.events[1].Why)
			w.Pass(10 * time.Second)
			s.unlock(two)
			_, gaps := s.end()
			require.Len(w, gaps, 1)
			require.ErrorContains(w, gaps[0].Err, "deleted")
			require.Less(w, gaps[0].Since.Sub(begun), time.Second)
			require.Less(w, gaps[0].Until.Sub(held), time.Second)
			require.Equal(w, []string{"two holds gone"}, tell(w, dir, "/l").outline())
		})
	}
}

// While the disk is full, nothing is recorded, and the recorder says so once. When there is
// room, it goes on with a gap; a hold that ended meanwhile has two moments.
func TestFullDiskIsAGap(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var full atomic.Bool
		write := func(f *os.File, b []byte) (int, error) {
			if full.Load() {
				return 0, &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
			}
			return f.Write(b)
		}
		s := recordTo(w, t.TempDir(), "/", w.Client(), recorder.Options{}, &recording.Options{Write: write})
		one := s.lock(w.Client(), "one")
		w.Pass(20 * time.Second)
		full.Store(true)
		filled := time.Now()
		s.unlock(one)
		two := s.lock(w.Client(), "two")
		w.Pass(35 * time.Second)
		full.Store(false)
		room := time.Now()
		w.Pass(fullPause)
		s.unlock(two)
		require.Equal(w, []string{"recording", "full", "recording"}, kinds(s.events))
		require.ErrorContains(w, fmt.Errorf("%s", s.events[1].Why), "no space left on device")
		full.Store(true)
		require.NoError(w, w.Server.Create("/x", nil))
		w.Pass(time.Second)
		_, _ = s.end() // while it is full
		d := tell(w, s.dir, "/l")
		require.Equal(w, []string{"one holds gone after", "two holds gone"}, d.outline())
		require.False(w, d.stays[0].EndedAfter.After(filled))
		require.Less(w, filled.Sub(*d.stays[0].EndedAfter), 10*time.Second)
		require.Equal(w, d.stays[0].EndedAfter, d.stays[1].GrantedAfter)
		require.False(w, d.stays[1].Granted.Time.Before(room))
		require.Equal(w, []string{"one?", "two?"}, d.at(filled.Add(20*time.Second)))
		require.ErrorContains(w, d.gaps[len(d.gaps)-1].Err, "the disk is full")
	})
}

// fullPause is more than the time between two attempts to write to a full disk.
const fullPause = 12 * time.Second

// A disk that is slow changes no time, and takes a bounded memory: with more changes there is a
// gap.
func TestSlowDisk(t *testing.T) {
	for _, most := range []int{0, 20 << 10} {
		world.In(t, nil, func(w *world.World) {
			var slow atomic.Bool
			gone := make(chan struct{})
			write := func(f *os.File, b []byte) (int, error) {
				if slow.Load() {
					<-gone
				}
				return f.Write(b)
			}
			require.NoError(w, w.Server.Create("/n", nil))
			s := recordTo(w, t.TempDir(), "/", w.Client(), recorder.Options{MaxWaiting: most}, &recording.Options{Write: write})
			one := s.lock(w.Client(), "one")
			slow.Store(true)
			begun := time.Now()
			for i := range 60 {
				require.NoError(w, w.Server.Set("/n", fmt.Append(nil, i)))
				w.Settle()
			}
			s.unlock(one)
			ended := time.Now()
			w.Pass(5 * time.Second)
			slow.Store(false)
			close(gone)
			w.Pass(5 * time.Second)
			lines, gaps := s.end()
			d := tell(w, s.dir, "/l")
			if most == 0 {
				require.Empty(w, gaps)
				require.Contains(w, lines, "setData /n 0; ")
				require.Contains(w, lines, "setData /n 59; ")
				require.Equal(w, []string{"one holds gone"}, d.outline())
				require.Less(w, ended.Sub(d.stays[0].Ended.Time), 2*time.Second)
				return
			}
			require.Len(w, gaps, 1)
			require.ErrorContains(w, gaps[0].Err, "changes came faster than they could be recorded")
			require.False(w, gaps[0].Since.After(begun))
			require.Equal(w, []string{"one holds gone after"}, d.outline())
		})
	}
}

// A recorder that was stopped, as by SIGSTOP, sees all that has happened at once: it has
// happened after the last moment that is proven. The machine's clock tells how long it was.
func TestRecorderThatWasPaused(t *testing.T) {
	for _, pause := range []time.Duration{2 * time.Second, time.Minute} {
		world.In(t, nil, func(w *world.World) {
			var offset atomic.Int64
			now := func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }
			s := record(w, t.TempDir(), w.Client(), recorder.Options{Clock: now})
			both := w.Client()
			one := s.lock(both, "one")
			s.create(both, "/other", "", session.Ephemeral)
			w.Pass(20 * time.Second)
			stopped := time.Now()
			offset.Store(int64(pause))
			require.NoError(w, w.Server.Delete("/other"))
			require.NoError(w, w.Server.Delete(one.Path()))
			w.Pass(30 * time.Second)
			s.unlock(s.lock(w.Client(), "two"))
			_, gaps := s.end()
			d := tell(w, s.dir, "/l")
			require.Equal(w, []string{"one holds gone after", "two holds gone"}, d.outline())
			require.False(w, d.stays[0].EndedAfter.After(stopped))
			require.Less(w, stopped.Sub(*d.stays[0].EndedAfter), 10*time.Second)
			require.Less(w, d.stays[0].Ended.Time.Sub(stopped.Add(pause)), time.Second)
			if pause < time.Minute {
				require.Empty(w, gaps)
				return
			}
			require.Len(w, gaps, 1)
			require.ErrorContains(w, gaps[0].Err, "the recorder was paused for 1m0s")
			require.Equal(w, []string{"one?"}, d.at(stopped.Add(pause/4)))
		})
	}
}

// When the machine's clock is set back, nothing gets a negative length or another order, also
// after a restart of the recorder; the recording says so.
func TestClockThatIsSetBack(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		var offset atomic.Int64
		o := recorder.Options{Clock: func() time.Time { return time.Now().Add(time.Duration(offset.Load())) }}
		dir, c := t.TempDir(), w.Client()
		s := record(w, dir, w.Client(), o)
		one := s.lock(c, "one")
		w.Pass(10 * time.Second)
		offset.Store(-int64(time.Hour))
		w.Pass(10 * time.Second)
		s.unlock(one)
		s.unlock(s.lock(c, "two"))
		w.Pass(10 * time.Second)
		require.Equal(w, []string{"recording", "clock"}, kinds(s.events))
		_, gaps := s.end()
		require.Len(w, gaps, 1)
		require.Equal(w, txnlog.Disorder, gaps[0].Kind)
		require.ErrorContains(w, gaps[0].Err, "was 1h0m0s behind the recording")
		w.Pass(time.Minute)
		s = record(w, dir, w.Client(), o)
		three := s.lock(c, "three")
		w.Pass(10 * time.Second)
		s.unlock(three)
		_, _ = s.end()
		d := tell(w, dir, "/l")
		require.Equal(w, []string{"one holds gone", "two holds gone", "three holds gone"}, d.outline())
		require.Empty(w, d.found)
		last := time.Time{}
		for _, stay := range d.stays {
			require.False(w, stay.Granted.Time.Before(last), "no hold begins before the last one has ended")
			last = stay.Ended.Time
		}
		held, _ := d.stays[0].Held()
		require.InDelta(w, 16, held.Seconds(), 2) // 10 s, and half of 11 s
	})
}

// Servers without their data have no holds of before: those are over, also if a znode of the same
// name exists again, and what was granted since has another token.
func TestEnsembleIsRecreatedEmpty(t *testing.T) {
	const path = "/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba820-lock-0000000000"
	for _, back := range []bool{true, false} { // the znodes are, before the recorder is
		world.In(t, nil, func(w *world.World) {
			require.NoError(w, w.Server.Create("/l", nil))
			for range 100 { // the zxids grow
				require.NoError(w, w.Server.Set("/l", nil))
			}
			s := record(w, t.TempDir(), w.Client(), recorder.Options{})
			s.create(w.Client(), path, "", session.Ephemeral)
			w.Pass(20 * time.Second)
			recreated := time.Now()
			require.NoError(w, w.Server.RestartEmpty())
			again := func() {
				require.NoError(w, w.Server.Create("/l", nil))
				s.create(w.Client(), path, "", session.Ephemeral)
			}
			if back {
				again()
			}
			w.Pass(2 * time.Minute)
			if !back {
				again()
			}
			w.Pass(10 * time.Second)
			_, gaps := s.end()
			require.Len(w, gaps, 1)
			require.False(w, gaps[0].Since.After(recreated))
			d := tell(w, s.dir, "/l")
			require.Len(w, d.stays, 2)
			former, next := d.stays[0], d.stays[1]
			require.Equal(w, history.Gone, former.How)
			require.Nil(w, next.Ended)
			require.False(w, former.EndedAfter.After(recreated))
			require.Less(w, recreated.Sub(*former.EndedAfter), 10*time.Second)
			require.NotEqual(w, former.Session, next.Session)
			require.Less(w, next.Token, former.Token)
			require.Contains(w, d.kinds(), history.TokenWentBack)
			require.Equal(w, []string{former.Client() + "?"}, d.at(recreated.Add(time.Second))[:1])
			if back {
				require.ErrorContains(w, gaps[0].Err, "the connection was lost; "+recording.WentBack)
				return
			}
			require.ErrorContains(w, gaps[0].Err, "the connection was lost; "+session.ErrRefused.Error())
			require.Equal(w, []string{next.Client()}, d.at(time.Now()))
		})
	}
}

// Servers restored from a backup know a hold again that had ended: it is another stay, which
// does not begin before the gap.
func TestEnsembleIsRestoredFromABackup(t *testing.T) {
	for _, servers := range []int{1, 3} {
		world.In(t, &zktest.Options{Servers: servers}, func(w *world.World) {
			require.NoError(w, w.Server.WaitLeader(w.Ctx))
			require.NoError(w, w.Server.Create("/config", nil))
			s := record(w, t.TempDir(), w.Client(), recorder.Options{})
			one := s.lock(w.Client(), "one")
			backup, err := w.Server.Mark()
			require.NoError(w, err)
			s.unlock(one)
			require.NoError(w, w.Server.Set("/config", []byte("newer")))
			_ = s.lock(w.Client(), "two")
			w.Pass(10 * time.Second)
			restored := time.Now()
			require.NoError(w, w.Server.RollBack(backup))
			w.Pass(3 * time.Minute)
			_, gaps := s.end()
			require.NotEmpty(w, gaps)
			require.ErrorContains(w, gaps[0].Err, recording.WentBack)
			d := tell(w, s.dir, "/l")
			require.Equal(w, "one holds gone", d.outline()[0])
			two := d.stays[1]
			require.Equal(w, "two holds gone after", d.outline()[1])
			require.Less(w, restored.Sub(*two.EndedAfter).Abs(), 10*time.Second)
			for _, again := range d.stays[2:] {
				require.False(w, again.Entered.Time.Before(*two.EndedAfter))
			}
			require.Equal(w, []string{"two"}, d.at(restored.Add(-8*time.Second)))
		})
	}
}

// An operator's record tells who broke a hold, also from a recording.
func TestBrokenHoldIsTold(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		s := record(w, t.TempDir(), w.Client(), recorder.Options{})
		c := w.Client()
		_ = s.lock(c, "one")
		m := lock.New(w.Client(), "/l", nil)
		all, err := m.Contenders(w.Ctx)
		require.NoError(w, err)
		require.NoError(w, m.Break(w.Ctx, all[0], "bob", "it hangs"))
		w.Pass(time.Second)
		s.unlock(s.lock(w.Client(), "two"))
		_, gaps := s.end()
		require.Empty(w, gaps)
		d := tell(w, s.dir, "/l")
		require.Equal(w, []string{"one holds broken", "two holds gone"}, d.outline())
		require.Equal(w, "bob it hangs", d.stays[0].BrokenBy+" "+d.stays[0].Reason)
		require.Equal(w, []string{history.TakenAway}, d.kinds())
	})
}
