package gozookeeper

import (
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/bench/internal/task"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func never() error { panic("no observer is to be told") }

// In a ring of three, each turn is one deletion, and the turns come in order.
func TestTheTurnGoesAroundTheRing(t *testing.T) {
	var mu sync.Mutex
	var deleted []string
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	srv.OnApply(func(x zktest.Txn) {
		mu.Lock()
		defer mu.Unlock()
		if x.Op == "delete" && x.Code == 0 {
			deleted = append(deleted, strings.TrimPrefix(x.Paths[0], "/ring/"))
		}
	})
	p := Peer{Servers: srv.Addr(), Timeout: 10 * time.Second}
	conn, err := p.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	_, err = conn.Create("/ring", nil, 0, zk.WorldACL(zk.PermAll))
	require.NoError(t, err)
	_, err = p.Measure(t.Context(), task.Task{Kind: task.Ring, Path: "/ring", Clients: 3, Workers: 3, TimeMS: 300}, never)
	require.NoError(t, err)
	mu.Lock()
	defer mu.Unlock()
	require.Greater(t, len(deleted), 3)
	for i, name := range deleted {
		require.Equal(t, fmt.Sprintf("%d-%d", i%3, i/3), name)
	}
}

// The floors of single events are times, not rates.
func TestFloorsOfEventsAreMeasured(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	p := Peer{Servers: srv.Addr(), Timeout: 10 * time.Second}
	conn, err := p.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	for _, path := range []string{"/f", "/f/" + task.ChangedChild} {
		_, err = conn.Create(path, task.Stamp(), 0, zk.WorldACL(zk.PermAll))
		require.NoError(t, err)
	}
	out, err := p.Measure(t.Context(), task.Task{Kind: task.Notice, Path: "/f", Clients: 2, Workers: 2, TimeMS: 100}, never)
	require.NoError(t, err)
	require.Positive(t, out.Value)
	ctx, stop := context.WithCancel(t.Context())
	written := make(chan error, 1)
	out, err = p.Measure(t.Context(), task.Task{Kind: task.Change, Path: "/f", Clients: 1, Workers: 1, TimeMS: 100}, func() error {
		// Waited for below; ends with ctx.
		go func() {
			for ctx.Err() == nil {
				if _, err := conn.Set("/f/"+task.ChangedChild, task.Stamp(), -1); err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
		return nil
	})
	stop()
	require.NoError(t, err)
	require.NoError(t, <-written)
	require.Positive(t, out.Value)
}

func TestEveryKindIsMeasured(t *testing.T) {
	srv, err := zktest.Start(nil)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, srv.Close()) })
	p := Peer{Servers: srv.Addr(), Timeout: 10 * time.Second}
	require.Contains(t, p.Version(), "go-zookeeper")
	conn, err := p.Connect(t.Context())
	require.NoError(t, err)
	t.Cleanup(conn.Close)
	for i, c := range []task.Task{
		{Kind: task.Lock, Clients: 3, Workers: 3},
		{Kind: task.Lock, Clients: 1, Workers: 8},
		{Kind: task.Counter, Clients: 3, Workers: 6},
		{Kind: task.CreateDelete, Clients: 1, Workers: 1},
		{Kind: task.Set, Clients: 1, Workers: 8},
		{Kind: task.SetTwice, Clients: 1, Workers: 1},
	} {
		c.Path, c.WarmMS, c.TimeMS = fmt.Sprintf("/%d", i), 20, 100
		if plain := []task.Kind{task.Set, task.SetTwice, task.CreateDelete}; slices.Contains(plain, c.Kind) {
			_, err := conn.Create(c.Path, nil, 0, zk.WorldACL(zk.PermAll))
			require.NoError(t, err)
		}
		// A machine that stalls may get nothing done in so short a time.
		for value := 0.0; value == 0; c.TimeMS *= 2 {
			out, err := p.Measure(t.Context(), c, never)
			require.NoError(t, err, c.Kind)
			require.GreaterOrEqual(t, out.Value, 0.0, c.Kind)
			value = out.Value
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
