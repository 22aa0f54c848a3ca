package cache_test

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A view of a program that is started in an outage shows what a server without a quorum knows,
// says so, and is up to date when there is a quorum again.
func TestViewsAreLoadedFromAServerWithoutAQuorum(t *testing.T) {
	world.Needs(t, world.ReadOnlyServers)
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		put(w, "/t", "0", "/t/a", "1", "/t/b", "2", "/t/b/c", "3")
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, w.Server.Stop(3))
		w.Pass(10 * time.Second)
		c := w.ClientWith(session.Options{ReadOnly: true})
		views := []*view{
			run(w, cache.NewTree(c, "/t", text, nil).View),
			run(w, cache.NewChildren(c, "/t", text, nil).View),
			run(w, cache.NewValue(c, "/t/a", text, nil).View),
		}
		for _, v := range views {
			v.synced(w)
			st := v.Status()
			require.True(w, st.ReadOnly && st.Synced && st.Loaded && !st.Connected)
			require.Zero(w, st.AsOf, "the server itself may be behind by any time")
			require.EqualValues(w, math.MaxInt64, st.Stale)
		}
		require.Equal(w, map[string]string{"/t": "0", "/t/a": "1", "/t/b": "2", "/t/b/c": "3"}, contents(views[0].Snapshot()))

		require.NoError(w, w.Server.Restart(2))
		w.Pass(10 * time.Second)
		put(w, "/t/a", "4", "/t/d", "5")
		w.Pass(time.Second)
		for _, v := range views {
			v.synced(w)
			st := v.Status()
			require.True(w, !st.ReadOnly && st.Synced && st.Connected)
			require.Less(w, st.Stale, time.Minute)
		}
		require.Equal(w, map[string]string{"/t": "0", "/t/a": "4", "/t/b": "2", "/t/b/c": "3", "/t/d": "5"}, contents(views[0].Snapshot()))
	})
}

// The servers with a quorum are lost, with the session, while a view is up to date.
func TestAViewStaysWhatItWasOnAServerWithoutAQuorum(t *testing.T) {
	world.Needs(t, world.ReadOnlyServers)
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		put(w, "/t", "0", "/t/a", "1")
		c := w.ClientWith(session.Options{ReadOnly: true})
		v := run(w, cache.NewTree(c, "/t", text, nil).View)
		v.synced(w)
		s := w.Session(c)
		node, err := s.Create(w.Ctx, "/held", nil, session.Ephemeral, nil)
		require.NoError(w, err)
		_, err = s.Hold(w.Ctx, node.Path, nil)
		require.NoError(w, err)
		tape := record(w, v.View)
		tape.said(w)
		asOf := v.Status().AsOf
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, w.Server.Stop(3))
		w.Pass(time.Minute)
		require.ErrorIs(w, s.Err(), session.ErrTrustRanOut)
		st := v.Status()
		require.True(w, st.Loaded && st.Synced && st.ReadOnly)
		require.False(w, st.AsOf.Before(asOf))
		require.Greater(w, st.Stale, 50*time.Second)
		require.Empty(w, tape.said(w))
		require.NoError(w, w.Server.Restart(2))
		w.Pass(10 * time.Second)
		v.synced(w)
		require.Less(w, v.Status().Stale, 10*time.Second)
		require.Empty(w, tape.said(w))
	})
}

// The quorum is lost while a view is being loaded: it goes on at the last server.
func TestLoadGoesOnWithoutAQuorum(t *testing.T) {
	world.Needs(t, world.ReadOnlyServers)
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true, Latency: 100 * time.Millisecond}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		put(w, "/t", "0", "/t/a", "1")
		w.Pass(time.Second)
		c := w.ClientWith(session.Options{ReadOnly: true})
		w.Pass(time.Second)
		w.Server.Delay(zktest.Link{}, zktest.Both, 200*time.Millisecond)
		v := run(w, cache.NewTree(c, "/t", text, nil).View)
		w.Pass(100 * time.Millisecond)
		require.NoError(w, w.Server.Stop(2))
		require.NoError(w, w.Server.Stop(3))
		w.Server.Heal()
		v.synced(w)
		require.True(w, v.Status().ReadOnly)
		require.NoError(w, w.Server.Restart(2))
		w.Pass(10 * time.Second)
		v.synced(w)
		require.False(w, v.Status().ReadOnly)
	})
}

// A view does not go back from the newer of two servers to the older.
func TestViewDoesNotGoBackWithoutAQuorum(t *testing.T) {
	world.Needs(t, world.ReadOnlyServers)
	world.In(t, &zktest.Options{Servers: 3, ReadOnly: true}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		put(w, "/t", "0", "/t/a", "old")
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(3))
		w.Pass(10 * time.Second)
		require.NoError(w, w.Server.Set("/t/a", []byte("new")))
		w.Pass(time.Second)
		require.NoError(w, w.Server.Stop(2))
		w.Pass(10 * time.Second)
		v := run(w, cache.NewTree(w.ClientWith(session.Options{ReadOnly: true}), "/t", text, nil).View)
		v.synced(w)
		require.NoError(w, w.Server.Stop(1))
		require.NoError(w, w.Server.Restart(3))
		w.Pass(time.Minute)
		require.Equal(w, "new", contents(v.Snapshot())["/t/a"])
		require.False(w, v.Status().Synced)
	})
}
