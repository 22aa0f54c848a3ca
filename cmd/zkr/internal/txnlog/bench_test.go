package txnlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// benchmarkTxns is the number of transactions of a benchmark's log.
const benchmarkTxns = 1_000_000

// largeLog writes a log like that of a busy ensemble: sequential ephemeral znodes of
// locks are created and deleted, and records of 100 bytes are changed.
func largeLog(b *testing.B, dir string) (path string, size int64) {
	b.Helper()
	m := newImage()
	data := fmt.Sprintf("%0100d", 7)
	for i := range uint32(benchmarkTxns) {
		z := txnlog.Zxid(i + 1)
		switch i % 3 {
		case 0:
			m.add(z, txnlog.TypeCreate2, logtest.Create(fmt.Sprintf("/locks/resource-%04d/_c_0123456789abcdef-lock-%010d", i%5000, i), "host:4242", true, i))
		case 1:
			m.add(z, txnlog.TypeSetData, logtest.Set(fmt.Sprintf("/records/%06d", i%100_000), data, i))
		default:
			m.add(z, txnlog.TypeDelete, logtest.AppendString(nil, fmt.Sprintf("/locks/resource-%04d/_c_0123456789abcdef-lock-%010d", i%5000, i)))
		}
	}
	path = filepath.Join(dir, "version-2", "log.1")
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b, os.WriteFile(path, m.padded(1<<20), 0o600))
	return path, int64(len(m.Bytes))
}

// sealSize is the size of a snapshot's seal: checksum and "/".
const sealSize = 13

// drain reads to the end so far.
func drain(b *testing.B, s source) {
	n := 0
	for {
		_, err := s.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		require.NoError(b, err)
		n++
	}
	require.Equal(b, benchmarkTxns, n)
}

// report adds the number of transactions in a second.
func report(b *testing.B) {
	b.ReportMetric(float64(b.N)*benchmarkTxns/b.Elapsed().Seconds(), "txns/s")
}

type readerSource struct {
	r   *txnlog.Reader
	txn txnlog.Txn
}

func (s *readerSource) Next() (*txnlog.Txn, error) { return &s.txn, s.r.Next(&s.txn) }

func BenchmarkReader(b *testing.B) {
	path, size := largeLog(b, b.TempDir())
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		f, err := os.Open(path)
		require.NoError(b, err)
		drain(b, &readerSource{r: txnlog.NewReader(f, path)})
		require.NoError(b, f.Close())
	}
	report(b)
}

func BenchmarkTransactions(b *testing.B) {
	dir := b.TempDir()
	_, size := largeLog(b, dir)
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		f, err := txnlog.OpenFolder("a", dir)
		require.NoError(b, err)
		t := f.Transactions(nil)
		drain(b, t)
		require.NoError(b, t.Close())
	}
	report(b)
}

// BenchmarkMergeOfThree reads three equal folders: three times the bytes.
func BenchmarkMergeOfThree(b *testing.B) {
	var dirs []string
	var size int64
	for range 3 {
		dirs = append(dirs, b.TempDir())
		_, size = largeLog(b, dirs[len(dirs)-1])
	}
	b.SetBytes(3 * size)
	b.ReportAllocs()
	for b.Loop() {
		var folders []*txnlog.Folder
		for i, dir := range dirs {
			f, err := txnlog.OpenFolder(fmt.Sprint(i), dir)
			require.NoError(b, err)
			folders = append(folders, f)
		}
		m, err := txnlog.NewMerge(nil, folders...)
		require.NoError(b, err)
		drain(b, m)
		require.NoError(b, m.Close())
	}
	report(b)
}

// BenchmarkSnapshot reads a snapshot of a million znodes.
func BenchmarkSnapshot(b *testing.B) {
	image := snapshotImage(nil)
	image = image[:len(image)-5-sealSize]
	stat := bytes.Clone(image[len(image)-4-8-60:]) // of /large: no data, ACL, stat
	for i := range benchmarkTxns {
		image = logtest.AppendString(image, fmt.Sprintf("/large/%07d", i))
		image = append(image, stat...)
	}
	image = logtest.AppendString(image, "/")
	image = logtest.AppendString(binary.BigEndian.AppendUint64(image, uint64(adler32.Checksum(image))), "/")
	b.SetBytes(int64(len(image)))
	b.ReportAllocs()
	for b.Loop() {
		s, err := txnlog.NewSnapshot(bytes.NewReader(image), "snapshot.1")
		require.NoError(b, err)
		n := 0
		for {
			var node txnlog.Node
			if err := s.Next(&node); err != nil {
				require.ErrorIs(b, err, io.EOF)
				break
			}
			n++
		}
		require.Equal(b, benchmarkTxns+2, n)
	}
	b.ReportMetric(float64(b.N)*benchmarkTxns/b.Elapsed().Seconds(), "znodes/s")
}
