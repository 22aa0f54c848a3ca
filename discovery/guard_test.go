package discovery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// guarded sends a transaction with the guard in the client's present session.
func (w *World) guarded(c *session.Client, guard session.Op) error {
	w.Helper()
	_, err := w.Session(c).Txn(w.Ctx, guard, session.SetOp("/data", nil, -1))
	return err
}

// inGuardedWorld is a world with a znode that guarded writes to.
func inGuardedWorld(t *testing.T, body func(w *World)) {
	inWorld(t, nil, func(w *World) {
		require.NoError(w, w.Server.Create("/data", nil))
		body(w)
	})
}

// The guard of the former registration fails when the name has an owner again, whether
// that is the same instance or another one.
func TestGuardIsThatOfThePresentRegistration(t *testing.T) {
	for _, other := range []bool{false, true} {
		inGuardedWorld(t, func(w *World) {
			c := w.Client()
			g := w.register(registry(c), instance("one"))
			first, token := g.Guard(), g.Token()
			require.Equal(w, g.State().Token, token)
			require.NoError(w, w.guarded(c, first))
			if other {
				w.unregister(g)
				second := w.register(registry(w.Client()), instance("one"))
				require.ErrorIs(w, w.guarded(c, first), session.ErrNoNode)
				require.ErrorIs(w, w.guarded(c, g.Guard()), session.ErrNoNode)
				require.Greater(w, second.Token(), token)
				require.Equal(w, token, g.Token(), "of the last registration")
				return
			}
			w.Expire(c)
			w.stateIs(g, unregistered)
			w.stateIs(g, registered)
			require.ErrorIs(w, w.guarded(c, first), session.ErrNoNode)
			require.NoError(w, w.guarded(c, g.Guard()))
			require.Greater(w, g.Token(), token)
		})
	}
}

// A registration that waits, as another instance has its name, guards nothing: its
// guard must not pass with the znode of the other.
func TestGuardOfAnInstanceThatIsNotRegisteredFails(t *testing.T) {
	inGuardedWorld(t, func(w *World) {
		c, former := w.Client(), w.Client()
		g := w.register(registry(c), instance("one"))
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		<-g.Context().Done()
		other := discovery.NewRegistry(former, base, &discovery.Options{Wait: true})
		second := w.register(other, instance("one"))
		w.Server.Heal()
		require.ErrorIs(w, w.stateIs(g, func(s discovery.State) bool { return isConflict(s.Err) }).Err, discovery.ErrConflict)
		w.Settle()
		w.ResetStats()
		require.ErrorIs(w, w.guarded(c, g.Guard()), session.ErrNoNode)
		require.Zero(w, w.Server.Stats().Requests["multi"])
		require.NoError(w, w.guarded(former, second.Guard()))
		w.unregister(second)
		w.stateIs(g, registered)
		require.NoError(w, w.guarded(c, g.Guard()))
	})
}

func TestGuardOfAMovedInstanceIsThatOfItsNewPlace(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inGuardedWorld(t, func(w *World) {
				c := w.Client()
				g := w.register(registry(c), typed("one", typ))
				first, token := g.Guard(), g.Token()
				require.NoError(w, g.Move(w.Ctx, "api", typed("one", typ)))
				require.ErrorIs(w, w.guarded(c, first), session.ErrNoNode)
				require.NoError(w, w.guarded(c, g.Guard()))
				require.Greater(w, g.Token(), token)
				require.NoError(w, g.Update(w.Ctx, g.Instance()))
				require.NoError(w, w.guarded(c, g.Guard()))
			})
		})
	}
}

// An ephemeral znode is checked in its own session, a persistent znode in any
// session.
func TestGuardInAnotherSession(t *testing.T) {
	for _, typ := range types {
		t.Run(typ.String(), func(t *testing.T) {
			inGuardedWorld(t, func(w *World) {
				c := w.Client()
				require.NoError(w, w.Server.Create("/app", nil))
				r := registry(w.ClientAt(w.Server.Addr()+"/app", session.Options{}))
				g := w.register(r, typed("one", typ))
				if typ != discovery.Static {
					require.ErrorIs(w, w.guarded(c, g.Guard()), session.ErrInvalidArgument)
					return
				}
				require.NoError(w, w.guarded(c, g.Guard()))
				w.unregister(g)
				require.ErrorIs(w, w.guarded(c, g.Guard()), session.ErrNoNode)
			})
		})
	}
}

// An instance that goes with no session stays registered over sessions, and its guard
// stays valid.
func TestGuardOfAStaticInstanceLastsOverSessions(t *testing.T) {
	inGuardedWorld(t, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), typed("one", discovery.Static))
		guard, ctx := g.Guard(), g.Context()
		w.Expire(c)
		w.Pass(time.Minute)
		require.NoError(w, ctx.Err())
		require.NoError(w, w.guarded(c, guard))
		require.NoError(w, w.Server.Delete(g.State().Path))
		require.ErrorIs(w, w.guarded(c, guard), session.ErrNoNode)
	})
}

func TestMembershipHasATokenAndAGuard(t *testing.T) {
	for _, layout := range []discovery.Layout{discovery.Curator, discovery.Kazoo, discovery.KazooShallow} {
		inGuardedWorld(t, func(w *World) {
			c := w.Client()
			g := discovery.NewGroup(c, "/group", &discovery.Options{Layout: layout})
			m, err := g.Join(w.Ctx, "one", nil)
			require.NoError(w, err)
			members, err := g.Members(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, members[0].Token, m.Token())
			guard := m.Guard()
			require.NoError(w, w.guarded(c, guard))
			require.NoError(w, m.Release(w.Ctx))
			require.NoError(w, m.Leave(w.Ctx))
			require.ErrorIs(w, w.guarded(c, guard), session.ErrNoNode)
			require.ErrorIs(w, w.guarded(c, m.Guard()), session.ErrNoNode)
		})
	}
}
