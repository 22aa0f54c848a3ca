package txnlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

func decode(t *testing.T, b []byte) []*txnlog.Txn {
	t.Helper()
	out, err := readAll(txnlog.NewReader(bytes.NewReader(b), "image"))
	require.NoError(t, err)
	return out
}

// Servers before 3.6 write no paths, and very old ones no cversion of the parent.
// With a digest, the record of a closed session could be taken for a list.
func TestOldFormsOfRecords(t *testing.T) {
	digest := []byte{0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0}
	m := newImage()
	create := logtest.Create("/old", "x", true, 7)
	m.add(1, txnlog.TypeCreate, create[:len(create)-4])
	m.add(2, txnlog.TypeCreate, create)
	m.add(3, txnlog.TypeCreate, append(create, digest...))
	m.add(4, txnlog.TypeCloseSession, nil)
	m.add(5, txnlog.TypeCloseSession, digest)
	m.add(6, txnlog.TypeCloseSession, binary.BigEndian.AppendUint32(nil, 0))
	m.add(7, txnlog.TypeCloseSession, append(logtest.AppendString([]byte{0, 0, 0, 1}, "/old"), digest...))
	got := decode(t, m.padded(100))
	require.Len(t, got, 7)
	require.EqualValues(t, -1, got[0].Changes[0].ParentCversion)
	require.EqualValues(t, 7, got[1].Changes[0].ParentCversion)
	require.EqualValues(t, testSession, got[1].Changes[0].Owner.Session())
	require.Zero(t, got[1].Digest.Version)
	require.EqualValues(t, 2, got[2].Digest.Version)
	require.Equal(t, got[1].Content()[32:], got[2].Content()[32:], "the digest is no content")
	for i, paths := range []bool{false, false, true, true} {
		txn := got[3+i]
		require.Equal(t, paths, txn.PathsKnown, i)
		require.Equal(t, txnlog.TypeCloseSession, txn.Changes[0].Type)
	}
	require.EqualValues(t, 2, got[4].Digest.Version)
	require.Equal(t, "/old", got[6].Changes[1].Path)
	require.True(t, got[6].Changes[1].Type.Deletes())
	require.Equal(t, time.UnixMilli(1_700_000_007_000), got[6].Time)
}

// A znode may be larger than the reader's buffer.
func TestLargeRecord(t *testing.T) {
	large := string(bytes.Repeat([]byte("large "), 1<<20))
	m := newImage()
	m.set(1, large)
	m.set(2, "small")
	got := decode(t, m.Bytes)
	require.Len(t, got, 2)
	require.Equal(t, large, string(got[0].Changes[0].Data))
	require.Equal(t, "small", string(got[1].Changes[0].Data))
}

// A record of an unknown type with a right checksum is named and can be skipped.
func TestUnknownRecordIsSkipped(t *testing.T) {
	m := newImage().sets(1, 1)
	at := m.add(2, 99, []byte("new"))
	m.sets(3, 3)
	r := txnlog.NewReader(bytes.NewReader(m.padded(10)), "image")
	got, err := readAll(r)
	require.Len(t, got, 1)
	require.ErrorIs(t, err, txnlog.ErrVersion)
	var damage *txnlog.DamageError
	require.ErrorAs(t, err, &damage)
	require.Equal(t, at, damage.At.Offset)
	require.EqualValues(t, 1, damage.Last)
	require.True(t, r.Skip(damage))
	got, err = readAll(r)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.EqualValues(t, 3, got[0].Zxid)
}

func TestForeignFilesAreNamed(t *testing.T) {
	for text, reason := range map[string]error{
		"ZKSN\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x00": txnlog.ErrForeign,
		"ELF":       txnlog.ErrForeign,
		"text file": txnlog.ErrForeign,
		"ZKLG\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00\x00": txnlog.ErrVersion,
		"": io.EOF, "ZK": io.EOF, "ZKLG\x00\x00\x00": io.EOF,
	} {
		var txn txnlog.Txn
		require.ErrorIs(t, txnlog.NewReader(bytes.NewReader([]byte(text)), "x").Next(&txn), reason, "%q", text)
	}
}

// A reader follows a file that grows byte by byte, in front of preallocated zeros
// or without them, and returns each transaction as soon as it is whole.
func TestReaderFollowsAGrowingFile(t *testing.T) {
	m := newImage()
	ends := map[int]bool{}
	for z := txnlog.Zxid(1); z <= 5; z++ {
		m.set(z, string(bytes.Repeat([]byte{0}, int(z)*7))) // data that looks like the rest
		ends[len(m.Bytes)] = true
	}
	for _, padding := range []int{0, 1, 13, 4096} {
		path := filepath.Join(t.TempDir(), "log.1")
		f, err := os.Create(path)
		require.NoError(t, err)
		defer f.Close()
		r := txnlog.NewReader(f, path)
		var next txnlog.Zxid = 1
		_, err = f.Write(m.Bytes[:16]) // servers write the header before they preallocate
		require.NoError(t, err)
		for n := 16; n < len(m.Bytes); n++ {
			require.NoError(t, f.Truncate(int64(n+1+padding)))
			_, err := f.WriteAt(m.Bytes[n:n+1], int64(n))
			require.NoError(t, err)
			got, err := readAll(r)
			require.NoError(t, err, n)
			if !ends[n+1] {
				require.Empty(t, got, n)
				continue
			}
			require.Len(t, got, 1)
			require.Equal(t, next, got[0].Zxid)
			require.Zero(t, r.Incomplete())
			next++
		}
		require.EqualValues(t, 6, next)
	}
}

// A server that truncates its log withdraws transactions that were read.
func TestTruncationBehindTheReaderIsNamed(t *testing.T) {
	m := newImage().sets(1, 3)
	keep := len(m.Bytes)
	m.sets(4, 5)
	path := filepath.Join(t.TempDir(), "log.1")
	require.NoError(t, os.WriteFile(path, m.padded(50), 0o600))
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	require.NoError(t, err)
	defer f.Close()
	r := txnlog.NewReader(f, path)
	got, err := readAll(r)
	require.NoError(t, err)
	require.Len(t, got, 5)
	require.NoError(t, f.Truncate(int64(keep)))
	_, err = readAll(r)
	require.ErrorIs(t, err, txnlog.ErrRewritten)
	require.ErrorContains(t, err, "0x5")
}

// Zeros mark the end of a log. Zeros in front of records, as after the loss of a
// disk's block, do not pass for the end.
func TestZerosInFrontOfRecordsAreDamage(t *testing.T) {
	m := newImage().sets(1, 20)
	b := m.padded(300)
	at := readRecordOffsets(t, b)[5]
	clear(b[at : at+200])
	got, err := readAll(txnlog.NewReader(bytes.NewReader(b), "log.1"))
	require.Len(t, got, 5)
	var damage *txnlog.DamageError
	require.ErrorAs(t, err, &damage)
	require.ErrorIs(t, err, txnlog.ErrCorrupt)
	require.Equal(t, at, damage.At.Offset)
	require.EqualValues(t, 5, damage.Last)
}

func readRecordOffsets(t *testing.T, b []byte) (out []int64) {
	t.Helper()
	for _, txn := range decode(t, b) {
		out = append(out, txn.At.Offset)
	}
	return out
}

// A record that claims to be large does not cost memory.
func TestDamagedLengthCostsNoMemory(t *testing.T) {
	m := newImage().sets(1, 1)
	at := len(m.Bytes)
	m.sets(2, 3)
	b := m.padded(32 << 20)
	copy(b[at+8:], []byte{0x0f, 0xff, 0xff, 0xff})
	r := txnlog.NewReader(bytes.NewReader(b), "log.1")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := readAll(r)
	runtime.ReadMemStats(&after)
	require.ErrorIs(t, err, txnlog.ErrCorrupt)
	require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(8<<20))
	var damage *txnlog.DamageError
	require.ErrorAs(t, err, &damage)
	require.True(t, r.Skip(damage))
	got, err := readAll(r)
	require.NoError(t, err)
	require.Len(t, got, 1)
	require.EqualValues(t, 3, got[0].Zxid)
}

// expectation says what is right for a damaged copy of a log.
type expectation struct {
	offsets []int64 // of the records, and of the end
	want    []*txnlog.Txn
}

// check reads a copy that differs from the original from offset at on: all
// transactions before are right, no later one is wrong, and the damage is named.
func (e *expectation) check(t *testing.T, b []byte, at int64, mayEnd bool) {
	t.Helper()
	r := txnlog.NewReader(bytes.NewReader(b), "log.100000001")
	got, err := readAll(r)
	whole := 0
	for whole < len(e.want) && e.offsets[whole+1] <= at {
		whole++
	}
	require.Len(t, got, whole, "changed at %d", at)
	for i := range got {
		require.Equal(t, e.want[i].Content(), got[i].Content())
	}
	var damage *txnlog.DamageError
	switch {
	case errors.As(err, &damage):
		start := e.offsets[whole]
		if at < 16 {
			start = 0
		}
		require.Equal(t, start, damage.At.Offset, "changed at %d: %v", at, err)
		if r.Skip(damage) {
			more, _ := readAll(r)
			for _, txn := range more {
				require.Equal(t, e.want[txn.Zxid.Counter()-1].Content(), txn.Content(), "behind the damage at %d", at)
			}
		}
	default:
		require.NoError(t, err)
		require.True(t, mayEnd, "changed at %d, and nothing was found", at)
	}
}

func expect(t *testing.T, path string) ([]byte, *expectation) {
	t.Helper()
	b, err := os.ReadFile(path)
	require.NoError(t, err)
	e := &expectation{want: readLog(t, path)}
	for _, txn := range e.want {
		e.offsets = append(e.offsets, txn.At.Offset)
	}
	last := e.want[len(e.want)-1]
	e.offsets = append(e.offsets, last.At.Offset+last.Size)
	return b, e
}

// A log that was cut at any offset ends there: nothing before is lost, and nothing
// is invented.
func TestLogsCutAtEveryOffset(t *testing.T) {
	for _, version := range goldenVersions(t) {
		b, e := expect(t, filepath.Join(version, "plain", "log.100000001"))
		end := e.offsets[len(e.offsets)-1]
		for n := range b {
			e.check(t, b[:n], min(int64(n), end), true)
			if int64(n) <= end {
				zeroed := append(bytes.Clone(b[:n]), make([]byte, len(b)-n)...)
				e.check(t, zeroed, int64(n), n >= 8)
			}
		}
	}
}

// Any changed byte of a log is noticed, at the record that has the byte. Not
// protected by a checksum are the database id in the file's header, and the last
// record's end mark, without which the record passes for half written.
func TestLogsWithEachByteChanged(t *testing.T) {
	versions := goldenVersions(t)
	b, e := expect(t, filepath.Join(versions[len(versions)-1], "plain", "log.100000001"))
	end, last := e.offsets[len(e.offsets)-1], e.offsets[len(e.offsets)-2]
	for n := range b {
		if n >= 8 && n < 16 || int64(n) > end+100 && n%97 > 0 {
			continue
		}
		for _, flip := range []byte{0x01, 0xff, b[n]} {
			if flip == 0 {
				continue
			}
			changed := bytes.Clone(b)
			changed[n] ^= flip
			// The last record passes for half written if its end is missing, and a
			// byte right behind it for the start of a next one.
			mayEnd := int64(n) >= last && int64(n) < end+12
			e.check(t, changed, min(int64(n), end), mayEnd)
		}
	}
}
