package recorder_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recorder"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestMain(m *testing.M) { world.Main(m) }

// stage is a recorder of a world.
type stage struct {
	*world.World
	dir    string
	w      *recording.Writer
	stop   context.CancelFunc
	over   chan error
	events []recorder.Event // read when the recorder has ended, or is settled
}

// record starts a recorder of a client, and waits for the first state.
func record(w *world.World, dir string, client *session.Client, o recorder.Options) *stage {
	w.Helper()
	return recordTo(w, dir, "/", client, o, nil)
}

func recordTo(w *world.World, dir, root string, client *session.Client, o recorder.Options, to *recording.Options) *stage {
	w.Helper()
	s := &stage{World: w, dir: dir, over: make(chan error, 1)}
	var err error
	s.w, err = recording.NewWriter(dir, root, to)
	require.NoError(w, err)
	ctx, stop := context.WithCancel(w.Ctx)
	s.stop = stop
	w.Cleanup(stop)
	o.Notify = func(e recorder.Event) { s.events = append(s.events, e) }
	r := recorder.New(client, root, s.w, &o)
	// Waited for by end; ends with ctx.
	go func() { s.over <- r.Run(ctx) }()
	w.Pass(time.Second)
	return s
}

// end ends the recorder, and reads the recording.
func (s *stage) end() (lines []string, gaps []txnlog.Finding) {
	s.Helper()
	s.stop()
	require.ErrorIs(s, <-s.over, context.Canceled)
	require.NoError(s, s.w.Close("stopped"))
	return readLines(s.World, s.dir)
}

func readLines(w *world.World, dir string) (lines []string, gaps []txnlog.Finding) {
	w.Helper()
	f, err := recording.OpenFolder("r", dir)
	require.NoError(w, err)
	r := f.Read(w.Ctx, func(f txnlog.Finding) { gaps = append(gaps, f) })
	defer func() { _ = r.Close() }()
	_, _, err = r.Start(func(z *recording.Znode) { lines = append(lines, fmt.Sprintf("%s %s", z.Path, z.Data)) })
	require.NoError(w, err)
	for {
		txn, err := r.Next()
		if err != nil {
			return lines, gaps
		}
		line := ""
		for _, ch := range txn.Changes {
			line += fmt.Sprintf("%v %s %s; ", ch.Type, ch.Path, ch.Data)
		}
		if !txn.After.IsZero() {
			line += "late"
		}
		if txn.SessionEnded {
			line += "with session"
		}
		lines = append(lines, line)
	}
}

func (s *stage) create(c *session.Client, path, data string, mode session.Mode) {
	s.Helper()
	sess, err := c.Session(s.Ctx)
	require.NoError(s, err)
	_, err = sess.Create(s.Ctx, path, []byte(data), mode, nil)
	require.NoError(s, err)
}

// Changes of one connection are recorded in their order. The end of a session is inferred from
// two znodes or more; one that is deleted alone, or while another one stays, tells nothing.
func TestChangesAreRecorded(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/a", []byte("1")))
		s := record(w, t.TempDir(), w.Client(), recorder.Options{MaxData: 4})
		for _, step := range []func(){
			func() { require.NoError(w, w.Server.Set("/a", []byte("2"))) },
			func() { require.NoError(w, w.Server.Create("/b", []byte("longer"))) },
			func() { require.NoError(w, w.Server.Delete("/b")) },
		} {
			step()
			w.Pass(time.Second)
		}
		single, both, some := w.Client(), w.Client(), w.Client()
		s.create(single, "/single", "", session.Ephemeral)
		s.create(both, "/both1", "", session.Ephemeral)
		s.create(both, "/both2", "", session.Ephemeral)
		for i := range 3 {
			s.create(some, fmt.Sprintf("/some%d", i), "", session.Ephemeral)
			w.Settle()
		}
		w.Pass(time.Second)
		require.NoError(w, w.Server.Delete("/some0"))
		require.NoError(w, w.Server.Delete("/some1"))
		w.Pass(time.Second)
		require.NoError(w, single.Close(w.Ctx))
		w.Pass(time.Second)
		require.NoError(w, both.Close(w.Ctx))
		w.Pass(time.Second)
		lines, gaps := s.end()
		require.Empty(w, gaps)
		require.Equal(w, []string{
			"/ ", "/a 1", "setData /a 2; ", "create /b long; ", "delete /b ; ",
			"create /single ; ", "create /both1 ; ", "create /both2 ; ", "create /some0 ; ", "create /some1 ; ", "create /some2 ; ",
			"delete /some0 ; ", "delete /some1 ; ", "delete /single ; ",
			"delete /both1 ; with session", "delete /both2 ; with session",
		}, lines)
		require.Equal(w, "recording", s.events[0].Kind)
		require.Equal(w, 2, s.events[0].Znodes)
		require.Equal(w, "stopped", s.events[len(s.events)-1].Kind)
		require.Equal(w, 14, s.events[len(s.events)-1].Changes)
	})
}

// The changes during an outage are one late transaction, and the gap begins before the change.
func TestChangesDuringAnOutageAreAGap(t *testing.T) {
	for _, newSession := range []bool{false, true} {
		world.In(t, nil, func(w *world.World) {
			for _, path := range []string{"/same", "/set", "/deleted", "/reborn"} {
				require.NoError(w, w.Server.Create(path, []byte("1")))
			}
			c := w.Client()
			s := record(w, t.TempDir(), c, recorder.Options{})
			w.Pass(10 * time.Second)
			link := zktest.Link{Client: "c1"}
			w.Server.BlackHole(link, zktest.Both)
			w.Server.CutLink(link)
			w.Settle()
			if newSession {
				w.Expire(c)
			}
			changed := time.Now()
			require.NoError(w, w.Server.Set("/set", []byte("2")))
			require.NoError(w, w.Server.Delete("/deleted"))
			require.NoError(w, w.Server.Delete("/reborn"))
			require.NoError(w, w.Server.Create("/reborn", []byte("2")))
			require.NoError(w, w.Server.Create("/new", []byte("2")))
			w.Pass(5 * time.Second)
			w.Server.Heal()
			w.Pass(20 * time.Second)
			healed := time.Now()
			require.NoError(w, w.Server.Set("/same", []byte("2")))
			w.Pass(time.Second)
			lines, gaps := s.end()
			require.Equal(w, []string{
				"/ ", "/deleted 1", "/reborn 1", "/same 1", "/set 1",
				"delete /reborn ; delete /deleted ; setData /set 2; create /reborn 2; create /new 2; late", "setData /same 2; ",
			}, lines)
			require.Len(w, gaps, 1)
			require.False(w, gaps[0].Since.After(changed))
			require.Less(w, changed.Sub(gaps[0].Since), 10*time.Second)
			require.True(w, gaps[0].Until.After(changed) && !gaps[0].Until.After(healed))
			require.ErrorContains(w, gaps[0].Err, "the connection was lost")
			require.Equal(w, []string{"recording", "lost", "recording", "stopped"}, kinds(s.events))
		})
	}
}

func kinds(events []recorder.Event) (out []string) {
	for _, e := range events {
		out = append(out, e.Kind)
	}
	return out
}

// A recorder that is started again goes on in the same folder, and the time between is a gap. It
// never writes to the servers.
func TestRecorderGoesOnInTheSameFolder(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/a", []byte("1")))
		dir, c := t.TempDir(), w.Client()
		before := w.Server.Dump()
		s := record(w, dir, c, recorder.Options{})
		w.Pass(30 * time.Second)
		lines, _ := s.end()
		require.Len(w, lines, 2)
		stopped := time.Now()
		w.Pass(time.Hour)
		require.Equal(w, before, w.Server.Dump())
		require.NoError(w, w.Server.Set("/a", []byte("2")))
		s = record(w, dir, c, recorder.Options{})
		lines, gaps := s.end()
		require.Equal(w, []string{"/ ", "/a 1", "setData /a 2; late"}, lines)
		require.Len(w, gaps, 1)
		require.ErrorContains(w, gaps[0].Err, "the recorder did not run")
		require.Less(w, stopped.Sub(gaps[0].Since), 10*time.Second)
		require.Greater(w, gaps[0].Until.Sub(gaps[0].Since), time.Hour)
	})
}

// A recorder that is killed loses at most the last second, also while changes never stop: the file
// is complete on the disk but for changes of the last second.
func TestNothingOlderThanASecondIsMissingOnTheDisk(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		require.NoError(w, w.Server.Create("/n", nil))
		s := record(w, t.TempDir(), w.Client(), recorder.Options{})
		var at []time.Time
		for i := range 150 {
			at = append(at, time.Now())
			require.NoError(w, w.Server.Set("/n", fmt.Append(nil, i)))
			w.Pass(31 * time.Millisecond)
			lines, gaps := readLines(w, s.dir)
			require.Empty(w, gaps)
			recorded := len(lines) - 2 // "/" and "/n"
			require.GreaterOrEqual(w, recorded, 0)
			if recorded <= i {
				require.Less(w, time.Since(at[recorded]), time.Second, "change %d is missing", recorded)
			}
		}
		lines, _ := s.end()
		require.Len(w, lines, 152)
	})
}

// While the servers are away nothing ends; a disk that does not take the recording ends it.
func TestRecorderOutlivesServersButNotItsDisk(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		dir := t.TempDir()
		s := record(w, dir, w.Client(), recorder.Options{})
		require.NoError(w, w.Server.Stop(1))
		w.Pass(time.Hour)
		require.NoError(w, w.Server.Restart(1))
		w.Pass(time.Minute)
		require.NoError(w, w.Server.Create("/a", nil))
		w.Pass(time.Second)
		lines, gaps := s.end()
		require.Equal(w, []string{"/ ", "create /a ; "}, lines)
		require.Len(w, gaps, 1)

		full := t.TempDir()
		s = record(w, full, w.Client(), recorder.Options{})
		require.NoError(w, s.w.Close("by the test")) // writing fails from now on
		require.NoError(w, w.Server.Set("/a", []byte("2")))
		w.Pass(time.Second)
		require.ErrorContains(w, <-s.over, "recording: write "+full)
		_, err := os.Stat(filepath.Join(full, "recording-00000001.jsonl.gz"))
		require.NoError(w, err)
	})
}
