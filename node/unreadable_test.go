package node_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

const mayNotRead = zk.PermAll &^ zk.PermRead

// hiding is a server, and the mode of a znode that its keeper may not read. A server that
// hides the stat of such a znode is one of 3.9.3 or later.
type hiding struct {
	mode session.Mode
	stat bool
}

// inHidingWorlds runs body for each mode, and for both kinds of servers. The functions in also may
// skip a mode.
func inHidingWorlds(t *testing.T, modes []session.Mode, body func(w *World, h hiding), also ...func(t *testing.T, mode session.Mode)) {
	t.Helper()
	for _, stat := range []bool{false, true} {
		for _, mode := range modes {
			t.Run(fmt.Sprintf("%s-hidden-%t", name(mode), stat), func(t *testing.T) {
				for _, skip := range append(also, needs) {
					skip(t, mode)
				}
				if !stat {
					world.Needs(t, world.PublicStats)
				}
				inWorld(t, &zktest.Options{StatNeedsRead: stat}, func(w *World) { body(w, hiding{mode, stat}) })
			})
		}
	}
}

// loses skips a test in which the keeper loses its connection, and an ephemeral znode stays.
func loses(t *testing.T, mode session.Mode) {
	t.Helper()
	if ephemeral(mode) {
		world.Needs(t, world.Resumes)
	}
}

// rights gives the world these rights to the znode.
func (w *World) rights(path string, perms int32) {
	w.Helper()
	_, err := w.Session(w.Client()).SetACL(w.Ctx, path, session.WorldACL(perms), -1)
	require.NoError(w, err)
}

// keepUnreadable keeps a znode that its keeper may not read any more.
func (w *World) keepUnreadable(mode session.Mode) *node.Kept {
	w.Helper()
	k := w.keep(w.Client(), mode, "a")
	w.rights(k.Path(), mayNotRead)
	return k
}

// readAgain gives the rights to k's znode back: k keeps it as before.
func (w *World) readAgain(k *node.Kept) {
	w.Helper()
	require.True(w, k.State().Exists)
	require.NoError(w, k.Context().Err())
	w.rights(k.Path(), zk.PermAll)
	w.set(k, "z")
	w.release(k)
}

// set must succeed within a virtual minute.
func (w *World) set(k *node.Kept, data string) {
	w.Helper()
	require.NoError(w, k.SetData(w.Within(time.Minute), []byte(data)))
	require.Equal(w, data, string(w.znode(k.Path()).Data))
}

// overwrite is a write of another client.
func (w *World) overwrite(k *node.Kept) {
	w.Helper()
	require.NoError(w, w.Server.Set(k.Path(), []byte("foreign")))
}

// on selects the requests of this kind about k's znode.
func on(op string, k *node.Kept) func(zktest.Request) bool {
	path := k.Path()
	return func(q zktest.Request) bool { return q.Op == op && q.Path == path }
}

// A keeper that may never read its znode keeps it like any other. An ephemeral znode must
// be readable when it is created: the session proves itself by it.
func TestZnodeThatIsCreatedUnreadableIsKept(t *testing.T) {
	without := []session.Mode{session.Persistent, session.PersistentSequential, session.Container, session.PersistentTTL, session.PersistentSequentialTTL}
	inHidingWorlds(t, without, func(w *World, h hiding) {
		c := w.Client()
		o := withWait(h.mode)
		o.ACL = session.WorldACL(mayNotRead)
		k, err := node.New(c, path, h.mode, o).Keep(w.Within(time.Minute), []byte("a"))
		require.NoError(w, err)
		w.set(k, "b")
		for _, data := range []string{"c", "d"} {
			w.Pass(time.Minute)
			require.True(w, k.State().Exists)
			w.Server.Cut(w.ID(c))
			w.set(k, data)
		}
		was := k.Token()
		require.NoError(w, w.Server.DeleteAll(k.Path()))
		w.Server.Cut(w.ID(c)) // the next connection tells
		w.remakes(k, was, "d")
		w.release(k)
		require.Equal(w, expires(h.mode), len(w.Children(folder)) == 1)
	})
}

// A keeper may write its znode, and not read it.
func TestDataOfAZnodeThatMayNotBeReadIsSet(t *testing.T) {
	inHidingWorlds(t, modes, func(w *World, h hiding) {
		k := w.keepUnreadable(h.mode)
		w.set(k, "a")
		for i, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore, zktest.DropReplyHole, zktest.DropRequest} {
			w.Server.FailNth(on("setData", k), 1, zktest.Action{Do: fault})
			w.set(k, fmt.Sprint("lost", i))
			w.set(k, fmt.Sprint("next", i))
		}
		for again := 2; again <= 4; again++ { // a repeated one is lost, too
			w.Server.FailNth(on("setData", k), 1, zktest.Action{Do: zktest.DropReplyCut})
			forget := w.Server.FailNth(on("setData", k), again, zktest.Action{Do: zktest.DropReplyCut})
			w.set(k, fmt.Sprint("twice", again))
			forget()
		}
		w.set(k, "b")
		w.set(k, "b")
		w.readAgain(k)
	}, loses)
}

// Another client writes. A server that hides the version leaves nothing on condition of
// which the keeper could write.
func TestForeignDataInAZnodeThatMayNotBeRead(t *testing.T) {
	inHidingWorlds(t, modes, func(w *World, h hiding) {
		k := w.keep(w.Client(), h.mode, "former")
		w.Server.FailNth(on("setData", k), 1, zktest.Action{Do: zktest.DropReplyCut})
		w.set(k, "a") // its outcome is known by now
		w.rights(k.Path(), mayNotRead)
		for range 2 {
			w.overwrite(k)
			if !h.stat {
				w.set(k, "b")
				continue
			}
			require.ErrorIs(w, k.SetData(w.Within(time.Minute), []byte("b")), session.ErrNoAuth)
			require.Equal(w, "a", string(k.Data()), "the former data stays requested")
			require.Equal(w, "foreign", string(w.znode(k.Path()).Data))
		}
		w.readAgain(k)
	})
}

// The reply is lost, and another client has written before the keeper is back: a server
// that hides the version does not say whether the data was set.
func TestUnknownOutcomeInAZnodeThatMayNotBeRead(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
		inHidingWorlds(t, modes, func(w *World, h hiding) {
			k := w.keepUnreadable(h.mode)
			w.Server.FailNth(on("setData", k), 1, zktest.Action{Do: fault})
			w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
				w.overwrite(k)
				w.overwrite(k)
			})
			err := k.SetData(w.Within(time.Minute), []byte("b"))
			if h.stat {
				require.ErrorIs(w, err, session.ErrUnknownOutcome)
				require.NotErrorIs(w, err, session.ErrNoAuth)
				require.Equal(w, "foreign", string(w.znode(k.Path()).Data))
				require.ErrorIs(w, k.SetData(w.Within(time.Minute), []byte("c")), session.ErrNoAuth, "it was surely not set")
			} else {
				require.NoError(w, err)
				require.Equal(w, "b", string(w.znode(k.Path()).Data))
			}
			w.readAgain(k)
		}, loses)
	}
}

// The deletion is lost with its connection. A server that hides the stat does not say
// whose znode it is by then, unless no other client uses the name.
func TestReleaseOfAZnodeThatMayNotBeRead(t *testing.T) {
	deleted := []session.Mode{session.Ephemeral, session.EphemeralSequential, session.Persistent, session.PersistentSequential, session.Container}
	for _, fault := range []zktest.Fault{zktest.Pass, zktest.DropReplyCut, zktest.CutBefore} {
		var also []func(*testing.T, session.Mode)
		if fault == zktest.CutBefore {
			also = append(also, loses)
		}
		inHidingWorlds(t, deleted, func(w *World, h hiding) {
			k := w.keepUnreadable(h.mode)
			path := k.Path()
			w.Server.FailNth(on("delete", k), 1, zktest.Action{Do: fault})
			err := k.Release(w.Within(time.Minute))
			if h.stat && fault == zktest.CutBefore && !sequential(h.mode) {
				require.ErrorIs(w, err, session.ErrNoAuth)
				w.rights(path, zk.PermAll)
				w.Pass(time.Minute)
			} else {
				require.NoError(w, err)
			}
			require.Empty(w, w.Children(folder))
		}, also...)
	}
}

// The reply to the deletion is lost, and another client creates a znode of the path, which
// the releasing client may not read either, before that client is back.
func TestReleaseLeavesTheNextZnodeThatMayNotBeRead(t *testing.T) {
	inHidingWorlds(t, []session.Mode{session.Ephemeral, session.Persistent, session.Container}, func(w *World, h hiding) {
		k := w.keepUnreadable(h.mode)
		other := w.Session(w.Client())
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToServer, time.Second)
		w.Server.FailNth(on("delete", k), 1, zktest.Action{Do: zktest.DropReplyCut})
		released := make(chan error, 1)
		// Waited for below; ends with its context at the latest.
		go func() { released <- k.Release(w.Within(time.Minute)) }()
		w.Pass(1500 * time.Millisecond) // the deletion has been carried out
		next, err := other.Create(w.Ctx, path, []byte("next"), session.Persistent, &session.CreateOptions{ACL: session.WorldACL(mayNotRead)})
		require.NoError(w, err)
		if err := <-released; h.stat {
			require.ErrorIs(w, err, session.ErrNoAuth)
		} else {
			require.NoError(w, err)
		}
		w.Pass(5 * time.Minute)
		require.Equal(w, next.Stat.Czxid, w.znode(path).Czxid)
		w.rights(path, zk.PermAll)
		w.Pass(time.Minute)
		require.Equal(w, next.Stat.Czxid, w.znode(path).Czxid)
		w.release(k)
	}, loses)
}

// Another client has written, so that the version is another.
func TestReleaseOfAZnodeThatMayNotBeReadAfterAForeignWrite(t *testing.T) {
	inHidingWorlds(t, []session.Mode{session.Ephemeral, session.Persistent, session.PersistentSequential}, func(w *World, h hiding) {
		k := w.keepUnreadable(h.mode)
		w.overwrite(k)
		path := k.Path()
		err := k.Release(w.Within(time.Minute))
		if h.stat {
			require.ErrorIs(w, err, session.ErrNoAuth)
			w.rights(path, zk.PermAll)
			w.Pass(time.Minute)
		} else {
			require.NoError(w, err)
		}
		require.Empty(w, w.Children(folder))
	})
}

// The znode exists, and is not for this client to take over.
func TestKeepOfAZnodeThatMayNotBeReadIsAConflict(t *testing.T) {
	inHidingWorlds(t, []session.Mode{session.Ephemeral, session.Persistent, session.Container, session.PersistentTTL}, func(w *World, h hiding) {
		require.NoError(w, w.Server.Create(folder, nil))
		require.NoError(w, w.Server.Create(path, []byte("a")))
		w.rights(path, mayNotRead)
		_, err := node.New(w.Client(), path, h.mode, options(h.mode)).Keep(w.Within(time.Minute), []byte("a"))
		require.ErrorIs(w, err, node.ErrConflict)
	})
}
