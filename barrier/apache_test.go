package barrier_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/barrier"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// steady is the timeout of sessions that must survive.
const steady = 30 * time.Second

func connectApache(t *testing.T, cluster *apache.Cluster, timeout time.Duration) *session.Client {
	t.Helper()
	return world.Connect(t, cluster.Connect(), session.Options{Timeout: timeout})
}

// TestOnApache runs rounds in lockstep, a gate, and many parties in one
// transaction, on a real server.
func TestOnApache_CL7_CH37_CH38_P12(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	var clients []*session.Client
	for range 16 {
		clients = append(clients, connectApache(t, cluster, steady))
	}
	t.Run("barrier", func(t *testing.T) {
		rounds := manyRounds(50)
		l, began := newLockstep(32, rounds), time.Now()
		require.NoError(t, l.run(func(i int) error { return l.await(ctx, i, barrier.New(clients[i/2], "/b", 32, nil)) }))
		t.Logf("32 parties, %v a round", (time.Since(began) / time.Duration(rounds)).Round(10*time.Microsecond))
	})
	t.Run("double", func(t *testing.T) {
		rounds := manyRounds(50)
		l, began := newLockstep(32, rounds), time.Now()
		require.NoError(t, l.run(func(i int) error { return l.visit(ctx, i, barrier.NewDouble(clients[i/2], "/d", 32, nil)) }))
		t.Logf("32 parties, %v a round", (time.Since(began) / time.Duration(rounds)).Round(10*time.Microsecond))
	})
	t.Run("200 parties", func(t *testing.T) {
		l := newLockstep(200, 3)
		many := barrier.New(clients[0], "/many", 200, nil)
		require.NoError(t, l.run(func(i int) error { return l.await(ctx, i, many) }))
	})
	t.Run("gate", func(t *testing.T) {
		g := barrier.NewGate(clients[0], "/gates/a", nil)
		require.NoError(t, g.Set(ctx))
		require.NoError(t, g.Set(ctx))
		passed := make(chan error, len(clients))
		for _, c := range clients {
			// Waited for below; ends when the gate opens.
			go func() { passed <- barrier.NewGate(c, "/gates/a", nil).Wait(ctx) }()
		}
		select {
		case err := <-passed:
			t.Fatalf("it is closed: %v", err)
		case <-time.After(200 * time.Millisecond):
		}
		require.NoError(t, g.Remove(ctx))
		for range clients {
			require.NoError(t, <-passed)
		}
	})
	t.Run("one too many", func(t *testing.T) {
		var seats []*barrier.Seat
		var mu sync.Mutex
		var all sync.WaitGroup
		for i := range 2 {
			// Waited for below; ends when both are inside.
			all.Go(func() {
				seat, err := barrier.NewDouble(clients[i], "/crowd", 2, nil).Enter(ctx)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				seats = append(seats, seat)
			})
		}
		all.Wait()
		_, err := barrier.NewDouble(clients[2], "/crowd", 2, nil).Enter(ctx)
		require.ErrorIs(t, err, barrier.ErrTooMany)
		_, err = barrier.New(clients[2], "/crowd", 2, nil).Await(ctx)
		require.ErrorIs(t, err, barrier.ErrRecord)
		first := make(chan error, 1)
		// Waited for below; ends when the other has left.
		go func() { first <- seats[0].Leave(ctx) }()
		require.NoError(t, seats[1].Leave(ctx))
		require.NoError(t, <-first)
	})
}

// TestStressOnApache lets parties meet on a server that is killed, paused and
// restarted.
func TestStressOnApache(t *testing.T) {
	t.Parallel()
	blows := 3
	if testing.Short() {
		blows = 1
	}
	cluster := apache.Require(t, &apache.Options{Own: true, TickTime: 250 * time.Millisecond, Heap: 96})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	s := &stress{parties: 3, forced: map[int64]time.Time{}, real: true}
	in := &stress{parties: 3, forced: map[int64]time.Time{}, real: true}
	var all sync.WaitGroup
	for i := range 3 {
		c := connectApache(t, cluster, 2*time.Second)
		o := &barrier.Options{ID: name(i)}
		s.barriers = append(s.barriers, barrier.New(c, "/stress/b", 3, o))
		in.doubles = append(in.doubles, barrier.NewDouble(c, "/stress/d", 3, o))
		own := rand.New(rand.NewPCG(uint64(i), 2))
		// Waited for below; ends with ctx.
		all.Go(func() { s.await(ctx, i, own) })
	}
	for i := range 3 {
		own := rand.New(rand.NewPCG(uint64(i), 3))
		// Waited for below; ends with ctx.
		all.Go(func() { in.stay(ctx, i, own) })
	}
	world.BreakServers(t, cluster, rand.New(rand.NewPCG(1, 3)), blows, func() int { return min(s.passes(), in.passes()) })
	cancel()
	all.Wait()
	require.NoError(t, errors.Join(s.failed, checkRounds(s.calls, 3), in.failed, checkStays(in.stays, 3)))
	t.Logf("%d passes, %d stays", s.passes(), in.passes())
	// Others can meet there, and nothing is left.
	over, stop := context.WithTimeout(t.Context(), 2*world.Patience)
	defer stop()
	l := newLockstep(3, 0)
	var clients []*session.Client
	for range 3 {
		clients = append(clients, connectApache(t, cluster, steady))
	}
	require.NoError(t, l.run(func(i int) error {
		_, err := barrier.New(clients[i], "/stress/b", 3, nil).Await(over)
		return err
	}))
	require.NoError(t, l.run(func(i int) error {
		seat, err := barrier.NewDouble(clients[i], "/stress/d", 3, nil).Enter(over)
		if err == nil {
			err = seat.Leave(over)
		}
		return err
	}))
	for _, path := range []string{"/stress/b", "/stress/d"} {
		require.Eventually(t, func() bool {
			left, err := clients[0].Session(over)
			if err != nil {
				return false
			}
			names, _, err := left.Children(over, path)
			return err == nil && len(names) == 0
		}, world.Patience, 50*time.Millisecond, "orphans in %s", path)
	}
}
