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

// away makes do happen while c has no connection, and then lets it have one: in
// the same session, or in a new one.
func away(w *world.World, c *session.Client, newSession bool, do func()) {
	w.Helper()
	link := zktest.Link{Client: "c1"}
	w.Server.BlackHole(link, zktest.Both)
	w.Server.CutLink(link)
	w.Settle()
	if newSession {
		w.Expire(c)
	}
	do()
	w.Server.Heal()
	w.Pass(20 * time.Second)
}

// TestChangesDuringAnOutageAreFound_CH41_N35: also a node that was deleted and
// created again, whose version is the same as before.
func TestChangesDuringAnOutageAreFound_CH41_N35(t *testing.T) {
	for _, newSession := range []bool{false, true} {
		inModes(t, func(w *world.World) {
			put(w, "/t", "0", "/t/same", "1", "/t/reborn", "2", "/t/reborn/child", "3", "/t/reborn/gone", "4",
				"/t/set", "5", "/t/deleted", "6", "/t/deleted/child", "7", "/t/parent", "8")
			c := w.Client()
			v := run(w, cache.NewTree(c, "/t", text, nil).View)
			v.synced(w)
			old, _ := v.Lookup("/t/reborn")
			tape := record(w, v.View)
			tape.said(w)
			away(w, c, newSession, func() {
				del(w, "/t/reborn/child", "/t/reborn/gone", "/t/reborn", "/t/deleted/child", "/t/deleted")
				put(w, "/t/reborn", "2", "/t/reborn/child", "9", "/t/set", "10", "/t/parent/new", "11", "/t/parent/new/deep", "12")
			})
			v.synced(w)
			require.ElementsMatch(w, []string{
				"- /t/deleted/child 7", "- /t/deleted 6", "+ /t/parent/new 11", "+ /t/parent/new/deep 12", "- /t/reborn/child 3",
				"- /t/reborn/gone 4", "- /t/reborn 2", "+ /t/reborn 2", "+ /t/reborn/child 9", "/t/set 5: 10",
			}, tape.said(w), "and nothing about what is as it was")
			e, _ := v.Lookup("/t/reborn")
			require.Equal(w, old.Stat.Version, e.Stat.Version)
			require.NotEqual(w, old.Stat.Czxid, e.Stat.Czxid)
			require.Equal(w, contents(v.Snapshot()), tape.shown)
			put(w, "/t/same", "13") // it is watched again
			require.Equal(w, []string{"/t/same 1: 13"}, tape.said(w))
		})
	}
}

// When a server has lost its data altogether, a view does not keep the old data: the
// zxids may even count from the start again.
func TestNodesThatMovedAreFoundByEveryShape(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1", "/c/b", "2")
		c := w.Client()
		children := run(w, cache.NewChildren(c, "/c", text, nil).View)
		value := run(w, cache.NewValue(c, "/c/a", text, nil).View)
		children.synced(w)
		value.synced(w)
		away(w, c, false, func() {
			del(w, "/c/a", "/c/b", "/c")
			put(w, "/c", "", "/c/a", "1", "/c/d", "3")
		})
		children.shows(w, "/c/a", "1", "/c/d", "3")
		value.shows(w, "/c/a", "1")
		away(w, c, true, func() { del(w, "/c/a", "/c/d", "/c") })
		children.shows(w)
		value.shows(w)
		require.False(w, children.Status().Exists)
		put(w, "/c", "", "/c/e", "4", "/c/a", "5")
		w.Settle()
		children.shows(w, "/c/e", "4", "/c/a", "5")
		value.shows(w, "/c/a", "5")
	})
}

// CH42: Run begins while no server can be reached.
func TestRunBeginsWithoutAServer_CH42(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		require.NoError(w, w.Server.Stop(1))
		w.Settle()
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		w.Pass(3 * time.Second)
		st := v.Status()
		require.False(w, st.Synced || st.Loaded || st.Connected)
		require.True(w, st.Running)
		require.EqualValues(w, math.MaxInt64, st.Stale)
		require.NoError(w, w.Server.Restart(1))
		v.synced(w)
		v.shows(w, "/c/a", "1")
	})
}

// TestStatusTellsHowOldTheViewIs: the view is available while ZooKeeper is
// unavailable, and reports its age correctly, also while a connection is dead
// and its loss is not noticed yet.
func TestStatusTellsHowOldTheViewIs(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		v.synced(w)
		require.Zero(w, v.Status().Stale)
		for range 60 { // nothing happens, but pings
			w.Pass(time.Second)
			st := v.Status()
			require.True(w, st.Synced && st.Connected && st.Exists && st.Loaded)
			require.LessOrEqual(w, st.Stale, session.DefaultTimeout/3)
			require.Equal(w, 1, st.Entries)
			require.Zero(w, st.Pending)
		}
		w.Pass(session.DefaultTimeout / 3)
		w.Server.BlackHole(zktest.Link{}, zktest.Both)
		dead := time.Now()
		put(w, "/c/a", "2")
		for range 30 {
			w.Pass(time.Second)
			st := v.Status()
			require.False(w, st.AsOf.After(dead), "it claims to know what happened after %v", dead)
			require.Equal(w, time.Since(st.AsOf), st.Stale)
			require.LessOrEqual(w, dead.Sub(st.AsOf), session.DefaultTimeout/3)
			v.shows(w, "/c/a", "1")
		}
		require.False(w, v.Status().Synced)
		require.False(w, v.Status().Connected)
		w.Server.Heal()
		w.Pass(20 * time.Second)
		v.synced(w)
		require.LessOrEqual(w, v.Status().Stale, session.DefaultTimeout/3)
		v.shows(w, "/c/a", "2")
		require.NoError(w, v.stop())
		w.Pass(time.Minute)
		st := v.Status()
		require.False(w, st.Running || st.Synced)
		require.GreaterOrEqual(w, st.Stale, time.Minute)
		require.Less(w, st.Stale, time.Minute+session.DefaultTimeout)
	})
}

// TestSyncedIsNeverTooEarly: from the moment of a reconnect on, Synced means that the
// missed changes are in the view.
func TestSyncedIsNeverTooEarly(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "0")
		v := run(w, cache.NewChildren(w.Client(), "/c", text, nil).View)
		v.synced(w)
		for i := range 50 {
			data := string(rune('a' + i%26))
			w.Server.CutAll()
			put(w, "/c/a", data)
			w.Settle()
			v.synced(w)
			v.shows(w, "/c/a", data)
		}
	})
}

// TestAViewMovesWithItsClientAndNeverGoesBack_N35: the next server lags behind
// the last.
func TestAViewMovesWithItsClientAndNeverGoesBack_N35(t *testing.T) {
	world.In(t, &zktest.Options{Servers: 3}, func(w *world.World) {
		require.NoError(w, w.Server.WaitLeader(w.Ctx))
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		v.synced(w)
		tape := record(w, v.View)
		tape.said(w)
		for i := range 3 {
			at := 0
			for _, s := range w.Server.Sessions() {
				at = s.Server
			}
			for other := 1; other <= 3; other++ {
				if other != at && other != w.Server.Leader() {
					require.NoError(w, w.Server.Lag(other, true))
				}
			}
			put(w, "/c/a", string(rune('2'+i)))
			w.Settle()
			v.shows(w, "/c/a", string(rune('2'+i)))
			if i == 2 {
				w.Expire(c)
			}
			w.Server.CutAll()
			w.Pass(15 * time.Second)
			v.shows(w, "/c/a", string(rune('2'+i)))
			for other := 1; other <= 3; other++ {
				_ = w.Server.Lag(other, false)
			}
			w.Pass(15 * time.Second)
			v.synced(w)
		}
		require.Equal(w, []string{"/c/a 1: 2", "/c/a 2: 3", "/c/a 3: 4"}, tape.said(w))
	})
}
