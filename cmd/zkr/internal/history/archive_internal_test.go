package history

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/txnlog/logtest"
)

// A kept state has a client by its newest name: the name is data, which changes without a grant or
// an end.
func TestKeptStateHasTheNewestNames(t *testing.T) {
	const me = "/app/locks/l/_c_00000001-0000-4000-8000-000000000000-lock-0000000000"
	m, zxid := logtest.New(), txnlog.Zxid(0)
	add := func(session int64, kind txnlog.Type, body []byte) {
		zxid++
		at := time.UnixMilli(1_700_000_000_000 + int64(zxid))
		m.Add(&logtest.Header{Session: session, Cxid: int32(zxid), Zxid: zxid, Time: at, Type: kind}, body)
	}
	for _, path := range []string{"/app", "/app/locks", "/app/locks/l", "/other"} {
		add(1, txnlog.TypeCreate, logtest.Create(path, "", false, 0))
	}
	for range 40 { // the next kept states are no whole ones
		add(1, txnlog.TypeCreate, logtest.Create("/other/x", "", false, 0))
		add(1, txnlog.TypeDelete, logtest.Delete("/other/x"))
	}
	add(7, txnlog.TypeCreate, logtest.Create(me, "host-a:1", true, 0))
	add(7, txnlog.TypeSetData, logtest.Set(me, "host-b:1", 1))
	for i := range 30 {
		add(1, txnlog.TypeCreate, logtest.Create(fmt.Sprintf("/other-%d", i), "", false, 0))
	}
	add(7, txnlog.TypeDelete, logtest.Delete(me))
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "log.1"), m.Bytes, 0o600))
	f, err := txnlog.OpenFolder("server", dir)
	require.NoError(t, err)
	for _, span := range []int64{1, 5, 1 << 40} {
		a := NewArchive(&Origin{Servers: []*txnlog.Folder{f}}, "/")
		a.Bound(1<<30, 1<<20, span)
		require.NoError(t, a.Read(t.Context()))
		s, err := a.State(t.Context(), Mark{Zxid: zxid - 1, Nth: AllOfThem})
		require.NoError(t, err)
		next := s.Events[s.Next]
		require.Equal(t, Ended, next.Kind)
		require.Equal(t, "host-b:1", next.Stay.Name, "span %d", span)
	}
}
