package history

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// write writes the turns into log files of 100,000 transactions, as servers do.
func (s *turns) write(b *testing.B, dir string) {
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
		body := logtest.Create(ch.Path, string(ch.Data), true, 0)
		if ch.Type.Deletes() {
			h.Type, body = txnlog.TypeDelete, logtest.Delete(ch.Path)
		}
		if m.Add(h, body); txn.Zxid%100_000 == 0 {
			save()
			m, first = logtest.New(), txn.Zxid+1
		}
	}
}

// BenchmarkArchive says how long the first reading of 200,000 transactions takes, and then a look
// at a moment at random.
func BenchmarkArchive(b *testing.B) {
	for _, c := range []struct{ locks, waiters int }{{100, 3}, {2000, 3}, {20_000, 3}} {
		b.Run(fmt.Sprintf("locks=%d/waiters=%d", c.locks, c.waiters), func(b *testing.B) {
			dir := b.TempDir()
			(&turns{locks: c.locks, waiters: c.waiters, n: 200_000}).write(b, dir)
			f, err := txnlog.OpenFolder("server", dir)
			require.NoError(b, err)
			a := NewArchive(&Origin{Servers: []*txnlog.Folder{f}}, "/")
			began := time.Now()
			require.NoError(b, a.Read(b.Context()))
			first := time.Since(began)
			var slowest time.Duration
			for b.Loop() {
				began := time.Now()
				_, err := a.State(b.Context(), Mark{Zxid: txnlog.Zxid(rand.IntN(200_000)), Nth: AllOfThem}) //nolint:gosec // any moment
				require.NoError(b, err)
				slowest = max(slowest, time.Since(began))
			}
			b.ReportMetric(first.Seconds(), "s/first")
			b.ReportMetric(float64(sizeOf(a.whole().checkpoints))/(1<<20), "MiB-kept")
			b.ReportMetric(slowest.Seconds(), "s/slowest")
		})
	}
}
