package discovery_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// An update loses its connection, or its session. Before the client is back, an administrator deletes the
// znode, and another process registers under the name: its znode has the same version.
func TestRepeatedUpdateDoesNotOverwriteTheNextInstanceOfTheName(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.ExpireBefore, zktest.ExpireAfter} {
		inWorld(t, nil, func(w *World) {
			c := w.Client()
			g := w.register(registry(c), typed("one", discovery.Static))
			w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "setData" }, 1, zktest.Action{Do: fault})
			w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
				require.NoError(w, w.Server.Delete(dir+"/one"))
				require.NoError(w, w.Server.Create(dir+"/one", []byte("next")))
			})
			i := g.Instance()
			i.Port = 7
			require.ErrorIs(w, g.Update(w.Within(time.Minute), i), discovery.ErrConflict)
			require.Equal(w, "next", string(w.node(dir+"/one").Data))
			w.unregister(g)
			require.Equal(w, "next", string(w.node(dir+"/one").Data))
		})
	}
}

// The same with a move, whose transaction deletes the znode.
func TestRepeatedMoveDoesNotDeleteTheNextInstanceOfTheName(t *testing.T) {
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.ExpireBefore} {
		inWorld(t, nil, func(w *World) {
			g := w.register(registry(w.Client()), typed("one", discovery.Static))
			w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "multi" && !q.OnlyChecks }, 1, zktest.Action{Do: fault})
			w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
				require.NoError(w, w.Server.Delete(dir+"/one"))
				require.NoError(w, w.Server.Create(dir+"/one", []byte("next")))
			})
			require.NoError(w, g.Move(w.Within(time.Minute), "api", g.Instance()))
			require.Equal(w, "next", string(w.node(dir+"/one").Data))
			require.Equal(w, []string{"one"}, w.Children(base+"/api"))
			w.unregister(g)
		})
	}
}

// The instance is unregistered while the outcome of its update is unknown: that is found
// out before the deletion, which no other process's znode suffers.
func TestUnregisteringDuringAnUpdateDoesNotDeleteTheNextInstanceOfTheName(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		g := w.register(registry(c), typed("one", discovery.Static))
		w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "setData" }, 1, zktest.Action{Do: zktest.CutBefore})
		left := make(chan error, 1)
		w.Once(func(q zktest.Request) bool { return q.Op == "connect" && q.Session != 0 }, func() {
			require.NoError(w, w.Server.Delete(dir+"/one"))
			require.NoError(w, w.Server.Create(dir+"/one", []byte("next")))
			// Waited for below; ends with the world's context at the latest.
			go func() { left <- g.Unregister(w.Ctx) }()
		})
		i := g.Instance()
		i.Port = 7
		require.Error(w, g.Update(w.Within(time.Minute), i))
		require.NoError(w, <-left)
		require.Equal(w, "next", string(w.node(dir+"/one").Data))
	})
}

// The reply to an update is lost, and no other client has done anything: the update was
// made once, and a repeated one is not sent.
func TestUpdateWhoseReplyIsLostIsNotRepeated(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		g := w.register(registry(w.Client()), typed("one", discovery.Static))
		w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "setData" }, 1, zktest.Action{Do: zktest.DropReplyCut})
		i := g.Instance()
		i.Port = 7
		require.NoError(w, g.Update(w.Within(time.Minute), i))
		require.EqualValues(w, 1, w.node(dir+"/one").Version)
		w.unregister(g)
		require.Empty(w, w.Children(dir))
	})
}
