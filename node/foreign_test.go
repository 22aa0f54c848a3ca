package node_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/node"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Nothing tells a keeper what another client has written: the same data, requested again,
// is compared with that of the server.
func TestDataOfAnotherClientIsReplacedByTheSameDataAgain(t *testing.T) {
	inWorlds(t, modes, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		token := k.Token()
		for _, pause := range []time.Duration{0, time.Minute} {
			require.NoError(w, w.Server.Set(k.Path(), []byte("foreign")))
			w.Pass(pause)
			require.NoError(w, k.SetData(w.Ctx, []byte("a")))
			require.Equal(w, "a", string(w.znode(k.Path()).Data))
		}
		was := w.znode(k.Path())
		require.NoError(w, k.SetData(w.Ctx, []byte("a")))
		require.Equal(w, was, w.znode(k.Path()), "nothing is written without a change")
		require.Equal(w, token, k.Token())
		w.release(k)
	})
}

func TestSameDataAgainUnderEveryFault(t *testing.T) {
	for _, mode := range modes {
		t.Run(name(mode), func(t *testing.T) {
			needs(t, mode)
			t.Parallel()
			keptTrial("SetData after a foreign write", mode, func(ctx context.Context, p *world.Party, k *node.Kept) error {
				err := p.Other.Retry(context.Background(), func(s *session.Session) error {
					_, err := s.Set(context.Background(), k.Path(), []byte("foreign"), -1)
					return err
				})
				if err != nil {
					return err
				}
				return k.SetData(ctx, []byte("a"))
			}).Run(t)
		})
	}
}

// The keeper's server lags behind, and has not seen the write of the other client.
func TestSameDataAgainIsComparedWithTheNewestState(t *testing.T) {
	for _, mode := range []session.Mode{session.Ephemeral, session.Persistent} {
		inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
			for w.Server.Leader() == 0 {
				w.Settle()
			}
			servers, at := strings.Split(w.Server.Addr(), ","), 1+w.Server.Leader()%3
			k := w.keep(w.ClientAt(servers[at-1], session.Options{}), mode, "a")
			other := w.Session(w.ClientAt(servers[w.Server.Leader()-1], session.Options{}))
			w.Settle()
			require.NoError(w, w.Server.Lag(at, true))
			_, err := other.Set(w.Ctx, path, []byte("foreign"), -1)
			require.NoError(w, err)
			done := make(chan error, 1)
			// Waited for below; ends when the server has caught up.
			go func() { done <- k.SetData(w.Ctx, []byte("a")) }()
			w.Pass(500 * time.Millisecond)
			require.NoError(w, w.Server.Lag(at, false))
			require.NoError(w, <-done)
			data, _, err := other.Get(w.Ctx, path)
			require.NoError(w, err)
			require.Equal(w, "a", string(data))
			w.release(k)
		})
	}
}

// Another client deletes the znode, and creates one of the same path and version, before
// the keeper hears of either: what the keeper reads is not its own.
func TestSameDataAgainIsNotTakenForThatOfTheNextZnode(t *testing.T) {
	inWorlds(t, []session.Mode{session.Persistent, session.Container, session.PersistentTTL}, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		w.Settle()
		w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, 100*time.Millisecond)
		require.NoError(w, w.Server.DeleteAll(path))
		require.NoError(w, w.Server.Create(path, []byte("foreign")))
		require.NoError(w, k.SetData(w.Ctx, []byte("a")))
		require.Equal(w, "a", string(w.znode(path).Data))
		require.Equal(w, w.znode(path).Czxid, k.Token())
		w.release(k)
	})
}

// The keeper is released while it looks: it writes no more.
func TestSameDataAgainIsNotWrittenAfterTheRelease(t *testing.T) {
	inWorlds(t, []session.Mode{session.Persistent, session.Container}, func(w *World, mode session.Mode) {
		k := w.keep(w.Client(), mode, "a")
		require.NoError(w, w.Server.Set(path, []byte("foreign")))
		w.Settle()
		w.Server.Delay(zktest.Link{}, zktest.Both, 10*time.Millisecond)
		released := make(chan error, 1)
		w.Once(func(q zktest.Request) bool { return q.Op == "getData" && q.Path == path }, func() {
			// Waited for below; ends with the reply to the deletion.
			go func() { released <- k.Release(w.Ctx) }()
		})
		w.Server.OnRequest(func(q zktest.Request) zktest.Action {
			require.NotEqual(w, "setData", q.Op)
			return zktest.Action{}
		})
		require.ErrorIs(w, k.SetData(w.Ctx, []byte("a")), session.ErrReleased)
		require.NoError(w, <-released)
		require.Empty(w, w.Children(folder))
	})
}
