package history_test

import (
	"errors"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/history"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// readRecording reads everything of a recording.
func readRecording(t *testing.T, root, dir string) *told {
	t.Helper()
	f, err := recording.OpenFolder("recording", dir)
	require.NoError(t, err)
	return listen(t, func(o *history.Options) (*history.Reader, error) {
		return history.NewRecordingReader(t.Context(), root, f, o)
	})
}

// visible is an outline as far as a client can see: not who ended a stay.
func visible(outline string) string {
	var out strings.Builder
	for line := range strings.Lines(outline) {
		i := strings.LastIndex(line, ", ") + 2
		how := "gone\n"
		if line[i:] == "\n" {
			how = "\n" // it lasts
		}
		out.WriteString(line[:i] + how)
	}
	return out.String()
}

// recordLog writes the transactions of a log as a client would see them that misses nothing. With
// noise, each transaction is followed by a change that cannot be compressed, in files of 4 KiB.
func recordLog(t *testing.T, f *txnlog.Folder, dir string, noise bool) {
	t.Helper()
	w, err := recording.NewWriter(dir, "/", &recording.Options{MaxFile: 4 << 10})
	require.NoError(t, err)
	random := rand.New(rand.NewPCG(1, 2))
	txns := f.Transactions(nil)
	state := map[string]*recording.Znode{}
	for begun := false; ; {
		txn, err := txns.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(t, err)
		if !begun {
			require.NoError(t, w.Start(recording.NewState(func(func(*recording.Znode) bool) {}), txn.Time))
			begun = true
		}
		if txn.Failed() {
			continue
		}
		zxid, ms := int64(txn.Zxid), txn.Time.UnixMilli()
		for _, ch := range txn.Changes {
			switch {
			case ch.Type.Creates():
				state[ch.Path] = &recording.Znode{Path: ch.Path, Data: slices.Clone(ch.Data), Size: len(ch.Data), Stat: recording.Stat{
					Czxid: zxid, Mzxid: zxid, Pzxid: zxid, Ctime: ms, Mtime: ms, Owner: ch.Owner.Session(),
				}}
				require.NoError(t, w.Append(state[ch.Path].SetRecord(txn.Time)))
			case ch.Type.Deletes():
				delete(state, ch.Path)
				require.NoError(t, w.Append(&recording.Record{Kind: recording.Gone, At: txn.Time, Path: ch.Path}))
			case ch.Type == txnlog.TypeSetData:
				next := *state[ch.Path]
				next.Data, next.Size = slices.Clone(ch.Data), len(ch.Data)
				next.Stat.Mzxid, next.Stat.Mtime, next.Stat.Version = zxid, ms, ch.Version
				state[ch.Path] = &next
				require.NoError(t, w.Append(next.SetRecord(txn.Time)))
			}
		}
		if noise {
			z := &recording.Znode{Path: "/noise", Size: 900, Stat: recording.Stat{Czxid: 1, Mzxid: zxid, Ctime: 1, Mtime: ms, Version: int32(zxid)}}
			for len(z.Data) < z.Size {
				z.Data = append(z.Data, byte(random.Uint32()))
			}
			require.NoError(t, w.Append(z.SetRecord(txn.Time)))
		}
	}
	require.NoError(t, txns.Close())
	require.NoError(t, w.Close("stopped"))
}

// The history of a recording is that of the log, as far as a client sees: who, what, when,
// with which token, but not who ended it.
func TestHistoryOfARecordingIsThatOfTheLog(t *testing.T) {
	logged := read(t, "/", openScene(t))
	dir := t.TempDir()
	recordLog(t, openScene(t), dir, false)
	recorded := readRecording(t, "/", dir)
	require.Equal(t, visible(logged.outline()), recorded.outline())
	require.Empty(t, recorded.findings)
	require.Len(t, recorded.stays, len(logged.stays))
	for i, s := range recorded.stays {
		want := logged.stays[i]
		require.Equal(t, want.Token, s.Token, s.Znode)
		require.Equal(t, want.Session, s.Session)
		require.Equal(t, want.Entered.Time.UnixMilli(), s.Entered.Time.UnixMilli())
		for _, m := range [][2]*history.Moment{{want.Granted, s.Granted}, {want.Ended, s.Ended}} {
			require.Equal(t, m[0] == nil, m[1] == nil)
			if m[0] != nil {
				require.Equal(t, m[0].Time.UnixMilli(), m[1].Time.UnixMilli())
			}
		}
	}
	require.False(t, recorded.stays[0].Before)
}

// A stay that ended in a gap has the two moments between which it ended.
func TestStayThatEndsInAGap(t *testing.T) {
	dir := t.TempDir()
	w, err := recording.NewWriter(dir, "/", nil)
	require.NoError(t, err)
	at := func(s int) time.Time { return time.Date(2026, 11, 26, 3, 0, s, 0, time.UTC) }
	contender := func(n int, session int64, created time.Time) *recording.Znode {
		path := "/l/_c_a1f57cc2-d3b5-4f7c-834f-d58f352ba82" + string(rune('0'+n)) + "-lock-000000000" + string(rune('0'+n))
		return &recording.Znode{Path: path, Stat: recording.Stat{Czxid: int64(n + 2), Mzxid: int64(n + 2), Ctime: created.UnixMilli(), Mtime: created.UnixMilli(), Owner: session}}
	}
	one, two := contender(0, 1, at(0)), contender(1, 2, at(1))
	l := &recording.Znode{Path: "/l", Stat: recording.Stat{Czxid: 1, Mzxid: 1}}
	require.NoError(t, w.Start(recording.NewState(slices.Values([]*recording.Znode{l, one, two})), at(2)))
	require.NoError(t, w.Append(&recording.Record{Kind: recording.Gap, At: at(9), After: at(5), Why: "the connection was lost"},
		&recording.Record{Kind: recording.Gone, At: at(9), After: at(5), Path: one.Path}, &recording.Record{Kind: recording.Alive, At: at(12)}))
	require.NoError(t, w.Close("stopped"))
	d := readRecording(t, "/l", dir)
	require.Len(t, d.stays, 2)
	first, second := d.stays[0], d.stays[1]
	require.True(t, first.Before)
	require.Equal(t, history.Gone, first.How)
	require.Equal(t, at(5), *first.EndedAfter)
	require.Equal(t, at(9), first.Ended.Time)
	require.Equal(t, at(5), *second.GrantedAfter)
	require.Equal(t, at(9), second.Granted.Time)
	require.Equal(t, at(1).UnixMilli(), second.Entered.Time.UnixMilli())
	require.Equal(t, at(12), d.sum.Last.Time)
	require.Len(t, d.findings, 1)
	require.Equal(t, []string{history.Files}, []string{d.suspicions[0].Kind})
	require.Equal(t, at(5), d.suspicions[0].At.Time)
}
