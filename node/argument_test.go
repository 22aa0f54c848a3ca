package node_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestInvalidArgumentsAreNamedAndNothingIsSent(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		w.Settle()
		w.ResetStats()
		for what, n := range map[string]*node.Node{
			"path is /":                     node.New(c, "/", session.Ephemeral, nil),
			"path \"nodes\"":                node.New(c, "nodes", session.Ephemeral, nil),
			"mode is 7":                     node.New(c, path, 7, nil),
			"mode is -1":                    node.New(c, path, -1, nil),
			"TTL is 1s for a mode without":  node.New(c, path, session.Ephemeral, &node.Options{TTL: time.Second}),
			"TTL is 0s; it must be from 1s": node.New(c, path, session.PersistentTTL, nil),
			"TTL is 999ms":                  node.New(c, path, session.PersistentTTL, &node.Options{TTL: 999 * time.Millisecond}),
			"TTL is 305419h53m47.776s":      node.New(c, path, session.PersistentSequentialTTL, &node.Options{TTL: 1 << 40 * time.Millisecond}),
		} {
			_, err := n.Keep(w.Ctx, nil)
			require.ErrorIs(w, err, node.ErrInvalidArgument, what)
			require.ErrorContains(w, err, what)
		}
		stop := errors.New("stop")
		over, cancel := context.WithCancelCause(w.Ctx)
		cancel(stop)
		_, err := node.New(c, path, session.Ephemeral, nil).Keep(over, nil)
		require.ErrorIs(w, err, stop)
		require.ErrorIs(w, err, context.Canceled)
		require.Zero(w, w.Requests(c))
	})
}

// The options are the caller's, who may change them.
func TestACLIsThatOfTheOptions(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		o := node.Options{ACL: session.WorldACL(31 - 2)} // all but write
		if expires(mode) {
			o.TTL = ttl
		}
		c := w.Client()
		n := node.New(c, path, mode, &o)
		o.ACL[0].Perms = 1
		k, err := n.Keep(w.Ctx, nil)
		require.NoError(w, err)
		acl, _, err := w.Session(c).ACL(w.Ctx, k.Path())
		require.NoError(w, err)
		require.Equal(w, session.WorldACL(29), acl)
		require.ErrorIs(w, k.SetData(w.Ctx, []byte("b")), session.ErrNoAuth)
		require.Empty(w, k.Data(), "a refused SetData does not count")
		w.release(k)
	})
}

func TestMisuseOfNilAndZeroValuesIsReported(t *testing.T) {
	world.Misuse{
		Invalid:  node.ErrInvalidArgument,
		Zero:     map[string]any{"Node": new(node.Node), "Kept": new(node.Kept)},
		NoClient: map[string]any{"New": node.New(nil, "/a", session.Ephemeral, nil)},
	}.Check(t)
}

// Many znodes that came, changed and went leave no watch on the server, no goroutine, and
// no memory in the client.
func TestManyZnodesLeaveNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := w.Client()
		modes := available()
		w.CyclesLeaveNothing(1000, func(i int) {
			mode := modes[i%len(modes)]
			// Not within a time, whose context would be memory until then.
			k, err := node.New(c, path, mode, options(mode)).Keep(w.Ctx, []byte("a"))
			require.NoError(w, err)
			require.NoError(w, k.SetData(w.Ctx, []byte("b")))
			require.NoError(w, k.Release(w.Ctx))
			if s := w.Session(c); expires(mode) {
				require.NoError(w, s.Delete(w.Ctx, k.Path()+"/touch", -1))
				require.NoError(w, s.Delete(w.Ctx, k.Path(), -1))
			}
		})
	})
}

// Requests are counted at the server; the folder exists.
func TestRequestsOfEachOperation(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		require.NoError(w, w.Server.Create(folder, nil))
		c := w.Client()
		var k *node.Kept
		writes := func(op func()) (n int) {
			w.Settle()
			w.ResetStats()
			op()
			for name, count := range w.Server.Stats().BySession[w.ID(c)] {
				switch name {
				case "create", "create2", "createContainer", "createTTL", "setData", "delete":
					n += count
				}
			}
			return n
		}
		keeping, releasing := 1, 1
		if expires(mode) {
			keeping, releasing = 3, 0 // with a refresh in vain, and the child
		}
		require.Equal(w, keeping, writes(func() { k = w.keep(c, mode, "a") }))
		require.Equal(w, 1, writes(func() { require.NoError(w, k.SetData(w.Ctx, []byte("b"))) }))
		require.Zero(w, writes(func() { require.NoError(w, k.SetData(w.Ctx, []byte("b"))) }))
		refreshes := 0
		if expires(mode) {
			refreshes = 3
		}
		require.Equal(w, refreshes, writes(func() { w.Pass(ttl) }))
		require.Equal(w, releasing, writes(func() { w.release(k) }))
	})
}
