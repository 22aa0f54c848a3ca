package node_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestDeletedZnodeIsCreatedAgainWithItsLastData(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, k.SetData(w.Ctx, []byte("b")))
		held, was := k.Context(), k.Token()
		require.NoError(w, held.Err())
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "b")
		require.ErrorIs(w, context.Cause(held), session.ErrNodeDeleted)
		require.NoError(w, k.Context().Err())
		was = k.Token()
		require.NoError(w, w.Server.DeleteAll(folder))
		w.remakes(k, was, "b")
		w.release(k)
		require.ErrorIs(w, context.Cause(k.Context()), session.ErrReleased)
	})
}

func TestZnodeOfALostSessionIsCreatedInTheNext(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		c := w.Client()
		k := w.keep(c, mode, "a")
		held, was := k.Context(), k.Token()
		w.Expire(c)
		if ephemeral(mode) {
			w.remakes(k, was, "a")
			require.ErrorIs(w, context.Cause(held), session.ErrLost)
		} else {
			w.Pass(time.Minute)
			require.Equal(w, was, k.Token(), "it goes with no session")
			require.NoError(w, held.Err())
			require.NoError(w, w.Server.DeleteAll(k.Path()))
			w.remakes(k, was, "a")
		}
		require.Len(w, w.Children(folder), 1)
		w.release(k)
	})
}

// A new ensemble, with nothing in it, has the same address.
func TestZnodeComesBackInAnEnsembleThatIsCreatedEmpty(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, w.Server.RestartEmpty())
		s, err := await(w.Within(2*time.Minute), k.States, func(s node.State) bool {
			n, err := w.Server.Get(s.Path)
			return s.Exists && err == nil && n.Czxid == s.Token
		})
		require.NoError(w, err)
		require.Equal(w, "a", string(w.znode(s.Path).Data))
		w.release(k)
	})
}

// A foreign write stays until the keeper writes, or creates, the znode.
func TestDataOfAnotherClientIsReplacedByTheNextData(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		for _, now := range []string{"b", "c"} {
			require.NoError(w, w.Server.Set(k.Path(), []byte("foreign")))
			w.Pass(time.Minute)
			require.Equal(w, "foreign", string(w.znode(k.Path()).Data))
			require.NoError(w, k.SetData(w.Ctx, []byte(now)))
			require.Equal(w, now, string(w.znode(k.Path()).Data))
			require.Equal(w, now, string(k.Data()))
		}
		require.NoError(w, w.Server.Set(k.Path(), []byte("foreign")))
		was := k.Token()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "c")
		require.NoError(w, w.Server.Set(k.Path(), []byte("foreign")))
		w.release(k)
		require.Equal(w, expires(mode), len(w.Children(folder)) == 1)
	})
}

func TestExistingZnodeIsTakenOverOrAConflict(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		require.NoError(w, w.Server.Create(folder, nil))
		require.NoError(w, w.Server.Create(path, []byte("old")))
		n := node.New(w.Client(), path, mode, options(mode))
		k, err := n.Keep(w.Ctx, []byte("a"))
		switch {
		case mode == session.Ephemeral:
			require.ErrorIs(w, err, node.ErrConflict)
			require.ErrorContains(w, err, "node: keep "+path+": another client has this znode: "+path+" belongs to no session")
			require.Equal(w, "old", string(w.znode(path).Data))
			return
		case sequential(mode):
			require.NoError(w, err)
			require.Equal(w, "old", string(w.znode(path).Data))
			require.NotEqual(w, path, k.Path())
		default:
			require.NoError(w, err)
			require.Equal(w, "a", string(w.znode(path).Data))
			require.Equal(w, path, k.Path())
			_, err = n.Keep(w.Ctx, []byte("b"))
			require.ErrorIs(w, err, node.ErrConflict, "of the same Node")
		}
		w.release(k)
	})
}

// An ephemeral znode of another session is never overwritten or deleted.
func TestEphemeralZnodeOfAnotherClientIsAConflict(t *testing.T) {
	inWorlds(t, []session.Mode{session.Ephemeral, session.Persistent, session.Container, session.PersistentTTL}, func(w *World, mode session.Mode) {
		other, c := w.keep(w.Client(), session.Ephemeral, "other"), w.Client()
		_, err := node.New(c, path, mode, options(mode)).Keep(w.Ctx, []byte("a"))
		require.ErrorIs(w, err, node.ErrConflict)
		_, err = node.New(c, path, mode, withWait(mode)).Keep(w.Within(time.Minute), []byte("a"))
		require.ErrorIs(w, err, context.DeadlineExceeded)
		require.ErrorIs(w, err, node.ErrConflict)
		require.Equal(w, "other", string(w.znode(path).Data))
		w.release(other)
	})
}

func TestSeveralClientsKeepOneZnode(t *testing.T) {
	inWorlds(t, []session.Mode{session.Persistent, session.Container, session.PersistentTTL}, func(w *World, mode session.Mode) {
		a, b := w.keep(w.Client(), mode, "a"), w.keep(w.Client(), mode, "b")
		require.Equal(w, a.Token(), b.Token())
		require.Equal(w, "b", string(w.znode(path).Data))
		was := b.Token()
		w.release(a)
		if expires(mode) {
			w.Pass(5 * ttl)
			require.Equal(w, was, b.Token(), "the other one refreshes it")
		} else {
			w.remakes(b, was, "b")
		}
		w.release(b)
	})
}

func TestSequentialZnodesHaveNamesOfTheirOwn(t *testing.T) {
	inWorlds(t, []session.Mode{session.EphemeralSequential, session.PersistentSequential, session.PersistentSequentialTTL}, func(w *World, mode session.Mode) {
		n := node.New(w.Client(), folder+"/n-", mode, options(mode))
		a, err := n.Keep(w.Ctx, nil)
		require.NoError(w, err)
		b, err := n.Keep(w.Ctx, nil)
		require.NoError(w, err)
		for i, k := range []*node.Kept{a, b} {
			require.Regexp(w, `^/nodes/_c_[0-9a-f-]{36}-n-000000000`+string(rune('0'+i))+`$`, k.Path())
		}
		w.release(a)
		require.NoError(w, b.Context().Err())
		w.release(b)
	})
}

func TestReleaseLeavesWhatHasChildren(t *testing.T) {
	inWorlds(t, []session.Mode{session.Persistent, session.PersistentSequential, session.Container, session.PersistentTTL}, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, w.Server.Create(k.Path()+"/child", nil))
		for range 2 {
			err := k.Release(w.Ctx)
			if mode == session.Container || expires(mode) {
				require.NoError(w, err)
			} else {
				require.ErrorIs(w, err, session.ErrNotEmpty)
			}
		}
		require.False(w, k.State().Exists)
		w.Pass(5 * ttl)
		require.Equal(w, "a", string(w.znode(k.Path()).Data))
		w.RequireNoWatches()
		require.NoError(w, w.Server.Delete(k.Path()+"/child"))
		w.Pass(5 * ttl)
		_, err := w.Server.Get(k.Path())
		goes := mode == session.Container && world.Has(world.Containers) || expires(mode)
		require.Equal(w, goes, errors.Is(err, zktest.ErrNoNode))
	})
}

// A refused deletion is retried, since no other client will delete the znode.
func TestRefusedReleaseIsRetried(t *testing.T) {
	inWorlds(t, []session.Mode{session.Persistent, session.PersistentSequential}, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		s := w.Session(w.Client())
		rights := func(perms int32) {
			_, err := s.SetACL(w.Ctx, folder, session.WorldACL(perms), -1)
			require.NoError(w, err)
		}
		rights(1 | 16) // read, admin
		require.ErrorIs(w, k.Release(w.Ctx), session.ErrNoAuth)
		require.ErrorContains(w, k.State().Err, "its znode still exists")
		rights(31)
		w.Pass(time.Minute)
		require.Empty(w, w.Children(folder))
		w.release(k)
	})
}

// With no server at all, Release returns by the end of a session timeout, and goes on.
func TestReleaseInAnEndlessOutageReturns(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, w.Server.Stop(1))
		began := time.Now()
		err := k.Release(w.Ctx)
		require.Less(w, time.Since(began), 31*time.Second)
		if expires(mode) {
			require.NoError(w, err, "nothing is to be sent")
		} else {
			require.ErrorIs(w, err, session.ErrLost)
		}
		require.False(w, k.State().Exists)
		require.NoError(w, w.Server.Restart(1))
		w.Pass(5 * time.Minute)
		require.Empty(w, w.Children(folder))
	})
}

// A caller that gives up leaves nothing that does not expire, whenever it does.
func TestGivingUpLeavesNothing(t *testing.T) {
	for after := range 10 {
		inWorlds(t, modes, func(w *World, mode session.Mode) {
			c := w.Client()
			w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
			k, err := node.New(c, path, mode, options(mode)).Keep(w.Within(time.Duration(10*after)*time.Millisecond+1), nil)
			if err == nil {
				over, cancel := context.WithCancel(w.Ctx)
				cancel()
				_ = k.Release(over)
			} else {
				require.ErrorIs(w, err, context.DeadlineExceeded)
			}
			w.Server.Heal()
			w.Pass(5 * time.Minute)
			require.Empty(w, w.Children(folder))
		})
	}
}

// The reply to the creation is lost, and another client writes into the znode before its
// keeper looks.
func TestForeignWriteDoesNotHideTheZnodeOfALostReply(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		c := w.Client()
		require.NoError(w, w.Server.Create(folder, nil))
		creates := func(q zktest.Request) bool {
			return strings.HasPrefix(q.Op, "create") && strings.HasPrefix(q.Path, folder+"/")
		}
		w.Server.FailNth(creates, 1, zktest.Action{Do: zktest.DropReplyCut})
		written := false
		w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			if q.Op == "connect" && !written { // again
				written = true
				for _, name := range w.Children(folder) {
					require.NoError(w, w.Server.Set(folder+"/"+name, []byte("foreign")))
				}
			}
			return zktest.Action{}
		})
		k := w.keep(c, mode, "a")
		require.True(w, written)
		require.Len(w, w.Children(folder), 1)
		require.Equal(w, "a", string(w.znode(k.Path()).Data))
		w.release(k)
	})
}

// A caller that gives up does not delete what existed before.
func TestGivingUpLeavesAnExistingZnode(t *testing.T) {
	for after := range 12 {
		inWorlds(t, []session.Mode{session.Persistent, session.Container}, func(w *World, mode session.Mode) {
			c := w.Client()
			require.NoError(w, w.Server.Create(folder, nil))
			require.NoError(w, w.Server.Create(path, []byte("old")))
			was := w.znode(path).Czxid
			w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
			k, err := node.New(c, path, mode, nil).Keep(w.Within(time.Duration(10*after)*time.Millisecond+1), []byte("a"))
			w.Server.Heal()
			if err == nil {
				require.Greater(w, after, 6)
				w.release(k)
				require.Empty(w, w.Children(folder))
				return
			}
			require.Less(w, after, 11)
			w.Pass(5 * time.Minute)
			require.Equal(w, was, w.znode(path).Czxid)
			w.RequireNoWatches()
		})
	}
}

func TestDataWithoutAConnectionIsKept(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		w.Server.BlackHole(zktest.Link{Client: "c1"}, zktest.Both)
		data := []byte("b")
		require.ErrorIs(w, k.SetData(w.Within(time.Second), data), context.DeadlineExceeded)
		data[0] = 'x' // the caller's
		k.Data()[0] = 'x'
		w.Server.Heal()
		w.Pass(2 * time.Minute)
		require.Equal(w, "b", string(w.znode(k.Path()).Data))
		w.release(k)
	})
}

func TestGuardFailsAfterTheZnodeHasGone(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		c := w.Client()
		k := w.keep(c, mode, "a")
		guard := k.Guard()
		_, err := w.Session(c).Txn(w.Ctx, guard)
		require.NoError(w, err)
		was := k.Token()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.remakes(k, was, "a")
		_, err = w.Session(c).Txn(w.Ctx, guard)
		require.ErrorIs(w, err, session.ErrNoNode)
		w.release(k)
	})
}

func TestStatesEndWithTheRelease(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		k := w.keep(c, session.Ephemeral, "a")
		var seen []string
		over := make(chan struct{})
		// Waited for below; ends with the release.
		go func() {
			defer close(over)
			for s, err := range k.States(w.Ctx) {
				if err != nil {
					return
				}
				seen = append(seen, map[bool]string{true: "exists", false: "gone"}[s.Exists])
			}
		}()
		w.Settle()
		w.release(k)
		<-over
		require.Equal(w, "exists gone", strings.Join(seen, " "))
		require.ErrorIs(w, k.State().Err, session.ErrReleased)
	})
}

// A keeper gives up its release while its last data is in flight, in a session that is
// lost: the next keeper of the Node in this process waits until that data cannot be written
// any more.
func TestNextKeeperWaitsForTheFormerOneOfItsNode(t *testing.T) {
	for _, exists := range []bool{false, true} {
		inWorlds(t, []session.Mode{session.Persistent, session.Container}, func(w *World, mode session.Mode) {
			c := w.Client()
			n := node.New(c, path, mode, nil)
			k, err := n.Keep(w.Ctx, []byte("a"))
			require.NoError(w, err)
			s := w.Session(c)
			w.Once(func(q zktest.Request) bool { return q.Op == "setData" }, func() {
				w.Server.BlackHole(zktest.Link{Session: s.ID()}, zktest.Both)
			})
			require.ErrorIs(w, k.SetData(w.Within(time.Second), []byte("b")), context.DeadlineExceeded)
			<-s.Context().Done()
			lost := time.Now()
			gaveUp, cancel := context.WithCancel(w.Ctx)
			cancel()
			require.ErrorIs(w, k.Release(gaveUp), context.Canceled)
			require.NoError(w, w.Server.DeleteAll(path))
			if exists {
				require.NoError(w, w.Server.Create(path, []byte("other")))
			}
			next, err := n.Keep(w.Within(time.Minute), []byte("c"))
			require.NoError(w, err)
			require.GreaterOrEqual(w, time.Since(lost), s.Timeout()*3/2)
			require.NoError(w, k.Release(w.Ctx))
			require.Equal(w, "c", string(w.znode(path).Data))
			w.release(next)
		})
	}
}
