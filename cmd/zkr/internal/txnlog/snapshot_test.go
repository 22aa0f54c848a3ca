package txnlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// readSnapshot returns the znodes and the error that ended the reading.
func readSnapshot(src io.Reader, name string) ([]txnlog.Node, error) {
	s, err := txnlog.NewSnapshot(src, name)
	if err != nil {
		return nil, err
	}
	var out []txnlog.Node
	for {
		var n txnlog.Node
		if err := s.Next(&n); err != nil {
			return out, err
		}
		n.Data = bytes.Clone(n.Data)
		out = append(out, n)
	}
}

// goldenSnapshots are the snapshots of all versions and kinds.
func goldenSnapshots(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/zookeeper-*/*/snapshot.*")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

// snapshotImage is a snapshot with a session and one large znode, without footers
// behind the seal, as servers before 3.6 write them.
func snapshotImage(data []byte) []byte {
	b := append([]byte("ZKSN"), 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64(b, testSession), 10_000)
	b = binary.BigEndian.AppendUint32(b, 1)
	b = logtest.AppendACL(binary.BigEndian.AppendUint64(b, 1))
	for _, path := range []string{"", "/large"} {
		b = logtest.AppendString(b, path)
		if path == "" {
			b = binary.BigEndian.AppendUint32(b, 0xffffffff) // null
		} else {
			b = logtest.AppendString(b, string(data))
		}
		b = binary.BigEndian.AppendUint64(b, 1)
		for i := range 4 {
			b = binary.BigEndian.AppendUint64(b, uint64(i+1))
		}
		b = append(b, 0, 0, 0, 5, 0, 0, 0, 6, 0, 0, 0, 7)
		b = binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint64(b, testSession), 8)
	}
	b = logtest.AppendString(b, "/")
	return logtest.AppendString(binary.BigEndian.AppendUint64(b, uint64(adler32.Checksum(b))), "/")
}

func TestSnapshotOfAnOldServer(t *testing.T) {
	data := bytes.Repeat([]byte("data"), 1<<18)
	s, err := txnlog.NewSnapshot(bytes.NewReader(snapshotImage(data)), "snapshot.3")
	require.NoError(t, err)
	require.Equal(t, []txnlog.SessionTimeout{{Session: testSession, Timeout: 10 * time.Second}}, s.Sessions)
	require.EqualValues(t, 9, s.DBID())
	var n txnlog.Node
	require.NoError(t, s.Next(&n))
	require.Equal(t, "/", n.Path)
	require.Nil(t, n.Data)
	require.NoError(t, s.Next(&n))
	require.Equal(t, "/large", n.Path)
	require.Equal(t, data, n.Data)
	require.Equal(t, txnlog.Stat{
		Czxid: 1, Mzxid: 2, Ctime: time.UnixMilli(3), Mtime: time.UnixMilli(4), Version: 5, Cversion: 6, Aversion: 7, Owner: testSession, Pzxid: 8,
	}, n.Stat)
	require.ErrorIs(t, s.Next(&n), io.EOF)
	require.ErrorIs(t, s.Next(&n), io.EOF)
	require.EqualValues(t, 8, s.End())
	digest, _ := s.Digest()
	require.Zero(t, digest.Version)
	require.NoError(t, s.Close())
}

// A snapshot that was cut is never taken for a whole one, except right behind a
// seal: there the snapshots of older servers end.
func TestSnapshotsCutAtEveryOffset(t *testing.T) {
	for _, path := range goldenSnapshots(t) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		whole, err := readSnapshot(bytes.NewReader(b), path)
		require.ErrorIs(t, err, io.EOF)
		for n := range b {
			got, err := readSnapshot(bytes.NewReader(b[:n]), path)
			var damage *txnlog.DamageError
			if !errors.As(err, &damage) {
				require.Equal(t, io.EOF, err, "%s cut at %d", path, n)
				require.Equal(t, whole, got)
				require.Equal(t, "\x00\x00\x00\x01/", string(b[n-5:n]), "%s cut at %d", path, n)
				continue
			}
			require.Equal(t, path, damage.At.File)
			require.LessOrEqual(t, len(got), len(whole))
		}
	}
}

// Any changed byte is noticed, or changes nothing: a compressed file has bytes in
// its headers and tables that do not matter for its content.
func TestSnapshotsWithEachByteChanged(t *testing.T) {
	for _, path := range goldenSnapshots(t) {
		b, err := os.ReadFile(path)
		require.NoError(t, err)
		compressed := filepath.Ext(path) == ".gz" || filepath.Ext(path) == ".snappy"
		want, _ := readSnapshot(bytes.NewReader(b), path)
		unnoticed := 0
		for n := range b {
			for _, flip := range []byte{0x01, 0xff} {
				changed := bytes.Clone(b)
				changed[n] ^= flip
				got, err := readSnapshot(bytes.NewReader(changed), path)
				if errors.Is(err, io.EOF) {
					require.True(t, compressed, "%s changed at %d, and nothing was found", path, n)
					require.Equal(t, want, got)
					unnoticed++
					continue
				}
				var damage *txnlog.DamageError
				require.ErrorAs(t, err, &damage, "%s changed at %d", path, n)
			}
		}
		require.Less(t, unnoticed, 40)
	}
}

func TestOpenSnapshotNamesWhatIsWrong(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"snapshot.1": "ZKLG............", "snapshot.1.gz": "no gzip...", "snapshot.1.snappy": "\xff\x06\x00\x00sNaPpY........",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := txnlog.OpenSnapshot(path)
		require.ErrorIs(t, err, txnlog.ErrForeign, name)
		require.ErrorContains(t, err, name)
	}
	_, err := txnlog.NewSnapshot(bytes.NewReader([]byte("\x82SNAPPY\x00\x00\x00\x00\x02\x00\x00\x00\x02")), "snapshot.1.snappy")
	require.ErrorIs(t, err, txnlog.ErrVersion)
	_, err = txnlog.NewSnapshot(bytes.NewReader([]byte("ZKSN\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00")), "snapshot.1")
	require.ErrorIs(t, err, txnlog.ErrVersion)
	_, err = txnlog.OpenSnapshot(filepath.Join(dir, "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}
