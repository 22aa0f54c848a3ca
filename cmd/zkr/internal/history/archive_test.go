package history_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// archiveOf reads an archive that keeps a state after span transactions.
func archiveOf(t *testing.T, origin *history.Origin, root string, span int64) *history.Archive {
	t.Helper()
	a := history.NewArchive(origin, root)
	a.Bound(1<<30, 1<<20, span)
	require.NoError(t, a.Read(t.Context()))
	return a
}

func sceneOrigin(t *testing.T) *history.Origin {
	t.Helper()
	return &history.Origin{Servers: []*txnlog.Folder{openScene(t)}}
}

// recordedScene is the scene as a recording.
func recordedScene(t *testing.T) *history.Origin {
	t.Helper()
	dir := t.TempDir()
	recordLog(t, openScene(t), dir, false)
	return &history.Origin{Recording: openRecording(t, dir)}
}

// rotatedScene is the scene as a recording of many files, of which some may be missing.
func rotatedScene(t *testing.T, missing ...int) *history.Origin {
	t.Helper()
	dir := t.TempDir()
	recordLog(t, openScene(t), dir, true)
	f := openRecording(t, dir)
	require.Greater(t, len(f.Files), 4)
	for _, i := range missing {
		require.NoError(t, os.Remove(f.Files[i].Path))
	}
	return &history.Origin{Recording: openRecording(t, dir)}
}

func openRecording(t *testing.T, dir string) *recording.Folder {
	t.Helper()
	f, err := recording.OpenFolder("recording", dir)
	require.NoError(t, err)
	return f
}

// stateOf finds the state of a mark.
func stateOf(t *testing.T, a *history.Archive, m history.Mark) *history.State {
	t.Helper()
	s, err := a.State(t.Context(), m)
	require.NoError(t, err, m)
	return s
}

// marksOf are all marks of a log or a recording, in their order.
func marksOf(t *testing.T, a *history.Archive, origin *history.Origin) []history.Mark {
	t.Helper()
	o, read := a.Overview()
	require.True(t, read)
	out := []history.Mark{o.FirstMark}
	next := origin.Transactions(t)
	for {
		txn, err := next()
		if errors.Is(err, io.EOF) {
			require.Equal(t, o.LastMark, out[len(out)-1])
			return out
		}
		require.NoError(t, err)
		last := out[len(out)-1]
		switch {
		case origin.Recording == nil && txn.Zxid <= last.Zxid: // before the first state
		case origin.Recording == nil:
			out = append(out, history.Mark{Zxid: txn.Zxid, Nth: history.AllOfThem})
		case txn.Time.Equal(last.Time):
			out = append(out, history.Mark{Time: last.Time, Nth: last.Nth + 1})
		default:
			out = append(out, history.Mark{Time: txn.Time, Nth: 1})
		}
	}
}

// shown is a state as JSON, with the events as text.
func shown(t *testing.T, s *history.State) string {
	t.Helper()
	var events []string
	for _, e := range s.Events[:s.Next] {
		events = append(events, e.Mark.String()+" "+string(e.Kind)+" "+e.Stay.Path+" "+e.Stay.Client())
	}
	b, err := json.MarshalIndent(struct {
		Mark             string
		Things, Sessions any
		Nodes            int
		Events           []string
	}{s.Mark.String(), s.Things, s.Sessions, s.Nodes, events}, "", " ")
	require.NoError(t, err)
	return string(b)
}

// The state of each mark is the same, however many states are kept: the transactions behind a
// kept state lead to what those from the beginning lead to.
func TestStateIsTheSameFromEachKeptState(t *testing.T) {
	for name, origin := range map[string]*history.Origin{
		"logs": sceneOrigin(t), "recording": recordedScene(t), "recording of many files": rotatedScene(t), "files are missing": rotatedScene(t, 1, 3),
	} {
		t.Run(name, func(t *testing.T) {
			from := archiveOf(t, origin, "/", 1<<40)
			marks := marksOf(t, from, origin)
			require.Greater(t, len(marks), 8)
			var want []string
			for _, m := range marks {
				s := stateOf(t, from, m)
				require.Equal(t, m, s.Mark)
				want = append(want, shown(t, s))
			}
			require.Greater(t, len(slices.Compact(slices.Clone(want))), 8)
			for _, span := range []int64{1, 3} {
				a := archiveOf(t, origin, "/", span)
				kept, _ := a.Kept()
				require.GreaterOrEqual(t, kept, len(marks)/4)
				for i, m := range marks {
					require.Equal(t, want[i], shown(t, stateOf(t, a, m)), "span %d, %v", span, m)
				}
			}
		})
	}
}

// An event's mark is the state after it: who was granted holds there.
func TestMarkOfAnEventIsTheStateAfterIt(t *testing.T) {
	for name, origin := range map[string]*history.Origin{"logs": sceneOrigin(t), "recording": recordedScene(t)} {
		t.Run(name, func(t *testing.T) {
			a := archiveOf(t, origin, "/locks", 2)
			o, _ := a.Overview()
			granted := 0
			for m := o.FirstMark; ; {
				s := stateOf(t, a, m)
				if s.Next == len(s.Events) {
					break
				}
				next := s.Events[s.Next].Mark
				require.NotEqual(t, m, next, "the next event is later")
				after := stateOf(t, a, next)
				require.Equal(t, next, after.Events[after.Next-1].Mark, "and then the last one")
				for _, e := range after.Events[:after.Next] {
					if e.Mark == next {
						granted += isAfter(t, after, &e)
					}
				}
				m = next
			}
			require.GreaterOrEqual(t, granted, 6)
		})
	}
}

// The way back from the last event is the way to it.
func TestPreviousAndNextEventsAreInOneOrder(t *testing.T) {
	for name, origin := range map[string]*history.Origin{"logs": sceneOrigin(t), "recording": recordedScene(t), "recording of many files": rotatedScene(t), "files are missing": rotatedScene(t, 2)} {
		t.Run(name, func(t *testing.T) {
			a := archiveOf(t, origin, "/", 2)
			o, _ := a.Overview()
			var forth, back []history.Mark
			for m := stateOf(t, a, o.FirstMark).Following(); m != nil; m = stateOf(t, a, *m).Following() {
				forth = append(forth, *m)
			}
			require.Greater(t, len(forth), 8)
			back = append(back, forth[len(forth)-1])
			for m := stateOf(t, a, back[0]).Previous; m != nil; m = stateOf(t, a, *m).Previous {
				back = append(back, *m)
			}
			slices.Reverse(back)
			require.Equal(t, forth, back)
		})
	}
}

// isAfter checks that a state is after an event, and counts grants.
func isAfter(t *testing.T, s *history.State, e *history.Event) (grants int) {
	t.Helper()
	_, exists := s.Lookup(e.Stay.Znode)
	switch e.Kind {
	case history.Came:
		require.True(t, exists)
	case history.Granted:
		i := slices.IndexFunc(s.Of(e.Stay.Znode).Queue, func(c *recognize.Contender) bool { return c.Path == e.Stay.Znode && c.Holds })
		require.GreaterOrEqual(t, i, 0)
		require.Equal(t, e.Stay.Granted.Time.UnixMilli(), s.Of(e.Stay.Znode).Queue[i].Since.UnixMilli(), "it holds since then")
		return 1
	case history.Ended:
		require.Equal(t, e.Stay.How == history.Replaced, exists)
	}
	return 0
}

// The memory of the kept states is bounded, and each state is still found.
func TestKeptStatesAreBounded(t *testing.T) {
	origin := sceneOrigin(t)
	a := archiveOf(t, origin, "/", 1)
	number, size := a.Kept()
	require.Greater(t, number, 20)
	marks := marksOf(t, a, origin)
	for _, most := range []struct {
		size   int64
		number int
	}{{size / 2, 1000}, {1 << 30, 7}, {0, 1000}} {
		b := history.NewArchive(origin, "/")
		b.Bound(most.size, most.number, 1)
		require.NoError(t, b.Read(t.Context()))
		n, kept := b.Kept()
		assert.LessOrEqual(t, n, most.number)
		assert.LessOrEqual(t, kept, most.size)
		for _, m := range marks {
			require.Equal(t, shown(t, stateOf(t, a, m)), shown(t, stateOf(t, b, m)))
		}
	}
}

func TestMomentsBeforeTheFirstAndAfterTheLastState(t *testing.T) {
	for name, origin := range map[string]*history.Origin{"logs": sceneOrigin(t), "recording": recordedScene(t)} {
		t.Run(name, func(t *testing.T) {
			a := archiveOf(t, origin, "/", 3)
			o, _ := a.Overview()
			s := stateOf(t, a, history.Mark{Time: o.Earliest.Add(-time.Hour), Nth: history.AllOfThem})
			assert.True(t, s.Early)
			assert.Equal(t, o.FirstMark, s.Mark)
			assert.Empty(t, s.Events[:s.Next], "nothing is told of the time before the first state")
			s = stateOf(t, a, history.Mark{Time: o.Latest.Add(time.Hour), Nth: history.AllOfThem})
			assert.True(t, s.Late)
			assert.Equal(t, o.LastMark, s.Mark)
			assert.Equal(t, o.Latest, s.Now)
			s = stateOf(t, a, history.Mark{Time: o.Latest, Nth: history.AllOfThem})
			assert.False(t, s.Late || s.Early)
			assert.Equal(t, o.LastMark, s.Mark)
		})
	}
}

// copyFiles copies files into a folder of their own.
func copyFiles(t *testing.T, paths ...string) string {
	t.Helper()
	dir := t.TempDir()
	for _, path := range paths {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(filepath.Join(dir, filepath.Base(path)), b, 0o600))
	}
	return dir
}

func openLogs(t *testing.T, dir string) *history.Origin {
	t.Helper()
	f, err := txnlog.OpenFolder("server", dir)
	require.NoError(t, err)
	return &history.Origin{Servers: []*txnlog.Folder{f}}
}

// A snapshot without logs is one state, whose zxid is known and whose time is not.
func TestSnapshotAloneIsAState(t *testing.T) {
	a := archiveOf(t, openLogs(t, copyFiles(t, "../txnlog/testdata/zookeeper-3.9.3/plain/snapshot.100000014")), "/", 3)
	o, _ := a.Overview()
	require.Equal(t, "0x100000014", o.FirstMark.String())
	require.Equal(t, o.FirstMark, o.LastMark)
	require.True(t, o.Earliest.IsZero())
	s := stateOf(t, a, o.FirstMark)
	require.Greater(t, s.Nodes, 3)
	require.True(t, s.At.Time.IsZero())
	require.False(t, s.Early || s.Late)
}

// Logs that begin with the ensemble need no snapshot: the root exists from the beginning.
func TestLogsWithoutASnapshotBeginWithTheRoot(t *testing.T) {
	a := archiveOf(t, openLogs(t, copyFiles(t, "testdata/scene/log.1")), "/", 3)
	o, _ := a.Overview()
	require.Empty(t, o.Snapshot)
	first := stateOf(t, a, o.FirstMark)
	_, exists := first.Lookup("/")
	require.True(t, exists)
	require.Equal(t, 1, first.Nodes)
	last := stateOf(t, a, o.LastMark)
	require.NotNil(t, last.Of("/crew"))
}

// A recording that was made with a root knows the znodes from there on.
func TestRecordingOfARoot(t *testing.T) {
	dir := t.TempDir()
	w, err := recording.NewWriter(dir, "/locks", nil)
	require.NoError(t, err)
	at := time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC)
	z := func(path string) *recording.Znode {
		return &recording.Znode{Path: path, Stat: recording.Stat{Czxid: 5, Mzxid: 5, Ctime: at.UnixMilli(), Mtime: at.UnixMilli()}}
	}
	require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{z("/locks"), z("/locks/a")})), at))
	for _, path := range []string{"/locks/b", "/locks/c"} { // at one moment
		require.NoError(t, w.Append(z(path).SetRecord(at.Add(time.Second))))
	}
	require.NoError(t, w.Close("stopped"))
	origin := &history.Origin{Recording: openRecording(t, dir)}
	a := archiveOf(t, origin, "/", 1)
	require.Equal(t, "/locks", a.Root())
	o, _ := a.Overview()
	nodes := func(m history.Mark) int { return stateOf(t, a, m).Nodes }
	require.Equal(t, 2, nodes(o.FirstMark))
	require.Equal(t, 3, nodes(history.Mark{Time: at.Add(time.Second), Nth: 1}))
	require.Equal(t, 4, nodes(history.Mark{Time: at.Add(time.Second), Nth: history.AllOfThem}))
	_, err = a.State(t.Context(), history.Mark{Zxid: 5, Nth: history.AllOfThem})
	require.ErrorIs(t, err, history.ErrNoOrder)
	require.Equal(t, "/locks/a", archiveOf(t, origin, "/locks/a", 1).Root())
	require.ErrorIs(t, history.NewArchive(origin, "/other").Read(t.Context()), history.ErrNotRecorded)
}

// The end of a context ends the reading, and the wait for another reading.
func TestReadingEndsWithItsContext(t *testing.T) {
	over, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("interrupted")
	cancel(cause)
	for name, origin := range map[string]*history.Origin{"logs": sceneOrigin(t), "recording": recordedScene(t)} {
		t.Run(name, func(t *testing.T) {
			a := history.NewArchive(origin, "/")
			_, err := a.State(t.Context(), history.Mark{Zxid: 1, Time: time.Unix(1, 0)})
			require.ErrorIs(t, err, history.ErrNotRead)
			require.ErrorIs(t, a.Read(over), cause)
			a = archiveOf(t, origin, "/", 3)
			o, _ := a.Overview()
			_, err = a.State(over, o.LastMark)
			require.ErrorIs(t, err, cause)
		})
	}
}

// Gaps of a recording hide what happened in them: a moment within one has the state before it.
func TestMomentInAGapOfARecording(t *testing.T) {
	dir := t.TempDir()
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 3, 0, s, 0, time.UTC) }
	z := func(path string) *recording.Znode {
		return &recording.Znode{Path: path, Stat: recording.Stat{Czxid: 5, Mzxid: 5, Ctime: at(0).UnixMilli(), Mtime: at(0).UnixMilli()}}
	}
	w, err := recording.NewWriter(dir, "/", nil)
	require.NoError(t, err)
	require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{z("/"), z("/a")})), at(2)))
	require.NoError(t, w.Append(&recording.Record{Kind: recording.Gap, At: at(9), After: at(5), Why: "the connection was lost"},
		&recording.Record{Kind: recording.Gone, At: at(9), After: at(5), Path: "/a"}, &recording.Record{Kind: recording.Alive, At: at(12)}))
	require.NoError(t, w.Close("stopped"))
	a := archiveOf(t, &history.Origin{Recording: openRecording(t, dir)}, "/", 1)
	for second, want := range map[int]struct {
		nodes  int
		unseen bool
	}{3: {2, false}, 7: {2, true}, 9: {1, false}, 11: {1, false}} {
		s := stateOf(t, a, history.Mark{Time: at(second), Nth: history.AllOfThem})
		assert.Equal(t, want.nodes, s.Nodes, second)
		assert.Equal(t, want.unseen, s.Unseen != nil, second)
		assert.Equal(t, at(second), s.Now.UTC())
		assert.Empty(t, s.Doubts)
	}
}

// Where transactions are missing in the logs, later states are doubtful, and where a file is
// damaged, all from there on.
func TestStatesBehindMissingTransactionsAreDoubtful(t *testing.T) {
	dir := copyFiles(t, "testdata/scene/log.1", "testdata/scene/snapshot.0")
	path := filepath.Join(dir, "log.1")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	whole := archiveOf(t, openLogs(t, dir), "/", 3)
	o, _ := whole.Overview()
	b[len(b)/2] ^= 0xff
	require.NoError(t, os.WriteFile(path, b, 0o600))
	a := archiveOf(t, openLogs(t, dir), "/", 3)
	damaged, _ := a.Overview()
	require.NotEmpty(t, damaged.Remarks)
	require.Equal(t, o.LastMark, damaged.LastMark)
	require.Empty(t, stateOf(t, a, o.FirstMark).Doubts)
	last := stateOf(t, a, o.LastMark)
	kinds := []txnlog.Kind{}
	for _, d := range last.Doubts {
		kinds = append(kinds, d.Kind)
	}
	require.Equal(t, []txnlog.Kind{txnlog.Damaged, txnlog.Gap}, kinds)
	before := last.Doubts[0].Mark
	require.Equal(t, shown(t, stateOf(t, whole, before)), shown(t, stateOf(t, a, before)), "what could be read before is right")
}

// Damage of one server casts no doubt if another server has the transactions.
func TestDamageThatAnotherServerMakesUpFor(t *testing.T) {
	dir := copyFiles(t, "testdata/scene/log.1", "testdata/scene/snapshot.0")
	path := filepath.Join(dir, "log.1")
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	b[len(b)/2] ^= 0xff
	require.NoError(t, os.WriteFile(path, b, 0o600))
	origin := openLogs(t, dir)
	origin.Servers = append(origin.Servers, openScene(t))
	a := archiveOf(t, origin, "/", 3)
	o, _ := a.Overview()
	require.NotEmpty(t, o.Remarks)
	last := stateOf(t, a, o.LastMark)
	require.Empty(t, last.Doubts)
	whole := archiveOf(t, sceneOrigin(t), "/", 3)
	require.Equal(t, shown(t, stateOf(t, whole, o.LastMark)), shown(t, last))
}

// A leader's clock may be behind that of the former leader: the order is that of the zxids, and
// the state of a time is that before the first transaction that is later.
func TestClockThatWasSetBack(t *testing.T) {
	dir := t.TempDir()
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 3, 0, s, 0, time.UTC) }
	writeLog(t, dir, at(10), at(20), at(5), at(15), at(30))
	a := archiveOf(t, openLogs(t, dir), "/", 1)
	for second, want := range map[int]string{12: "0x1", 20: "0x4", 25: "0x4", 30: "0x5"} {
		require.Equal(t, want, stateOf(t, a, history.Mark{Time: at(second), Nth: history.AllOfThem}).Mark.String(), second)
	}
	s := stateOf(t, a, history.Mark{Zxid: 3, Nth: history.AllOfThem})
	require.Equal(t, at(5), s.At.Time.UTC())
	require.Equal(t, 4, s.Nodes, "the znodes of all transactions up to it")
}
