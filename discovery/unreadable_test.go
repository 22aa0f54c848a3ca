package discovery_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/discovery"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// hide changes the rights to a znode, so that no client may read it.
func (w *World) hide(path string) { w.setRights(path, zk.PermAll&^zk.PermRead) }

func (w *World) setRights(path string, perms int32) {
	w.Helper()
	_, err := w.Session(w.Client()).SetACL(w.Ctx, path, session.WorldACL(perms), -1)
	require.NoError(w, err)
}

// The service's znode becomes unreadable while it is watched. The instances may still be
// read, and their events come: the states stay up to date. On the next connection the
// list is refused, and the iteration ends.
func TestWatchOfAServiceThatBecomesUnreadable(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	inWorld(t, nil, func(w *World) {
		r := registry(w.Client())
		one := w.register(r, instance("one"))
		watcher := w.Client()
		seen := w.watch(w.Within(time.Hour), registry(watcher), service)
		require.Equal(w, []string{"one"}, seen.last(w))
		w.hide(dir)
		two := w.register(r, instance("two"))
		w.Settle()
		require.Equal(w, []string{"one", "two"}, seen.last(w))
		w.unregister(one)
		w.Settle()
		require.Equal(w, []string{"two"}, seen.last(w))
		_, err := registry(watcher).Instances(w.Ctx, service)
		require.ErrorIs(w, err, session.ErrNoAuth)
		w.Server.Cut(w.ID(watcher))
		require.ErrorIs(w, <-seen.err, session.ErrNoAuth)
		w.unregister(two)
	})
}

// An instance becomes unreadable while it is watched. Servers since 3.8.4 and 3.9.2 do
// not report its changes: it stays as it was until the next connection.
func TestWatchOfAnInstanceThatBecomesUnreadable(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	for _, goes := range []bool{false, true} {
		inWorld(t, nil, func(w *World) {
			r := registry(w.Client())
			one, two := w.register(r, instance("one")), w.register(r, instance("two"))
			watcher := w.Client()
			ctx, cancel := context.WithCancel(w.Ctx)
			defer cancel()
			var states []discovery.Instance
			next := make(chan []discovery.Instance, 100)
			// The bubble waits for it; ends with ctx.
			go func() {
				for list, err := range registry(watcher).Watch(ctx, service) {
					if err == nil {
						next <- list
					}
				}
			}()
			w.Settle()
			require.Len(w, <-next, 2)
			w.hide(dir + "/one")
			if goes {
				w.unregister(one)
			}
			i := two.Instance()
			i.Port = 1
			require.NoError(w, two.Update(w.Ctx, i))
			w.Settle()
			states = <-next
			require.Len(w, states, 2, "nothing tells that it has gone")
			require.NoError(w, states[0].Err)
			require.Equal(w, 1, states[1].Port, "the others are up to date")
			w.Server.Cut(w.ID(watcher))
			w.Pass(5 * time.Second)
			for len(next) > 0 {
				states = <-next
			}
			if goes {
				require.Len(w, states, 1)
				require.Equal(w, "two", states[0].ID)
				return
			}
			require.Len(w, states, 2)
			require.Equal(w, "one", states[0].ID, "it comes first")
			require.ErrorIs(w, states[0].Err, session.ErrNoAuth)
			w.unregister(one)
		})
	}
}

// A client may write its instance, and not read it: an update is registered after a lost
// reply and, unless the server hides the version, after a write of another client.
func TestUpdateOfAnInstanceThatMayNotBeRead(t *testing.T) {
	world.Needs(t, world.PublicStats)
	for _, hidden := range []bool{false, true} {
		for _, typ := range types {
			t.Run(fmt.Sprint(typ, hidden), func(t *testing.T) {
				inWorld(t, &zktest.Options{StatNeedsRead: hidden}, func(w *World) {
					g := w.register(registry(w.Client()), typed("one", typ))
					at := g.State()
					w.hide(at.Path)
					update := func(port int) error {
						i := g.Instance()
						i.Port = port
						return g.Update(w.Within(time.Minute), i)
					}
					port := func() int { return g.Instance().Port }
					for n, fault := range []zktest.Fault{zktest.DropReplyCut, zktest.CutBefore} {
						w.Server.FailNth(func(q zktest.Request) bool { return q.Op == "setData" }, 1, zktest.Action{Do: fault})
						require.NoError(w, update(1+n))
						require.Equal(w, 1+n, port())
						require.Contains(w, string(w.node(at.Path).Data), fmt.Sprintf(`"port":%d,`, 1+n))
					}
					require.NoError(w, w.Server.Set(at.Path, []byte("what?")))
					if hidden {
						require.ErrorIs(w, update(3), session.ErrNoAuth)
						require.Equal(w, 2, port())
					} else {
						require.NoError(w, update(3))
						require.Equal(w, 3, port())
					}
					w.setRights(at.Path, zk.PermAll)
					require.NoError(w, update(4))
					require.True(w, g.State().Registered)
					require.Equal(w, at.Token, g.Token())
					w.unregister(g)
					require.Empty(w, w.Children(dir))
				})
			})
		}
	}
}

// The znode of a registration becomes unreadable for its own client, which stays
// registered, and may update and unregister. The next heartbeat notices the deletion
// of an ephemeral znode; the next connection notices the deletion of any other.
func TestRegistrationWhoseZnodeBecomesUnreadable(t *testing.T) {
	for _, o := range []*zktest.Options{nil, {StatNeedsRead: true}} {
		for _, typ := range types {
			t.Run(fmt.Sprint(typ, o != nil), func(t *testing.T) {
				inWorld(t, o, func(w *World) {
					c := w.Client()
					g := w.register(registry(c), typed("one", typ))
					at, ctx := g.State(), g.Context()
					w.hide(at.Path)
					w.Pass(time.Minute)
					require.Equal(w, at, g.State())
					i := g.Instance()
					i.Port = 1
					require.NoError(w, g.Update(w.Within(time.Minute), i))
					require.Equal(w, at.Token, g.Token())
					require.NoError(w, ctx.Err())

					require.NoError(w, w.Server.Delete(at.Path))
					if w.Pass(time.Minute); typ == discovery.Static {
						require.Equal(w, at, g.State(), "nothing tells")
						w.Server.Cut(w.ID(c))
						w.Pass(time.Minute)
					}
					require.True(w, g.State().Registered)
					require.Greater(w, g.Token(), at.Token)
					require.ErrorIs(w, context.Cause(ctx), session.ErrNodeDeleted)
					w.hide(g.State().Path)
					w.unregister(g)
					require.Empty(w, w.Children(dir))
				})
			})
		}
	}
}
