package exporter_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// On a real server: a lock with a waiter, a leader, and a server that goes and comes back.
func TestExporterOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 96, Own: true})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	connect := func() *session.Client {
		c, err := session.Connect(ctx, cluster.Connect(), nil)
		require.NoError(t, err)
		return c
	}
	holder, waiter, own := connect(), connect(), connect()
	s := &stage{T: t, ctx: ctx, e: exporter.New("/", 100)}
	running, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	// Waited for below; ends with the test.
	background.Go(func() { _ = s.e.Run(running, own) })
	_, err := lock.New(holder, "/locks/a", nil).Lock(ctx)
	require.NoError(t, err)
	_, err = election.New(holder, "/leader", nil).Campaign(ctx)
	require.NoError(t, err)
	// Waited for below; ends with the test.
	background.Go(func() { _, _ = lock.New(waiter, "/locks/a", nil).Lock(running) })
	s.eventually(func(got map[string]float64) bool {
		return got[`holders{kind="mutex",path="/locks/a"}`] == 1 && got[`waiting{kind="mutex",path="/locks/a"}`] == 1 &&
			got[`holders{kind="election",path="/leader"}`] == 1 && got["up"] == 1
	})
	require.NoError(t, cluster.Kill(ctx, 0))
	s.eventually(func(got map[string]float64) bool {
		return len(withoutItself(got)) == 2 && got["up"] == 0 && got["view_current"] == 0
	})
	require.NoError(t, cluster.Restart(ctx, 0))
	s.eventually(func(got map[string]float64) bool { return got["up"] == 1 && got["view_current"] == 1 })
	stop()
	background.Wait()
	for _, c := range []*session.Client{holder, waiter, own} {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		_ = c.Close(within)
		cancel()
	}
}
