package session

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestAConnectionCostsKilobytes: go-zookeeper's defaults cost 3 MB each.
func TestAConnectionCostsKilobytes(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	defer func() { require.NoError(t, srv.Close()) }()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	const clients = 50
	before := heap()
	all := make([]*Client, clients)
	for i := range all {
		all[i], err = Connect(ctx, srv.Addr(), nil)
		require.NoError(t, err)
	}
	each := (heap() - before) / clients
	t.Logf("%d bytes per client, the test server's side included", each)
	require.Less(t, each, int64(100<<10))
	for _, c := range all {
		require.NoError(t, c.Close(ctx))
	}
}

func heap() int64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
