package node_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// The former keeper of the Node leaves its znode where it is: it is the next keeper's.
func TestKeepThatWaitsTakesWhatTheFormerKeeperLeaves(t *testing.T) {
	inWorlds(t, append(slices.Clone(lasting), session.PersistentTTL), func(w *World, mode session.Mode) {
		n := node.New(w.Client(), path, mode, withWait(mode))
		first, err := n.Keep(w.Ctx, []byte("a"))
		require.NoError(w, err)
		if !expires(mode) {
			require.NoError(w, w.Server.Create(path+"/child", nil))
		}
		var second *node.Kept
		done := make(chan error, 1)
		// Waited for below; ends with its context at the latest.
		go func() {
			var err error
			second, err = n.Keep(w.Within(time.Minute), []byte("b"))
			done <- err
		}()
		w.Pass(10 * time.Second)
		require.Empty(w, done)
		err = first.Release(w.Ctx)
		if mode == session.Persistent {
			require.ErrorIs(w, err, session.ErrNotEmpty)
		} else {
			require.NoError(w, err)
		}
		released := time.Now()
		require.NoError(w, <-done)
		require.Less(w, time.Since(released), time.Second)
		require.Equal(w, first.Token(), second.Token())
		require.Equal(w, "b", string(w.znode(path).Data))
		if !expires(mode) {
			require.NoError(w, w.Server.Delete(path+"/child"))
		}
		w.release(second)
		w.Settle()
		w.RequireNoWatches()
	})
}

// The former keeper begins its release while the next Keep, which does not wait for other
// clients, looks at the znode.
func TestKeepWaitsForAReleaseThatLeavesTheZnode(t *testing.T) {
	inWorlds(t, lasting, func(w *World, mode session.Mode) {
		n := node.New(w.Client(), path, mode, nil)
		first, err := n.Keep(w.Ctx, []byte("a"))
		require.NoError(w, err)
		require.NoError(w, w.Server.Create(path+"/child", nil))
		w.Settle()
		w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
		released := make(chan error, 1)
		w.Once(func(q zktest.Request) bool { return q.Op == "getData" && q.Path == path }, func() {
			// Waited for below; ends with the reply to the deletion.
			go func() { released <- first.Release(w.Ctx) }()
		})
		second, err := n.Keep(w.Within(time.Second), []byte("b"))
		require.NoError(w, err)
		<-released
		require.Equal(w, "b", string(w.znode(path).Data))
		require.NoError(w, w.Server.Delete(path+"/child"))
		w.release(second)
	})
}
