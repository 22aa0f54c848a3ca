package lock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// handedOn is the claim of a lock that nobody has at the moment, since it is on its way
// from one goroutine to another.
func handedOn(w *world.World, m *Mutex) *claim {
	w.Helper()
	held, err := m.Lock(w.Ctx)
	require.NoError(w, err)
	require.True(w, held.forget())
	require.True(w, m.resign(held))
	return held.claim
}

// The one whose turn it was has left, and the lock was lost meanwhile.
func TestClaimWhoseZnodeIsGoneIsNotDeletedAgain(t *testing.T) {
	for _, deleted := range []bool{true, false} {
		world.In(t, nil, func(w *world.World) {
			c := w.Client()
			m := New(c, "/locks/a", nil)
			claim := handedOn(w, m)
			if deleted {
				w.Pass(w.Session(c).Heartbeat() + time.Second) // it is watched
				require.NoError(w, w.Server.Delete(claim.hold.Path()))
				<-claim.hold.Context().Done()
			}
			w.Settle()
			w.Server.ResetStats()
			m.pass(turn{claim: claim})
			w.Settle()
			deletions := w.Server.Stats().BySession[w.ID(c)]["delete"]
			require.Equal(w, deleted, deletions == 0, "%d deletions", deletions)
			require.Empty(w, w.Children("/locks/a"))
			held, err := m.Lock(w.Ctx)
			require.NoError(w, err, "the turn is free")
			require.NoError(w, held.Unlock(w.Ctx))
		})
	}
}

// A lock that is lost while it is handed on has no owner who could give it back: the
// next one in line deletes what the former session has left, instead of waiting for it.
func TestClaimThatIsLostWhileItIsHandedOnDoesNotBlockTheNext(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
		m := New(w.Client(), "/locks/a", nil)
		claim := handedOn(w, m)
		w.Away(claim.hold.Context())
		back := time.Now()
		held, err := m.acquire(w.Within(time.Minute), turn{claim: claim})
		require.NoError(w, err)
		require.Less(w, time.Since(back), 5*time.Second, "the timeout of the former session is 10 s")
		require.Greater(w, held.Token(), claim.token)
		require.NoError(w, held.Unlock(context.Background()))
	})
}
