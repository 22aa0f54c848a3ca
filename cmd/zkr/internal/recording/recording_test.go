package recording

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

var began = time.Date(2026, 11, 26, 3, 0, 0, 0, time.UTC) // read only

func at(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }

func znode(path string, zxid, owner int64, data string) *Znode {
	return &Znode{Path: path, Data: []byte(data), Size: len(data), Stat: Stat{Czxid: zxid, Mzxid: zxid, Pzxid: zxid, Ctime: zxid, Mtime: zxid, Owner: owner}}
}

// changed is a znode after a change of its data.
func changed(z *Znode, zxid int64, data string) *Znode {
	c := *z
	c.Data, c.Size, c.Stat.Mzxid, c.Stat.Mtime = []byte(data), len(data), zxid, zxid
	c.Stat.Version++
	return &c
}

func gone(path string, seconds int) *Record { return &Record{Kind: Gone, At: at(seconds), Path: path} }

func newWriter(t *testing.T, dir string, o *Options) *Writer {
	t.Helper()
	w, err := NewWriter(dir, "/", o)
	require.NoError(t, err)
	w.sync = func(*os.File) error { return nil } // takes long on a busy machine
	t.Cleanup(w.abandon)
	return w
}

// abandon leaves the files as a killed process does.
func (w *Writer) abandon() {
	if w.file != nil {
		_ = w.file.Close()
	}
	_ = w.lock.Close()
}

// told is what a reader has told.
type told struct {
	at       time.Time
	first    []string
	lines    []string
	findings []txnlog.Finding
	state    *State
	reached  time.Time
}

func read(t *testing.T, dir string) (out *told, err error) {
	t.Helper()
	f, err := OpenFolder("r", dir)
	if err != nil {
		return nil, err
	}
	out = &told{}
	r := f.Read(t.Context(), func(f txnlog.Finding) { out.findings = append(out.findings, f) })
	defer func() { require.NoError(t, r.Close()) }()
	if out.at, _, err = r.Start(func(z *Znode) { out.first = append(out.first, z.Path+" "+string(z.Data)) }); err != nil {
		return out, err
	}
	for {
		txn, err := r.Next()
		if err != nil {
			require.ErrorContains(t, err, "EOF")
			break
		}
		require.True(t, txn.Observed)
		line := fmt.Sprintf("%d", int(txn.Time.Sub(began).Seconds()))
		if !txn.After.IsZero() {
			line += fmt.Sprintf(" after %d", int(txn.After.Sub(began).Seconds()))
		}
		if txn.SessionEnded {
			line += " with session"
		}
		for _, ch := range txn.Changes {
			line += fmt.Sprintf("; %v %s", ch.Type, ch.Path)
			if ch.Stat != nil {
				line += fmt.Sprintf(" %s %v", ch.Data, ch.Stat.Mzxid)
			}
		}
		out.lines = append(out.lines, line)
	}
	done, total := r.Progress()
	require.LessOrEqual(t, done, total)
	out.state, out.reached = r.state, r.last
	return out, nil
}

// play records a little of everything, each with a flush; ends has the length of the file
// after each.
func play(t testing.TB, w *Writer) (ends []int64) {
	t.Helper()
	a, b := znode("/a", 1, 0, "x"), znode("/a/b", 2, 7, "")
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{b, a})), at(0)))
	for _, records := range [][]*Record{
		{znode("/c", 3, 7, "c").SetRecord(at(1))},
		{changed(a, 4, "y").SetRecord(at(2))},
		{{Kind: Alive, At: at(3)}},
		{{Kind: Gone, At: at(4), Path: "/a/b", WithSession: true}, {Kind: Gone, At: at(4), Path: "/c", WithSession: true}},
		{znode("/a", 9, 0, "again").SetRecord(at(5))},
		{{Kind: Gap, At: at(8), After: at(5), Why: "the connection was lost"}, {Kind: Gone, At: at(8), After: at(5), Path: "/a"}, znode("/d", 12, 0, "d").record(Set, at(8), at(5)), {Kind: Alive, At: at(8)}},
		{gone("/d", 9)},
	} {
		require.NoError(t, w.Append(records...))
		require.NoError(t, w.Flush())
		ends = append(ends, w.length)
	}
	return ends
}

// played has the transactions of play.
//
// read only
var played = []string{
	"1; create /c c 0x3", "2; setData /a y 0x4", "4 with session; delete /a/b", "4 with session; delete /c",
	"5; delete /a; create /a again 0x9", "8 after 5; delete /a; create /d d 0xc", "9; delete /d",
}

func TestRecordingIsReadAsItWasWritten(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "new")
	w := newWriter(t, dir, nil)
	play(t, w)
	require.NoError(t, w.Close("stopped"))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, at(0), got.at)
	require.Equal(t, []string{"/a x", "/a/b "}, got.first)
	require.Equal(t, played, got.lines)
	require.Equal(t, at(9), got.reached)
	require.Len(t, got.findings, 1)
	require.Equal(t, "gap on r: nothing was recorded from 2026-11-26T03:00:05Z to 2026-11-26T03:00:08Z", got.findings[0].String()[:80])
	require.Zero(t, got.state.Len())
	for path, mode := range map[string]os.FileMode{dir: 0o700, filepath.Join(dir, nameOf(1)): 0o600} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode().Perm())
	}
}

// A file that was cut at any byte has all that was flushed before, and nothing else.
func TestFilesCutAtEveryByte(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	ends := play(t, w)
	path := filepath.Join(dir, nameOf(1))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.EqualValues(t, len(text), ends[len(ends)-1])
	whole := []int{1, 2, 2, 4, 5, 6, 7} // transactions at each end
	for n := range len(text) + 1 {
		require.NoError(t, os.WriteFile(path, text[:n], 0o600))
		least := 0
		for i, end := range ends {
			if int64(n) >= end {
				least = whole[i]
			}
		}
		got, err := read(t, dir)
		if err != nil {
			require.ErrorIs(t, err, ErrNoFiles)
			require.Less(t, int64(n), ends[0])
			continue
		}
		require.GreaterOrEqual(t, len(got.lines), least, n)
		for i, line := range got.lines {
			if line == "8 after 5; delete /a" { // the gap is cut
				continue
			}
			require.Equal(t, played[i], line, n)
		}
		for _, f := range got.findings {
			require.Equal(t, txnlog.Gap, f.Kind, "the end of the last file is no damage")
		}
	}
}

// A changed byte is found, or changes nothing; what comes before the damage is right.
func TestFilesWithEachByteChanged(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	play(t, w)
	require.NoError(t, w.Close("stopped"))
	path := filepath.Join(dir, nameOf(1))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for n := range text {
		for _, flip := range []byte{0x01, 0xff} {
			text[n] ^= flip
			require.NoError(t, os.WriteFile(path, text, 0o600))
			text[n] ^= flip
			got, err := read(t, dir)
			damaged := slices.ContainsFunc(got.findings, func(f txnlog.Finding) bool { return f.Kind == txnlog.Damaged })
			if err != nil {
				require.ErrorIs(t, err, ErrNoFiles)
				continue
			}
			if len(got.lines) < len(played) {
				// A changed header of a block may look like a file without an end.
				require.True(t, damaged || got.reached.Before(at(9)), n)
			}
			for i, line := range got.lines {
				if line != "8 after 5; delete /a" {
					require.Equal(t, played[i], line, n)
				}
			}
		}
	}
}

// Damage in one file is named, the state after it is right, and what was not recorded is a gap.
func TestDamagedFileIsAGap(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	play(t, w)
	w.abandon()
	w = newWriter(t, dir, nil)
	require.Equal(t, at(9), w.Earlier())
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/e", 20, 0, "e")})), at(20)))
	require.NoError(t, w.Close("stopped"))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, append(slices.Clone(played), "20 after 9; create /e e 0x14"), got.lines)
	require.Equal(t, []txnlog.Kind{txnlog.Gap, txnlog.HalfWritten, txnlog.Gap}, kinds(got.findings))
	require.Equal(t, []time.Time{at(9), at(20)}, []time.Time{got.findings[2].Since, got.findings[2].Until})
	require.ErrorContains(t, got.findings[2].Err, "the recorder did not run")

	path := filepath.Join(dir, nameOf(1))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	text[len(text)-60] ^= 1
	require.NoError(t, os.WriteFile(path, text, 0o600))
	got, err = read(t, dir)
	require.NoError(t, err)
	require.Contains(t, kinds(got.findings), txnlog.Damaged)
	require.Equal(t, []string{"/e"}, paths(got.state))

	for _, foreign := range []string{"", "no gzip at all, but a text"} {
		require.NoError(t, os.WriteFile(path, []byte(foreign), 0o600))
		got, err = read(t, dir)
		require.NoError(t, err)
		require.Equal(t, at(20), got.at)
		require.Len(t, got.findings, 2)
		require.Equal(t, txnlog.Gap, got.findings[1].Kind)
	}
}

func kinds(findings []txnlog.Finding) (out []txnlog.Kind) {
	for _, f := range findings {
		out = append(out, f.Kind)
	}
	return out
}

func paths(s *State) (out []string) {
	for z := range s.all() {
		out = append(out, z.Path)
	}
	return out
}

// The folder never has more than MaxTotal, whatever comes, and each file can be read without
// those before.
func TestLengthIsBounded(t *testing.T) {
	dir := t.TempDir()
	o := &Options{MaxFile: 8 << 10, MaxTotal: 40 << 10}
	w := newWriter(t, dir, o)
	r := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // repeatable
	noise := func(n int) string {
		b := make([]byte, n)
		for i := range b {
			b[i] = byte(r.Uint32())
		}
		return string(b)
	}
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/0", 1, 0, noise(100))})), at(0)))
	for i := 1; i < 400; i++ {
		require.NoError(t, w.Append(znode(fmt.Sprintf("/%d", i%5), int64(i+1), 0, noise(1+r.IntN(800))).SetRecord(at(i))))
		if r.IntN(3) == 0 {
			require.NoError(t, w.Flush())
		}
		files, err := listFiles(dir)
		require.NoError(t, err)
		sum := int64(0)
		for _, f := range files {
			sum += f.Size
		}
		require.LessOrEqual(t, sum, o.MaxTotal)
	}
	require.NoError(t, w.Close("stopped"))
	files, err := listFiles(dir)
	require.NoError(t, err)
	require.Greater(t, len(files), 2)
	require.Greater(t, files[0].Number, 10)
	for range files {
		got, err := read(t, dir)
		require.NoError(t, err)
		require.Empty(t, got.findings)
		require.Equal(t, w.state, got.state)
		require.Equal(t, at(399), got.reached)
		require.NoError(t, os.Remove(files[0].Path))
		files = files[1:]
	}
}

func TestMissingFilesAreAGap(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, &Options{MaxFile: 4 << 10, MaxTotal: 1 << 20})
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/0", 1, 0, "x")})), at(0)))
	for i := 1; w.number < 4; i++ {
		require.NoError(t, w.Append(znode(fmt.Sprintf("/%d", i), int64(i+1), 0, "x").SetRecord(at(i))))
	}
	require.NoError(t, w.Close("stopped"))
	require.NoError(t, os.Remove(filepath.Join(dir, nameOf(2))))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, []txnlog.Kind{txnlog.Gap}, kinds(got.findings))
	require.Equal(t, w.state, got.state)
}

func TestWriterRefuses(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	_, err := NewWriter(dir, "/", nil)
	require.ErrorIs(t, err, ErrLocked)
	play(t, w)
	require.NoError(t, w.Close("stopped"))
	_, err = NewWriter(dir, "/locks", nil)
	require.ErrorIs(t, err, ErrOtherRoot)
	_, err = NewWriter(filepath.Join(dir, lockName), "/", nil)
	require.Error(t, err)
	for _, o := range []Options{{MaxFile: 1}, {MaxFile: -1}, {MaxFile: 10 << 10, MaxTotal: 10 << 10}} {
		_, err = NewWriter(dir, "/", &o)
		require.ErrorIs(t, err, ErrInvalidArgument)
	}
	w = newWriter(t, t.TempDir(), &Options{MaxFile: 4 << 10, MaxTotal: 8 << 10})
	many := make([]*Znode, 2000)
	for i := range many {
		many[i] = znode(fmt.Sprintf("/%d", i*7919), int64(i), 0, fmt.Sprint(i*i))
	}
	require.ErrorIs(t, w.Start(NewState(slices.Values(many)), at(0)), ErrTooSmall)
}
