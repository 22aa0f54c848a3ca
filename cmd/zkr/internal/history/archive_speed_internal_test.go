package history

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// write writes the turns into log files of 100,000 transactions, as servers do.
func (s *turns) write(b testing.TB, dir string) {
	b.Helper()
	m, first := logtest.New(), txnlog.Zxid(1)
	save := func() {
		require.NoError(b, os.WriteFile(filepath.Join(dir, fmt.Sprintf("log.%x", int64(first))), m.Bytes, 0o600))
	}
	for {
		txn, err := s.Next()
		if errors.Is(err, io.EOF) {
			save()
			return
		}
		require.NoError(b, err)
		h := &logtest.Header{Session: txn.Session, Cxid: txn.Cxid, Zxid: txn.Zxid, Time: txn.Time, Type: txnlog.TypeCreate}
		ch := txn.Changes[0]
		body := logtest.Create(ch.Path, string(ch.Data), ch.Owner != 0, 0)
		if ch.Type.Deletes() {
			h.Type, body = txnlog.TypeDelete, logtest.Delete(ch.Path)
		}
		if m.Add(h, body); txn.Zxid%100_000 == 0 {
			save()
			m, first = logtest.New(), txn.Zxid+1
		}
	}
}

// openTurns is an archive of turns that has not been read.
func openTurns(b testing.TB, s *turns) *Archive {
	b.Helper()
	dir := b.TempDir()
	s.write(b, dir)
	f, err := txnlog.OpenFolder("server", dir)
	require.NoError(b, err)
	return NewArchive(&Origin{Servers: []*txnlog.Folder{f}}, "/")
}

// The memory of the kept states is no more than what is counted.
func TestKeptMemoryIsCounted(t *testing.T) {
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc) //nolint:gosec // below 8 EiB
	}
	a := openTurns(t, &turns{locks: 500, waiters: 3, n: 40_000})
	before := heap()
	require.NoError(t, a.Read(t.Context()))
	grown, all := heap()-before, a.whole().checkpoints
	counted := sizeOf(all) + all[0].size()
	require.Greater(t, len(all), 5)
	require.Less(t, grown, counted, "counted %d KiB", counted>>10)
	require.Greater(t, grown, counted/10, "the count tells something")
}

// BenchmarkArchive says how long the first reading of 200,000 transactions takes, and then a look
// at a moment at random.
func BenchmarkArchive(b *testing.B) {
	for _, c := range []struct{ locks, waiters int }{{100, 3}, {2000, 3}, {20_000, 3}} {
		b.Run(fmt.Sprintf("locks=%d/waiters=%d", c.locks, c.waiters), func(b *testing.B) {
			a := openTurns(b, &turns{locks: c.locks, waiters: c.waiters, n: 200_000})
			began := time.Now()
			require.NoError(b, a.Read(b.Context()))
			first := time.Since(began)
			var slowest time.Duration
			for b.Loop() {
				began := time.Now()
				s, err := a.State(b.Context(), Mark{Zxid: txnlog.Zxid(100_000 + rand.IntN(100_000)), Nth: AllOfThem}) //nolint:gosec // any moment
				require.NoError(b, err)
				require.Len(b, s.Things, c.locks)
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(first.Seconds(), "s/first")
			b.ReportMetric(float64(sizeOf(a.whole().checkpoints))/(1<<20), "MiB-kept")
			b.ReportMetric(slowest.Seconds(), "s/slowest")
		})
	}
}
