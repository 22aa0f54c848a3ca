//go:build unix

package recording

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// disk is a disk that is full from one write on, which it does in part.
type disk struct{ writes, fullFrom int }

func (d *disk) write(f *os.File, b []byte) (int, error) {
	if d.writes++; d.fullFrom == 0 || d.writes < d.fullFrom {
		return f.Write(b)
	}
	n, err := f.Write(b[:len(b)/2])
	if err == nil {
		err = &os.PathError{Op: "write", Path: f.Name(), Err: syscall.ENOSPC}
	}
	return n, err
}

// grow records a change per second: znodes with data that can hardly be compressed.
func grow(w *Writer, second int) error {
	noise := make([]byte, 200)
	r := rand.New(rand.NewPCG(1, uint64(second))) //nolint:gosec // repeatable
	for i := range noise {
		noise[i] = byte(r.Uint32())
	}
	z := znode(fmt.Sprintf("/%d", second%7), int64(second+1), 0, string(noise))
	if err := w.Append(z.SetRecord(at(second))); err != nil {
		return err
	}
	return w.Flush()
}

// Whatever write finds the disk full, the recording goes on when there is room: it has a gap
// from the last moment on the disk, and is right before and after. An attempt without room leaves
// nothing behind.
func TestFullDiskIsAGapWhereverItIsFound(t *testing.T) {
	dir := t.TempDir()
	d := &disk{fullFrom: 1}
	w := newWriter(t, dir, &Options{MaxFile: 4 << 10, MaxTotal: 1 << 20, Write: d.write})
	state := NewState(slices.Values([]*Znode{znode("/a", 1, 0, "x")}))
	err := w.Start(state, at(0))
	var full []int // when it was found
	second, atRotation := 0, 0
	rooms := []int{1, 2, 3, 4, 5, 6} // the numbers of writes until the disk is full again
	for n := 24; n < 46; n++ {       // around the end of a file
		rooms = append(rooms, n)
	}
	for ; len(rooms) > 0; second++ {
		if err == nil {
			number := w.number
			if err = grow(w, second); err == nil {
				continue
			}
			if w.file == nil || w.number != number {
				atRotation++
			}
		}
		require.ErrorIs(t, err, ErrFull)
		require.ErrorIs(t, err, syscall.ENOSPC)
		full = append(full, second)
		w.Suspend()
		before, err2 := listFiles(dir)
		require.NoError(t, err2)
		next := func() *State {
			return NewState(slices.Values([]*Znode{znode("/a", 1, 0, "x"), znode("/resumed", int64(second+1), 0, "y")}))
		}
		require.ErrorIs(t, w.Resume(next(), at(second), "still full"), ErrFull)
		after, err2 := listFiles(dir)
		require.NoError(t, err2)
		require.Equal(t, before, after)
		d.fullFrom = 0
		require.NoError(t, w.Resume(next(), at(second), "the disk was full"))
		err = nil
		d.fullFrom, rooms = d.writes+rooms[0], rooms[1:]
	}
	require.Positive(t, atRotation)
	d.fullFrom = 0
	require.NoError(t, w.Close("stopped"))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, w.state, got.state)
	require.Equal(t, at(second-1), got.reached)
	full = full[1:] // before the first, there was nothing
	for _, f := range got.findings {
		if f.Kind == txnlog.HalfWritten {
			continue
		}
		require.Equal(t, txnlog.Gap, f.Kind)
		require.ErrorContains(t, f.Err, "the disk was full")
		require.Equal(t, at(full[0]), f.Until)
		require.Less(t, f.Until.Sub(f.Since).Seconds(), 2.5)
		full = full[1:]
	}
	require.Empty(t, full)
}

// A file that another process deletes or shortens is a gap from its beginning on, and the
// recording goes on in the same folder.
func TestDeletedFileIsAGap(t *testing.T) {
	for name, harm := range map[string]func(t *testing.T, dir, file string) error{
		"file":      func(_ *testing.T, _, file string) error { return os.Remove(file) },
		"shortened": func(_ *testing.T, _, file string) error { return os.Truncate(file, 0) },
		"replaced": func(_ *testing.T, _, file string) error {
			return os.Rename(filepath.Join(filepath.Dir(file), lockName), file)
		},
		"folder": func(_ *testing.T, dir, _ string) error { return os.RemoveAll(dir) },
		"moved":  func(t *testing.T, dir, _ string) error { return os.Rename(dir, filepath.Join(t.TempDir(), "away")) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "recording")
			w := newWriter(t, dir, nil)
			play(t, w)
			require.NoError(t, w.Close("stopped"))
			w = newWriter(t, dir, nil)
			require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/e", 20, 0, "e")})), at(20)))
			require.NoError(t, grow(w, 25))
			require.NoError(t, w.Check())
			require.NoError(t, harm(t, dir, filepath.Join(dir, nameOf(2))))
			require.ErrorIs(t, w.Check(), ErrDeleted)
			w.Suspend()
			require.NoError(t, w.Resume(NewState(slices.Values([]*Znode{znode("/f", 30, 0, "f")})), at(30), "the file was deleted"))
			require.NoError(t, w.Check())
			_, err := NewWriter(dir, "/", nil)
			require.ErrorIs(t, err, ErrLocked)
			require.NoError(t, grow(w, 31))
			require.NoError(t, w.Close("stopped"))
			got, err := read(t, dir)
			require.NoError(t, err)
			require.Equal(t, w.state, got.state)
			last := got.findings[len(got.findings)-1]
			require.Equal(t, txnlog.Gap, last.Kind)
			require.Equal(t, []any{at(9), at(30), "the file was deleted"}, []any{last.Since, last.Until, last.Err.Error()})
			if name == "folder" || name == "moved" {
				require.Equal(t, at(30), got.at)
				return
			}
			require.Equal(t, []string{"30 after 9; create /f f 0x1e"}, got.lines[len(got.lines)-2:len(got.lines)-1])
		})
	}
}

// Without its file lock, the folder is locked again; without the folder around, the recording ends.
func TestFolderIsLockedAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "inner")
	w := newWriter(t, dir, nil)
	require.NoError(t, w.Check(), "nothing has begun")
	play(t, w)
	require.NoError(t, os.Remove(filepath.Join(dir, lockName)))
	require.NoError(t, w.Check())
	_, err := NewWriter(dir, "/", nil)
	require.ErrorIs(t, err, ErrLocked)
	require.NoError(t, os.Remove(filepath.Join(dir, lockName)))
	other, err := os.Create(filepath.Join(dir, lockName))
	require.NoError(t, err)
	require.NoError(t, lockFile(other))
	require.ErrorIs(t, w.Check(), ErrLocked)
	require.NoError(t, other.Close())
	require.NoError(t, os.RemoveAll(filepath.Dir(dir)))
	require.ErrorIs(t, w.Check(), ErrDeleted)
	require.ErrorIs(t, w.Resume(w.State(), at(20), "gone"), os.ErrNotExist)
}

// A file that begins with an older state than the last one names that, also if the recorder did
// not run meanwhile; and the times of a recorder whose clock is behind do not go back.
func TestStateThatWentBackIsNamed(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	play(t, w)
	require.NoError(t, w.Append(znode("/a", 40, 0, "newer").SetRecord(at(10))))
	require.NoError(t, w.Close("stopped"))
	w = newWriter(t, dir, nil)
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/a", 4, 0, "older")})), at(2)))
	require.NoError(t, w.Append(znode("/b", 5, 0, "").SetRecord(at(3)), &Record{Kind: Clock, At: at(3), Why: "it was set back"}))
	require.NoError(t, w.Close("stopped"))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, []string{"10 after 10; delete /a; create /a older 0x4", "10; create /b  0x5"}, got.lines[len(got.lines)-2:])
	require.Equal(t, []txnlog.Kind{txnlog.Gap, txnlog.Gap, txnlog.Disorder}, kinds(got.findings))
	require.ErrorContains(t, got.findings[1].Err, "the recorder did not run; the servers went back to an older state")
	require.Equal(t, at(10), got.findings[1].Until)
	require.Contains(t, got.findings[2].String(), "disorder on r: at 2026-11-26T03:00:03Z")

	state := func(all ...*Znode) *State { return NewState(slices.Values(all)) }
	a := znode("/a", 5, 0, "x")
	recreated := *a
	recreated.Stat.Ctime++
	require.True(t, state(a).IsNewerThan(state(znode("/a", 4, 0, "x"))))
	require.True(t, state(a).IsNewerThan(state(&recreated)))
	require.False(t, state(a).IsNewerThan(state(a, znode("/b", 2, 0, ""))))
	require.False(t, state(a, znode("/b", 7, 0, "")).IsNewerThan(state(changed(a, 6, "y"))))
}

// Changes that were seen late, but one after the other, are transactions of their own.
func TestLateChangesAreInOrder(t *testing.T) {
	dir := t.TempDir()
	w := newWriter(t, dir, nil)
	require.NoError(t, w.Start(NewState(slices.Values([]*Znode{znode("/a", 1, 0, "x")})), at(0)))
	var late []*Record
	for _, r := range []*Record{gone("/a", 9), znode("/b", 2, 0, "").SetRecord(at(9)), gone("/b", 9)} {
		r.After, r.Ordered = at(4), true
		late = append(late, r)
	}
	require.NoError(t, w.Append(late...))
	require.NoError(t, w.Append(&Record{Kind: Gap, At: at(12), After: at(9), Why: "lost"}, znode("/c", 3, 0, "").record(Set, at(12), at(9)), znode("/d", 4, 0, "").record(Set, at(12), at(9))))
	late[0].Path = "/c"
	require.NoError(t, w.Append(late[0]))
	require.NoError(t, w.Close("stopped"))
	got, err := read(t, dir)
	require.NoError(t, err)
	require.Equal(t, []string{
		"9 after 4; delete /a", "9 after 4; create /b  0x2", "9 after 4; delete /b",
		"12 after 9; create /c  0x3; create /d  0x4", "12 after 4; delete /c",
	}, got.lines)
}
