package gozookeeper

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func never() error { panic("nobody is to be told") }

func TestEveryKindIsMeasured(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	p := Peer{Servers: srv.Addr(), Timeout: 10 * time.Second}
	require.Contains(t, p.Version(), "go-zookeeper")
	conn, err := p.connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	for i, c := range []task.Task{
		{Kind: task.Lock, Clients: 3, Workers: 3},
		{Kind: task.Lock, Clients: 1, Workers: 8},
		{Kind: task.Counter, Clients: 3, Workers: 6},
		{Kind: task.CreateDelete, Clients: 1, Workers: 1},
		{Kind: task.Set, Clients: 1, Workers: 8},
	} {
		c.Path, c.WarmMS, c.TimeMS = fmt.Sprintf("/%d", i), 20, 100
		if c.Kind == task.Set || c.Kind == task.CreateDelete {
			_, err := conn.Create(c.Path, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		// A machine that stalls may get nothing done in so short a time.
		for value := 0.0; value == 0; c.TimeMS *= 2 {
			value, err = p.Measure(t.Context(), c, never)
			require.NoError(t, err, c.Kind)
			require.GreaterOrEqual(t, value, 0.0, c.Kind)
			require.Less(t, c.TimeMS, int64(100_000), c.Kind)
		}
		if c.Kind != task.Counter {
			continue
		}
		data, stat, err := conn.Get(c.Path)
		require.NoError(t, err)
		require.EqualValues(t, stat.Version, binary.BigEndian.Uint64(data), "each increment is one set")
	}
	_, err = p.Measure(t.Context(), task.Task{Kind: task.Barrier, Clients: 1, Workers: 1}, never)
	require.ErrorContains(t, err, `"barrier"`)
}
