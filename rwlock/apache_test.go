package rwlock_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// steady is the timeout of sessions that are not to be lost.
const steady = 30 * time.Second

// queued waits until n contend.
func queued(ctx context.Context, t *testing.T, m *rwlock.RWMutex, n int) []rwlock.Contender {
	for {
		list, err := m.Contenders(ctx)
		require.NoError(t, err)
		if len(list) == n {
			return list
		}
		world.SleepContext(ctx, 5*time.Millisecond)
	}
}

// beside runs f, whose outcome is waited for.
func beside(ctx context.Context, f take) <-chan won {
	out := make(chan won, 1)
	// Waited for through out; ends with ctx at the latest.
	go func() {
		h, err := f(ctx)
		out <- won{h, err, time.Now()}
	}()
	return out
}

// N25, N26: readers and writers get in, on a server that is not ours. The order of the
// grants shows which contenders wait: each grant is followed by the next grant.
func TestOnApacheReadersShareAndADowngradeKeepsWritersOut_N25_N26(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, &apache.Options{Heap: 96})
	for name, layout := range map[string]rwlock.Layout{"Curator": rwlock.Curator, "Kazoo": rwlock.Kazoo} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			lock := func() *rwlock.RWMutex {
				c := world.Connect(t, cluster.Connect(), session.Options{Timeout: steady})
				return rwlock.New(c, "/shared/"+name, &rwlock.Options{Layout: layout})
			}
			a, b, c, d := lock(), lock(), lock(), lock()
			h, err := a.Lock(ctx)
			require.NoError(t, err)
			reader := beside(ctx, b.RLock)
			queued(ctx, t, a, 2)
			writer := beside(ctx, c.Lock)
			queued(ctx, t, a, 3)
			late := beside(ctx, d.RLock)
			list := queued(ctx, t, a, 4)
			require.Equal(t, []bool{true, false, false, false}, holding(list))

			r, err := h.Downgrade(ctx)
			require.NoError(t, err)
			require.ErrorIs(t, context.Cause(h.Context()), session.ErrReleased)
			g := <-reader
			require.NoError(t, g.err)
			require.Equal(t, []bool{true, true, false, false}, holding(queued(ctx, t, a, 4)))
			require.NoError(t, r.Context().Err())
			_, err = h.Session().Txn(ctx, h.Guard())
			require.ErrorIs(t, err, session.ErrNoNode)
			_, err = r.Session().Txn(ctx, r.Guard())
			require.NoError(t, err)
			require.NoError(t, g.held.Unlock(ctx))
			require.Equal(t, []bool{true, false, false}, holding(queued(ctx, t, a, 3)))
			select {
			case g := <-writer:
				t.Fatalf("a writer is in beside a downgraded reader (%v)", g.err)
			case g := <-late:
				t.Fatalf("a reader has passed a writer (%v)", g.err)
			default:
			}
			require.NoError(t, r.Unlock(ctx))
			g = <-writer
			require.NoError(t, g.err)
			require.Greater(t, g.held.Token(), r.Token())
			require.NoError(t, g.held.Unlock(ctx))
			g = <-late
			require.NoError(t, g.err)
			require.NoError(t, g.held.Unlock(ctx))
			queued(ctx, t, a, 0)
		})
	}
}

func holding(list []rwlock.Contender) (out []bool) {
	for _, c := range list {
		out = append(out, c.Holds)
	}
	return out
}

// TestStressOnApache is the stress test in real time, on a server that is
// killed, paused and restarted.
func TestStressOnApache_N26(t *testing.T) {
	t.Parallel()
	s := &stress{Stress: &world.Stress{Excused: []error{rwlock.ErrBusy}}}
	bed := world.NewRealStress(t, s.Stress)
	var workers []func(context.Context)
	for i, c := range s.Clients {
		s.locks = append(s.locks, rwlock.New(c, "/stress", nil))
		for j := range 2 {
			own := rand.New(rand.NewPCG(uint64(i), uint64(j)))
			workers = append(workers, func(ctx context.Context) { s.runWorker(ctx, i, own) })
		}
	}
	bed.Run(1, 3, s.countHolds, workers...)
	require.NoError(t, s.checkHistory())
	t.Logf("%d holds, %d guarded writes, %v", len(s.holds), len(s.Wrote()), s.modes)
	bed.EachTakes(len(s.Clients), func(ctx context.Context, i int) error { return world.Cycle(ctx, s.locks[i].Lock) }, "/stress")
}
