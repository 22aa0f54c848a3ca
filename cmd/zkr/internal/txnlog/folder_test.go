package txnlog_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
)

// source is a Transactions or a Merge.
type source interface {
	Next() (*txnlog.Txn, error)
}

// zxids reads to the end so far.
func zxids(t testing.TB, s source) []txnlog.Zxid {
	t.Helper()
	var out []txnlog.Zxid
	for {
		txn, err := s.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, txn.Zxid)
	}
}

// findings collects what is reported.
type findings []txnlog.Finding

func (f *findings) options() *txnlog.ReadOptions {
	return &txnlog.ReadOptions{Report: func(one txnlog.Finding) { *f = append(*f, one) }}
}

func (f *findings) kinds() (out []txnlog.Kind) {
	for _, one := range *f {
		out = append(out, one.Kind)
	}
	return out
}

func between(from, to txnlog.Zxid) (out []txnlog.Zxid) {
	for z := from; z <= to; z++ {
		out = append(out, z)
	}
	return out
}

func TestFolderFindsTheFiles(t *testing.T) {
	root := serverDir(t, map[string][]byte{
		"log.1": nil, "log.a": nil, "log.100000001": nil, "snapshot.0": nil, "snapshot.ff.gz": nil, "snapshot.10.snappy": nil,
		"snapshot.200.tmp": nil, "log.old": nil, "acceptedEpoch": nil, "log": nil,
	})
	require.NoError(t, os.Mkdir(filepath.Join(root, "version-2", "log.5"), 0o755))
	for _, roots := range [][]string{{root}, {filepath.Join(root, "version-2")}, {root, root}} {
		f, err := txnlog.OpenFolder("a", roots...)
		require.NoError(t, err)
		var names []string
		for _, file := range append(f.Logs, f.Snapshots...) {
			names = append(names, filepath.Base(file.Path))
		}
		require.Equal(t, []string{"log.1", "log.a", "log.100000001", "snapshot.0", "snapshot.10.snappy", "snapshot.ff.gz"}, names)
		s, ok := f.SnapshotBefore(0xfe)
		require.True(t, ok)
		require.EqualValues(t, 0x10, s.Zxid)
	}
	f, err := txnlog.OpenFolder("a", filepath.Join(root, "version-2", "log.a"))
	require.NoError(t, err)
	require.Len(t, f.Logs, 1)
	_, err = txnlog.OpenFolder("a", t.TempDir())
	require.ErrorIs(t, err, txnlog.ErrNoFiles)
	_, err = txnlog.OpenFolder("a", filepath.Join(root, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
	_, err = txnlog.OpenFolder("a", filepath.Join(root, "version-2", "acceptedEpoch"))
	require.Error(t, err)
}

// Files that overlap, as after a restart of the same log under another name, yield
// each transaction once; an epoch's change is no gap.
func TestTransactionsAcrossFiles(t *testing.T) {
	root := serverDir(t, map[string][]byte{
		"log.1": newImage().sets(1, 5).padded(1000), "log.4": newImage().sets(4, 8).padded(10), "log.100000001": newImage().sets(0x100000001, 0x100000003).Bytes,
	})
	var found findings
	r := openDir(t, "a", root).Transactions(found.options())
	require.Equal(t, append(between(1, 8), between(0x100000001, 0x100000003)...), zxids(t, r))
	require.Empty(t, found)
	require.EqualValues(t, 2, r.Duplicates())
	done, total := r.Progress()
	require.Equal(t, total, done, "all bytes are read")
	require.NoError(t, r.Close())
}

func TestReadingStartsAtAZxidOrAMoment(t *testing.T) {
	root := serverDir(t, map[string][]byte{
		"log.1": []byte("not read"), "log.2": newImage().sets(2, 3).Bytes, "log.4": newImage().sets(4, 6).Bytes, "log.7": newImage().sets(7, 9).Bytes, "snapshot.3": nil, "snapshot.7": nil,
	})
	f := openDir(t, "a", root)
	var found findings
	o := found.options()
	o.From = 5
	require.Equal(t, between(5, 9), zxids(t, f.Transactions(o)))
	moment := func(z int64) time.Time { return time.UnixMilli(1_700_000_000_000 + z*1000) }
	o = found.options()
	o.Since = moment(8)
	require.Equal(t, between(8, 9), zxids(t, f.Transactions(o)))
	o.Since = moment(7)
	require.Equal(t, between(7, 9), zxids(t, f.Transactions(o)))
	require.Empty(t, found, "earlier files are not read")
	for at, want := range map[int64]txnlog.Zxid{5: 5, 6: 6, 7: 7, 100: 9} {
		z, ok, err := f.ZxidAt(moment(at).Add(time.Millisecond))
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, want, z)
	}
	_, ok, err := f.ZxidAt(moment(0))
	require.NoError(t, err)
	require.False(t, ok, "before the logs")
	_, ok = f.SnapshotBefore(2)
	require.False(t, ok)
	_, ok, err = f.SnapshotAt(moment(2))
	require.NoError(t, err)
	require.False(t, ok, "only transactions before all snapshots")
	s, ok, err := f.SnapshotAt(moment(6))
	require.NoError(t, err)
	require.True(t, ok)
	require.EqualValues(t, 3, s.Zxid)
}

// Each kind of trouble is a finding with its place, and reading goes on.
func TestTroubleInOneFolderIsReported(t *testing.T) {
	half := newImage().sets(1, 4)
	cut := int64(len(half.Bytes))
	half.sets(5, 5)
	bad := newImage().sets(5, 7)
	bad.Bytes[len(bad.Bytes)-3] ^= 1
	bad.sets(8, 9)
	root := serverDir(t, map[string][]byte{
		"log.1": half.Bytes[:len(half.Bytes)-9], "log.5": bad.padded(99), "log.a": []byte("garbage"), "log.c": newImage().sets(0xd, 0xf).Bytes,
		"log.d": newImage().sets(0x14, 0x15).Bytes, "snapshot.13": nil, "log.16": nil,
	})
	f := openDir(t, "a", root)
	require.NoError(t, os.Remove(filepath.Join(root, "version-2", "log.16")))
	var found findings
	r := f.Transactions(found.options())
	require.Equal(t, append(append(between(1, 6), 8, 9, 0xd, 0xe, 0xf), 0x14, 0x15), zxids(t, r))
	require.Equal(t, []txnlog.Kind{
		txnlog.HalfWritten, txnlog.Damaged, txnlog.Damaged, txnlog.Misnamed, txnlog.Misnamed, txnlog.Vanished, txnlog.Gap, txnlog.Gap, txnlog.Gap,
	}, found.kinds(), "%v", found)
	require.Equal(t, cut, found[0].At[0].Offset)
	require.ErrorIs(t, found[1].Err, txnlog.ErrCorrupt)
	require.ErrorContains(t, found[1].Err, "log.5 offset")
	require.ErrorIs(t, found[2].Err, txnlog.ErrForeign)
	require.ErrorIs(t, found[5].Err, os.ErrNotExist)
	require.EqualValues(t, 7, found[6].From)
	require.EqualValues(t, 0x10, found[8].From)
	require.EqualValues(t, 0x13, found[8].To)
	require.Contains(t, found[8].Snapshot, "snapshot.13", "the server was synchronized by a snapshot")
}

// A follower that is being synchronized logs two sequences in turn.
func TestLateTransactionsAreReturnedInTheirPlace(t *testing.T) {
	late := newImage().sets(0xc, 0xc).sets(0xa, 0xa).sets(0xd, 0xd).sets(0xa, 0xa).sets(0x10, 0x12)
	root := serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 9).Bytes, "log.b": newImage().sets(0xb, 0xb).sets(0xe, 0xf).Bytes, "log.c": late.Bytes})
	var found findings
	r := openDir(t, "a", root).Transactions(found.options())
	require.Equal(t, between(1, 0x12), zxids(t, r))
	require.Empty(t, found)
	require.EqualValues(t, 3, r.Reordered())
	require.EqualValues(t, 1, r.Duplicates())
	o := found.options()
	o.From = 0xd
	require.Equal(t, between(0xd, 0x12), zxids(t, openDir(t, "a", root).Transactions(o)))
	require.Empty(t, found)
}

// At the end so far, a reader does not wait for late transactions.
func TestLateTransactionsBehindTheEndSoFar(t *testing.T) {
	m := newImage().sets(1, 3).sets(5, 6)
	root, other := serverDir(t, map[string][]byte{"log.1": m.Bytes}), serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 7).Bytes})
	var found, merged findings
	r := openDir(t, "a", root).Transactions(found.options())
	both, err := txnlog.NewMerge(merged.options(), openDir(t, "a", root), openDir(t, "b", other))
	require.NoError(t, err)
	require.Equal(t, append(between(1, 3), 5, 6), zxids(t, r))
	require.Equal(t, between(1, 7), zxids(t, both))
	writeFile(t, root, "log.1", m.sets(4, 4).sets(7, 8).Bytes)
	require.Equal(t, between(7, 8), zxids(t, r))
	require.Equal(t, []txnlog.Kind{txnlog.Gap, txnlog.Disorder}, found.kinds(), "%v", found)
	require.Equal(t, between(8, 8), zxids(t, both))
	require.Equal(t, []string{"a", "b"}, both.Have(4))
	require.Equal(t, []txnlog.Kind{txnlog.Missing}, merged.kinds(), "%v", merged)
}

// A log that disagrees with an earlier log of the same server is a conflict.
func TestConflictWithinOneFolder(t *testing.T) {
	other := newImage()
	at := other.set(4, "other")
	other.sets(5, 6)
	root := serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 4).Bytes, "log.4": other.Bytes})
	var found findings
	require.Equal(t, between(1, 6), zxids(t, openDir(t, "a", root).Transactions(found.options())))
	require.Equal(t, []txnlog.Kind{txnlog.Conflict}, found.kinds())
	require.EqualValues(t, 4, found[0].From)
	require.Equal(t, at, found[0].At[1].Offset)
	require.Contains(t, found[0].String(), "conflict on a: zxid 0x4; ")
}

// A reader at the end so far sees what the server appends, also in new files, and
// what it appended to a file before it began the next one.
func TestTransactionsFollowAServer(t *testing.T) {
	one := newImage().sets(1, 2)
	root := serverDir(t, map[string][]byte{"log.1": one.padded(500)})
	var found findings
	r := openDir(t, "a", root).Transactions(found.options())
	defer r.Close()
	require.Equal(t, between(1, 2), zxids(t, r))
	require.Empty(t, zxids(t, r))
	writeFile(t, root, "log.1", one.sets(3, 4).padded(500))
	require.Equal(t, between(3, 4), zxids(t, r))
	writeFile(t, root, "log.1", one.sets(5, 6).padded(500))
	writeFile(t, root, "log.7", newImage().sets(7, 8).padded(500))
	require.Equal(t, between(5, 8), zxids(t, r))
	writeFile(t, root, "log.9", nil) // just created
	require.Empty(t, zxids(t, r))
	require.NoError(t, os.Remove(filepath.Join(root, "version-2", "log.1")))
	writeFile(t, root, "log.9", newImage().sets(9, 9).padded(500))
	require.Equal(t, between(9, 9), zxids(t, r))
	require.Empty(t, found)
	// The server truncates its log, and goes on in a new epoch.
	writeFile(t, root, "log.9", newImage().Bytes)
	writeFile(t, root, "log.100000001", newImage().sets(0x100000001, 0x100000002).Bytes)
	require.Equal(t, between(0x100000001, 0x100000002), zxids(t, r))
	require.Equal(t, []txnlog.Kind{txnlog.Damaged}, found.kinds())
	require.ErrorIs(t, found[0].Err, txnlog.ErrRewritten)
}

// A server that truncates its log to a transaction in an earlier file deletes the
// later files; a purge deletes the oldest.
func TestDeletionOfTheNewestLogIsReported(t *testing.T) {
	for deleted, want := range map[string]int{"log.3": 1, "log.1": 0} {
		root := serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 2).Bytes, "log.3": newImage().sets(3, 4).padded(100)})
		var found findings
		r := openDir(t, "a", root).Transactions(found.options())
		require.Equal(t, between(1, 4), zxids(t, r))
		require.NoError(t, os.Remove(filepath.Join(root, "version-2", deleted)))
		require.Empty(t, zxids(t, r))
		writeFile(t, root, "log.100000001", newImage().sets(0x100000001, 0x100000002).Bytes)
		require.Equal(t, between(0x100000001, 0x100000002), zxids(t, r))
		require.Len(t, found, want)
		for _, one := range found {
			require.ErrorIs(t, one.Err, txnlog.ErrRewritten)
			require.ErrorContains(t, one.Err, "last good zxid 0x4")
		}
		require.NoError(t, r.Close())
	}
}

func TestProgressGrowsToTheTotal(t *testing.T) {
	root := serverDir(t, map[string][]byte{"log.1": newImage().sets(1, 500).padded(5000), "log.1f5": newImage().sets(501, 900).padded(100)})
	r := openDir(t, "a", root).Transactions(nil)
	defer r.Close()
	done, total := r.Progress()
	require.Zero(t, done)
	require.Greater(t, total, int64(5100), "known before the first read")
	var before int64
	for {
		_, err := r.Next()
		done, total := r.Progress()
		require.GreaterOrEqual(t, done, before)
		require.LessOrEqual(t, done, total)
		before = done
		if err != nil {
			require.ErrorIs(t, err, io.EOF)
			break
		}
	}
	_, total = r.Progress()
	require.Positive(t, before)
	require.GreaterOrEqual(t, total, before)
}
