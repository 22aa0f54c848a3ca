package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// handedOverLock is a lock without a Held: the lock is on its way from one goroutine to
// another.
func handedOverLock(w *world.World, m *Mutex) *serverLock {
	w.Helper()
	held, err := m.Lock(w.Ctx)
	require.NoError(w, err)
	require.True(w, held.forget())
	require.True(w, m.takeBatonFrom(held))
	return held.lock
}

// The waiter for the baton has left, and the lock was lost meanwhile.
func TestServerLockWhoseZnodeIsGoneIsNotDeletedAgain(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		world.In(t, nil, func(w *world.World) {
			c := w.Client()
			m := New(c, "/locks/a", nil)
			lost := handedOverLock(w, m)
			if deleted {
				w.Pass(w.Session(c).Heartbeat() + time.Second) // the znode is watched
				require.NoError(w, w.Server.Delete(lost.hold.Path()))
				<-lost.hold.Context().Done()
			}
			w.Settle()
			w.ResetStats()
			m.passBaton(baton{lock: lost})
			w.Settle()
			deletions := w.Server.Stats().BySession[w.ID(c)]["delete"]
			require.Equal(w, deleted, deletions == 0, "%d deletions", deletions)
			require.Empty(w, w.Children("/locks/a"))
			held, err := m.Lock(w.Ctx)
			require.NoError(w, err, "the baton is free")
			require.NoError(w, held.Unlock(w.Ctx))
		})
	}
}

// A lock lost during its hand-over has no owner to give the lock back: the next waiter
// deletes the remains of the former session, instead of waiting for its end.
func TestServerLockThatIsLostDuringItsHandOverDoesNotBlockTheNext(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
		m := New(w.Client(), "/locks/a", nil)
		lost := handedOverLock(w, m)
		w.Away(lost.hold.Context())
		back := time.Now()
		held, err := m.acquireWith(w.Within(time.Minute), baton{lock: lost}, nil)
		require.NoError(w, err)
		require.Less(w, time.Since(back), 5*time.Second, "the timeout of the former session is 10 s")
		require.Greater(w, held.Token(), lost.token)
		require.NoError(w, held.Unlock(context.Background()))
	})
}
