package discovery_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// rights gives the world these rights to the service's path.
func (w *World) rights(perms int32) {
	w.Helper()
	_, err := w.Session(w.Client()).SetACL(w.Ctx, dir, session.WorldACL(perms), -1)
	require.NoError(w, err)
}

const mayNotDelete = zk.PermAll &^ zk.PermDelete

func TestRefusedUnregisteringIsRetriedInTheBackground(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			g := w.register(r, typed("one", typ))
			w.rights(mayNotDelete)
			require.ErrorIs(w, g.Unregister(w.Within(time.Minute)), session.ErrNoAuth)
			require.False(w, g.State().Registered)
			require.ErrorIs(w, g.State().Err, discovery.ErrUnregistered)
			require.ErrorIs(w, g.State().Err, session.ErrNoAuth, "it says why the instance is still listed")
			w.Pass(10 * time.Minute)
			require.Len(w, w.Children(dir), 1)
			w.rights(zk.PermAll)
			w.Pass(31 * time.Second)
			require.Empty(w, w.Children(dir), "no client had to ask again")
			w.unregister(g)
			require.NotErrorIs(w, g.State().Err, session.ErrNoAuth)
		})
	}
}

// A second call gets the outcome of a request of its own, not that of the first.
func TestSecondUnregisterSendsARequestOfItsOwn(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.register(registry(w.Client()), instance("one"))
		w.rights(mayNotDelete)
		require.ErrorIs(w, g.Unregister(w.Within(time.Minute)), session.ErrNoAuth)
		w.Pass(10 * time.Minute)
		began := time.Now()
		require.ErrorIs(w, g.Unregister(w.Within(time.Minute)), session.ErrNoAuth)
		w.rights(zk.PermAll)
		w.unregister(g)
		require.Less(w, time.Since(began), time.Second, "it does not wait for the end of a pause")
		require.Empty(w, w.Children(dir))
	})
}

// A call that comes while an earlier removal is on its way to the server, which will
// refuse it, has to wait for the next one.
func TestUnregisterIsNotAnsweredByAnEarlierRefusal(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.register(registry(w.Client()), instance("one"))
		w.rights(mayNotDelete)
		w.Server.Delay(zktest.Link{}, zktest.ToClient, time.Second)
		over, cancel := context.WithCancel(w.Ctx)
		cancel()
		require.ErrorIs(w, g.Unregister(over), context.Canceled)
		w.Pass(500 * time.Millisecond) // refused; the reply is on its way
		w.Server.Heal()
		admin := w.Session(w.Client())
		_, err := admin.SetACL(w.Ctx, dir, session.WorldACL(zk.PermAll), -1)
		require.NoError(w, err)
		w.unregister(g)
		require.Empty(w, w.Children(dir))
	})
}

// A znode that this registry is deleting is not a conflict: Register waits for the
// deletion, also if the caller of Unregister did not wait.
func TestRegisterWaitsForTheUnregisteringOfTheSameName(t *testing.T) {
	for _, typ := range []discovery.Type{discovery.Dynamic, discovery.Static, discovery.Permanent} {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			g := w.register(r, typed("one", typ))
			before := g.State().Token
			w.rights(mayNotDelete)
			require.ErrorIs(w, g.Unregister(w.Within(time.Minute)), session.ErrNoAuth)
			w.Pass(time.Minute)
			_, err := r.Register(w.Within(10*time.Second), typed("one", typ))
			require.ErrorIs(w, err, context.DeadlineExceeded)
			require.ErrorIs(w, err, discovery.ErrConflict, "it says what it has waited for")
			_, err = registry(w.Client()).Register(w.Within(time.Minute), instance("one"))
			require.ErrorIs(w, err, discovery.ErrConflict, "another process does not wait")
			w.rights(zk.PermAll)
			again := w.register(r, typed("one", typ))
			require.Greater(w, again.State().Token, before)
			w.unregister(again)
			require.Empty(w, w.Children(dir))
		})
	}
}

// Nor does Register leave anything behind when it gives up and may not delete.
func TestRefusedRemovalAfterGivingUpIsRetried(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.register(registry(w.Client()), instance("other")) // the service's path exists
		w.Server.Delay(zktest.Link{Session: w.ID(c)}, zktest.ToClient, time.Second)
		_, err := registry(c).Register(w.Within(500*time.Millisecond), instance("one"))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		w.rights(mayNotDelete)
		w.Server.Heal()
		w.Pass(time.Minute)
		require.Len(w, w.Children(dir), 2)
		w.rights(zk.PermAll)
		w.Pass(31 * time.Second)
		require.Len(w, w.Children(dir), 1)
	})
}

// A client that is closed while no server can be reached cannot say that the instance
// is not listed any more: it is.
func TestUnregisterDoesNotClaimWhatAClosedClientCannotKnow(t *testing.T) {
	for _, typ := range types {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			g := w.register(registry(c), typed("one", typ))
			w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
			left := make(chan error, 1)
			// Waited for below; ends with the client.
			go func() { left <- g.Unregister(w.Ctx) }()
			w.Pass(time.Second)
			_ = c.Close(w.Within(time.Second))
			err := <-left
			require.Len(w, w.Children(dir), 1, "it is listed")
			require.ErrorIs(w, err, session.ErrClosed)
			require.ErrorIs(w, g.Unregister(w.Ctx), session.ErrClosed)
		})
	}
}

// A member that leaves is an instance in all this.
func TestRefusedLeavingIsRetriedInTheBackground(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		group := discovery.NewGroup(w.Client(), dir, nil)
		require.NoError(w, w.Session(w.Client()).EnsurePath(w.Ctx, dir, session.Container, nil))
		m, err := group.Join(w.Ctx, "one", nil)
		require.NoError(w, err)
		w.rights(mayNotDelete)
		require.ErrorIs(w, m.Leave(w.Within(time.Minute)), session.ErrNoAuth)
		w.rights(zk.PermAll)
		again, err := group.Join(w.Within(time.Minute), "one", nil)
		require.NoError(w, err)
		require.NoError(w, m.Leave(w.Within(time.Minute)))
		require.NoError(w, again.Leave(w.Within(time.Minute)))
		require.Empty(w, w.Children(dir))
	})
}
