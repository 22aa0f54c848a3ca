package txnlog_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// writers create znodes one after another until they are stopped, and remember the
// acknowledged ones.
type writers struct {
	t     *testing.T
	ctx   context.Context
	stop  context.CancelFunc
	group sync.WaitGroup
	acked [3][]string // of each writer, in order; read after wait
	count atomic.Int64
}

func startWriters(t *testing.T, cluster *apache.Cluster) *writers {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	w := &writers{t: t, ctx: ctx, stop: cancel}
	t.Cleanup(w.wait)
	for i := range w.acked {
		client, err := session.Connect(ctx, cluster.Connect(), nil)
		require.NoError(t, err)
		// Ends when the writers are stopped; wait waits for it.
		w.group.Go(func() { w.write(client, i) })
	}
	return w
}

func (w *writers) write(client *session.Client, i int) {
	for k := 0; w.ctx.Err() == nil; k++ {
		path := fmt.Sprintf("/writer%d-%06d", i, k)
		s, err := client.Session(w.ctx)
		if err != nil {
			continue
		}
		if _, err := s.Create(w.ctx, path, []byte(path), session.Persistent, nil); err == nil {
			w.acked[i] = append(w.acked[i], path)
			w.count.Add(1)
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.ctx), 10*time.Second)
	defer cancel()
	_ = client.Close(ctx) // the server may be down
}

// wait stops the writers.
func (w *writers) wait() {
	w.stop()
	w.group.Wait()
}

// history collects what a source returns.
type history struct {
	t     *testing.T
	from  source
	paths map[string]int // of created znodes, with their place in the order
	last  txnlog.Zxid
}

// read reads to the end so far.
func (h *history) read() {
	h.t.Helper()
	for {
		txn, err := h.from.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(h.t, err)
		require.Greater(h.t, txn.Zxid, h.last)
		h.last = txn.Zxid
		for _, c := range txn.Changes {
			if c.Type.Creates() && !txn.Failed() {
				require.Equal(h.t, c.Path, string(c.Data))
				h.paths[c.Path] = len(h.paths)
			}
		}
	}
}

// readUntil reads again and again until done is true.
func (h *history) readUntil(done func() bool) {
	h.t.Helper()
	require.Eventually(h.t, func() bool {
		h.read()
		return done()
	}, time.Minute, 5*time.Millisecond)
}

// requireAcked requires all acknowledged writes, in the order of each writer.
func (h *history) requireAcked(w *writers) {
	h.t.Helper()
	h.readUntil(func() bool {
		for _, acked := range w.acked {
			for _, path := range acked {
				if _, ok := h.paths[path]; !ok {
					return false
				}
			}
		}
		return true
	})
	for _, acked := range w.acked {
		require.NotEmpty(h.t, acked)
		for k := 1; k < len(acked); k++ {
			require.Less(h.t, h.paths[acked[k-1]], h.paths[acked[k]])
		}
	}
}

// A reader follows a server that rotates its logs, takes snapshots and is killed
// while clients write: each acknowledged write is read, in order.
func TestFollowingAServerOnApache(t *testing.T) {
	dir := t.TempDir()
	cluster := apache.Require(t, &apache.Options{
		Mode: apache.Jars, Own: true, Dir: dir, Heap: 96, Config: map[string]string{"snapCount": "200", "preAllocSize": "64"},
	})
	var found findings
	f := openDir(t, "server", dataDir(t, dir, 0))
	r := f.Transactions(found.options())
	defer r.Close()
	w := startWriters(t, cluster)
	h := &history{t: t, from: r, paths: map[string]int{}}
	for _, n := range []int64{500, 1000} {
		h.readUntil(func() bool { return w.count.Load() >= n })
		require.NoError(t, cluster.Kill(t.Context(), 0))
		h.read()
		require.NoError(t, cluster.Restart(t.Context(), 0))
	}
	h.readUntil(func() bool { return w.count.Load() >= 1500 })
	w.wait()
	h.requireAcked(w)
	for _, one := range found {
		require.Equal(t, txnlog.HalfWritten, one.Kind, "%v", one) // by the kills
	}
	again := &history{t: t, from: f.Transactions(nil), paths: map[string]int{}}
	again.requireAcked(w)
	require.Equal(t, h.last, again.last)
	require.Equal(t, len(h.paths), len(again.paths))
	require.NoError(t, f.Refresh())
	require.Greater(t, len(f.Logs), 4)
	require.Greater(t, len(f.Snapshots), 4)
	t.Logf("%d acknowledged writes, %d transactions' paths, %d logs, %d snapshots, findings: %v", w.count.Load(), len(h.paths), len(f.Logs), len(f.Snapshots), found)
	requireReplay(t, f, h)
}

// requireReplay makes the state of each whole snapshot, with the transactions after
// its zxid applied on top: all paths of the history.
func requireReplay(t *testing.T, f *txnlog.Folder, h *history) {
	t.Helper()
	whole := 0
	for _, file := range f.Snapshots {
		state := map[string]bool{}
		s, err := txnlog.OpenSnapshot(file.Path)
		if err == nil {
			for err == nil {
				var n txnlog.Node
				if err = s.Next(&n); err == nil && strings.HasPrefix(n.Path, "/writer") {
					state[n.Path] = true
				}
			}
			require.NoError(t, s.Close())
		}
		if !errors.Is(err, io.EOF) {
			require.ErrorIs(t, err, txnlog.ErrTruncated) // the server was killed
			continue
		}
		whole++
		require.GreaterOrEqual(t, s.End(), file.Zxid)
		rest := &history{t: t, from: f.Transactions(&txnlog.ReadOptions{From: file.Zxid + 1}), paths: map[string]int{}}
		rest.read()
		for path := range rest.paths {
			state[path] = true
		}
		require.Len(t, state, len(h.paths), file.Path)
	}
	require.Greater(t, whole, 2)
}

// Three servers, of which a follower and the leader are killed, agree; an edited
// copy does not.
func TestMergingAnEnsembleOnApache(t *testing.T) {
	dir := t.TempDir()
	cluster := apache.Require(t, &apache.Options{
		Mode: apache.Jars, Own: true, Servers: 3, Dir: dir, Heap: 96, Config: map[string]string{"snapCount": "300", "preAllocSize": "64"},
	})
	var found findings
	folders := func() (out []*txnlog.Folder) {
		for i := range 3 {
			out = append(out, openDir(t, fmt.Sprint("server", i), dataDir(t, dir, i)))
		}
		return out
	}
	m, err := txnlog.NewMerge(found.options(), folders()...)
	require.NoError(t, err)
	defer m.Close()
	w := startWriters(t, cluster)
	live := &history{t: t, from: m, paths: map[string]int{}}
	live.readUntil(func() bool { return w.count.Load() >= 300 })
	require.Empty(t, found, "nothing has happened yet")
	for round, n := range []int64{350, 700} {
		live.readUntil(func() bool { return w.count.Load() >= n })
		leader, err := cluster.Leader(t.Context())
		require.NoError(t, err)
		victim := (leader + 1 - round + 3) % 3 // a follower, then the leader
		require.NoError(t, cluster.Kill(t.Context(), victim))
		live.readUntil(func() bool { return w.count.Load() >= n+150 })
		require.NoError(t, cluster.Restart(t.Context(), victim))
	}
	live.readUntil(func() bool { return w.count.Load() >= 1200 })
	w.wait()
	live.requireAcked(w)
	t.Logf("while running: %d acknowledged writes, findings: %v", w.count.Load(), found)
	for i := range 3 {
		require.NoError(t, cluster.Kill(t.Context(), i))
	}
	found = nil
	m, err = txnlog.NewMerge(found.options(), folders()...)
	require.NoError(t, err)
	defer m.Close()
	h := &history{t: t, from: m, paths: map[string]int{}}
	h.requireAcked(w)
	for _, one := range found {
		// A server that was away for long was synchronized by a snapshot of the leader.
		explained := one.Kind == txnlog.Missing && one.Snapshot != ""
		// The last proposals of the killed leader may have reached no other server.
		abandoned := one.Kind == txnlog.Missing && len(one.Has) == 1 && one.To.Epoch() == 1
		require.True(t, explained || abandoned || one.Kind == txnlog.HalfWritten, "%v", one)
	}
	require.Positive(t, h.last.Epoch())
	t.Logf("at rest: %d paths up to %s, findings: %v", len(h.paths), h.last, found)
	requireEditIsFound(t, folders())
}

// requireEditIsFound changes one byte of a znode's data in a copy of a log, with a
// right checksum.
func requireEditIsFound(t *testing.T, folders []*txnlog.Folder) {
	t.Helper()
	var edited *txnlog.Txn
	copied := map[string][]byte{}
	for _, log := range folders[1].Logs {
		b, err := os.ReadFile(log.Path)
		require.NoError(t, err)
		copied[filepath.Base(log.Path)] = b
		for _, txn := range readLog(t, log.Path) {
			if edited == nil && txn.Type.Creates() && txn.Zxid.Counter() > 100 {
				edited = txn
				record := b[txn.At.Offset : txn.At.Offset+txn.Size]
				payload := record[12 : len(record)-1]
				payload[32+4+len(txn.Changes[0].Path)+4] ^= 1
				binary.BigEndian.PutUint64(record, uint64(adler32.Checksum(payload)))
			}
		}
	}
	require.NotNil(t, edited)
	var found findings
	m, err := txnlog.NewMerge(found.options(), folders[0], openDir(t, "copy", serverDir(t, copied)), folders[2])
	require.NoError(t, err)
	defer m.Close()
	zxids(t, m)
	conflicts := 0
	for _, one := range found {
		if one.Kind == txnlog.Conflict {
			conflicts++
			require.Equal(t, edited.Zxid, one.From)
			require.Contains(t, append(one.Has, one.Server), "copy")
		}
	}
	require.Positive(t, conflicts, "%v", found)
}
