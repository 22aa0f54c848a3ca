package locktable_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock/locktable"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// TestStressOnApache is the stress test in real time, on a server killed, paused
// and restarted by the test.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	s := newStress(300 * time.Millisecond)
	s.real = true
	for i := range 4 {
		c := world.Connect(t, cluster.Connect(), session.Options{Timeout: 2 * time.Second})
		s.clients = append(s.clients, c)
		s.tables = append(s.tables, locktable.New(c, dir, &locktable.Options{Unwatched: i%2 == 0}))
	}
	calm := world.Connect(t, cluster.Connect(), session.Options{Timeout: 30 * time.Second})
	own, err := calm.Session(t.Context())
	require.NoError(t, err)
	require.NoError(t, own.EnsurePath(t.Context(), world.Guarded, session.Persistent, nil))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var all sync.WaitGroup
	for n := range 2 * len(s.clients) {
		r := rand.New(rand.NewPCG(uint64(n), 2))
		// Waited for below; ends with ctx.
		all.Go(func() { s.runWorker(ctx, n/2, r) })
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(5, 3)), 4, s.countHolds)
	cancel()
	all.Wait()
	require.NoError(t, s.checkHistories())
	t.Logf("%d holds", s.countHolds())
	over, stop := context.WithTimeout(t.Context(), 2*world.Patience)
	defer stop()
	require.NoError(t, s.checkAftermath(over))
	require.Eventually(t, func() bool {
		names, _, err := own.Children(t.Context(), dir+".owners")
		return err == nil && len(names) == 0 || errors.Is(err, session.ErrNoNode)
	}, world.Patience, 50*time.Millisecond, "owners are left")
}

// Thousands of locks at once, a loss, a conflict and a removal, as the test server has
// them.
func TestManyLocksOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	const path = "/many/locks"
	// On a busy machine the reads of thousands of locks take longer than a session with
	// the default timeout waits for a heartbeat, and each new connection repeats them.
	steady := session.Options{Timeout: 30 * time.Second}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	one, err := locktable.New(world.Connect(t, cluster.Connect(), steady), path, nil).Join(ctx)
	require.NoError(t, err)
	two, err := locktable.New(world.Connect(t, cluster.Connect(), steady), path, nil).Join(ctx)
	require.NoError(t, err)
	held, err := one.TryLock(ctx, lockNames(3000)...)
	require.NoError(t, err)
	require.Len(t, held, 3000)
	none, err := two.TryLock(ctx, lockNames(3000)...)
	require.NoError(t, err)
	require.Empty(t, none)
	waiting := make(chan begun, 1)
	// Waited for below; ends with ctx.
	go func() {
		got, err := two.Lock(ctx, lockNames(3000)[1000:]...)
		waiting <- begun{got, err}
	}()
	require.NoError(t, two.Session().Delete(ctx, held[0].Path(), -1))
	<-held[0].Context().Done()
	require.ErrorIs(t, context.Cause(held[0].Context()), session.ErrNodeDeleted)
	require.NoError(t, one.Unlock(ctx, held[1000:]...))
	got := <-waiting
	require.NoError(t, got.err)
	require.Greater(t, got.held[0].Token(), held[1000].Token())
	_, err = two.Session().Txn(ctx, got.held[0].Guard(), got.held[1].Guard())
	require.NoError(t, err)
	require.NoError(t, two.Release(ctx))
	left, watch, err := one.Remove(ctx, func(string) bool { return false }, one.Guard())
	require.NoError(t, err)
	require.Len(t, left, 999)
	watch.Stop()
	require.NoError(t, one.Unlock(ctx, held[1:1000]...))
	require.NoError(t, one.Release(ctx))
}
