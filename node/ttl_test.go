package node_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// expiring are the modes with a TTL.
var expiring = []session.Mode{session.PersistentTTL, session.PersistentSequentialTTL} // read only

// longest is how long a TTL znode exists at most after its keeper has gone: its child goes
// first, and the servers look once a minute.
const longest = ttl + 2*time.Minute

func TestTTLZnodeExpiresAfterItsKeeperOnly(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		c := w.Client()
		k := w.keep(c, mode, "a")
		was := w.znode(k.Path())
		w.Pass(time.Hour)
		require.Equal(w, was, w.znode(k.Path()), "the znode itself is not written")
		require.True(w, w.znode(k.Path()+"/touch").TTL)
		require.Empty(w, w.znode(k.Path()+"/touch").Data)
		require.NoError(w, c.Close(w.Ctx)) // without a release
		w.Settle()
		require.ErrorIs(w, k.State().Err, session.ErrClosed)
		w.Pass(ttl - ttl/3 - time.Second)
		require.NotEmpty(w, w.Children(folder))
		w.Pass(longest)
		require.Empty(w, w.Children(folder))
	})
}

// A process that dies before its first refresh leaves nothing indefinitely.
func TestTTLZnodeWithoutARefreshExpires(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		c := w.Client()
		w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			if q.Op == "setData" {
				return zktest.Action{Do: zktest.DropRequest}
			}
			return zktest.Action{}
		})
		_, err := node.New(c, path, mode, options(mode)).Keep(w.Within(5*time.Second), nil)
		require.Error(w, err)
		require.Len(w, w.Children(folder), 1)
		w.Pass(longest)
		require.Empty(w, w.Children(folder))
	})
}

// An administrator deletes the znode before its first refresh: Keep goes on within its
// context.
func TestTTLZnodeThatIsDeletedBeforeItsFirstRefresh(t *testing.T) {
	world.Needs(t, world.TTLNodes)
	for _, c := range []struct {
		times int
		ttl   time.Duration
	}{{1, time.Second}, {1, 10000 * time.Hour}, {1000, time.Second}} {
		inWorld(t, nil, func(w *World) {
			left := c.times
			w.Server.OnRequest(func(q zktest.Request) zktest.Action {
				if q.Op == "createTTL" && q.Path == path+"/touch" && left > 0 {
					left--
					require.NoError(w, w.Server.Delete(path))
				}
				return zktest.Action{}
			})
			n := node.New(w.Client(), path, session.PersistentTTL, &node.Options{TTL: c.ttl})
			k, err := n.Keep(w.Within(10*time.Second), nil)
			if c.times > 1 {
				require.ErrorIs(w, err, context.DeadlineExceeded)
				return
			}
			require.NoError(w, err)
			w.znode(path + "/touch")
			w.release(k)
		})
	}
}

func TestReleaseOfATTLZnodeSendsNothing(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		c := w.Client()
		k := w.keep(c, mode, "a")
		w.Settle()
		w.ResetStats()
		w.release(k)
		w.release(k)
		w.Pass(ttl / 2)
		stats := w.Server.Stats().BySession[w.ID(c)]
		require.Zero(w, stats["setData"]+stats["delete"]+stats["createTTL"], "%v", stats)
		w.Pass(longest)
		require.Empty(w, w.Children(folder))
	})
}

func TestServersWithoutTTLZnodesAreNamed(t *testing.T) {
	for _, mode := range expiring {
		inWorld(t, &zktest.Options{DisableExtendedTypes: true}, func(w *World) {
			_, err := node.New(w.Client(), path, mode, options(mode)).Keep(w.Ctx, nil)
			require.ErrorIs(w, err, session.ErrUnsupported)
			require.ErrorContains(w, err, "node: keep "+folder)
			require.ErrorContains(w, err, "TTL znodes need ZooKeeper servers that run with -Dzookeeper.extendedTypesEnabled=true")
			require.Empty(w, w.Children(folder))
		})
	}
}

func TestDeletedChildIsCreatedAgain(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, w.Server.Delete(k.Path()+"/touch"))
		w.Pass(ttl / 2)
		w.znode(k.Path() + "/touch")
		was := k.Token()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "a")
		w.Pass(ttl / 2)
		w.znode(k.Path() + "/touch")
		w.release(k)
	})
}

// A refused refresh is told, and is over when the rights are back.
func TestRefusedRefreshIsInTheState(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		s := w.Session(w.Client())
		rights := func(perms int32) {
			_, err := s.SetACL(w.Ctx, k.Path()+"/touch", session.WorldACL(perms), -1)
			require.NoError(w, err)
		}
		rights(1 | 16) // read, admin
		state, err := await(w.Within(ttl), k.States, func(s node.State) bool { return s.Err != nil })
		require.NoError(w, err)
		require.ErrorIs(w, state.Err, session.ErrNoAuth)
		require.True(w, state.Exists)
		require.NoError(w, k.Context().Err())
		rights(31)
		_, err = await(w.Within(ttl), k.States, func(s node.State) bool { return s.Err == nil })
		require.NoError(w, err)
		w.release(k)
	})
}

// A refused refresh is retried soon, however long the TTL is.
func TestRefusedRefreshIsRetriedSoon(t *testing.T) {
	world.Needs(t, world.TTLNodes)
	inWorld(t, nil, func(w *World) {
		k, err := node.New(w.Client(), path, session.PersistentTTL, &node.Options{TTL: 10 * time.Minute}).Keep(w.Ctx, nil)
		require.NoError(w, err)
		rights := func(perms int32) {
			_, err := w.Session(w.Client()).SetACL(w.Ctx, path+"/touch", session.WorldACL(perms), -1)
			require.NoError(w, err)
		}
		rights(1 | 16) // read, admin
		s, err := await(w.Within(4*time.Minute), k.States, func(s node.State) bool { return s.Err != nil })
		require.NoError(w, err)
		require.True(w, s.Exists)
		rights(31)
		_, err = await(w.Within(10*time.Second), k.States, func(s node.State) bool { return s.Err == nil })
		require.NoError(w, err)
		w.release(k)
	})
}

// The keeper is without servers for longer than the TTL.
func TestTTLZnodeThatHasExpiredInAnOutageIsCreatedAgain(t *testing.T) {
	inWorlds(t, expiring, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		was := k.Token()
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		w.Pass(longest)
		require.Empty(w, w.Children(folder))
		w.Server.Heal()
		w.remakes(k, was, "a")
		w.Pass(10 * ttl)
		w.znode(k.Path())
		w.release(k)
	})
}
