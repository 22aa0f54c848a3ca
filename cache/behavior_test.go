package cache_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// inModes runs body with persistent watches and without.
func inModes(t *testing.T, body func(w *world.World)) {
	t.Helper()
	for name, so := range modes() {
		t.Run(name, func(t *testing.T) { world.In(t, so, body) })
	}
}

func TestValueFollowsAZnodeThroughItsLives_N9_N10_N11(t *testing.T) {
	inModes(t, func(w *world.World) {
		value := cache.NewValue(w.Client(), "/conf", text, nil)
		v := run(w, value.View)
		v.synced(w)
		_, ok := value.Get()
		require.False(w, ok)
		require.False(w, v.Status().Exists)
		tape := record(w, v.View)
		require.Equal(w, []string{"snapshot of 0"}, tape.said(w))

		put(w, "/conf", "1")
		require.Equal(w, []string{"+ /conf 1"}, tape.said(w))
		put(w, "/conf", "2")
		put(w, "/conf/child", "no request was sent")
		require.Equal(w, []string{"/conf 1: 2"}, tape.said(w))
		e, ok := value.Get()
		require.True(w, ok)
		node, err := w.Server.Get("/conf")
		require.NoError(w, err)
		require.Equal(w, cache.Entry[string]{Path: "/conf", Value: "2", Stat: e.Stat}, e)
		require.Equal(w, node.Mzxid, e.Stat.Mzxid)
		require.Equal(w, "conf", e.Name())
		again, ok := value.Get() // looking does not take it away (CH50)
		require.True(w, ok)
		require.Equal(w, e, again)

		del(w, "/conf/child", "/conf")
		require.Equal(w, []string{"- /conf 2"}, tape.said(w))
		put(w, "/conf", "3")
		require.Equal(w, []string{"+ /conf 3"}, tape.said(w))
		v.shows(w, "/conf", "3")
	})
}

// N14: keys that come, and the data of each. T25: kept locally.
func TestChildrenFollowNamesAndData_N9_N14_T25(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/conf", "", "/conf/port", "1", "/conf/token", "a", "/conf/port/deep", "no request was sent", "/config", "a neighbor")
		children := cache.NewChildren(w.Client(), "/conf", text, nil)
		v := run(w, children.View)
		v.synced(w)
		v.shows(w, "/conf/port", "1", "/conf/token", "a")
		tape := record(w, v.View)
		require.Equal(w, []string{"snapshot of 2"}, tape.said(w))

		w.ResetStats()
		put(w, "/conf", "its own data", "/conf/port", "2", "/conf/name", "n", "/conf/port/deeper", "no", "/config/a", "no")
		del(w, "/conf/token")
		require.ElementsMatch(w, []string{"/conf/port 1: 2", "+ /conf/name n", "- /conf/token a"}, tape.said(w))
		e, ok := children.Get("name")
		require.True(w, ok)
		require.Equal(w, "/conf/name", e.Path)
		_, ok = children.Get("token")
		require.False(w, ok)
		v.shows(w, "/conf/port", "2", "/conf/name", "n")
		require.Equal(w, v.Snapshot().Len(), len(slices.Collect(v.All())))
	})
}

func TestTreeFollowsAllBelow_N9(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "0", "/t/a", "1", "/t/a/b", "2", "/t/a/b/c", "3", "/t/d", "4", "/tt", "a neighbor")
		v := run(w, cache.NewTree(w.Client(), "/t", text, nil).View)
		v.synced(w)
		v.shows(w, "/t", "0", "/t/a", "1", "/t/a/b", "2", "/t/a/b/c", "3", "/t/d", "4")
		tape := record(w, v.View)
		tape.said(w)
		put(w, "/t/d/e", "5", "/t/d/e/f", "6")
		require.Equal(w, []string{"+ /t/d/e 5", "+ /t/d/e/f 6"}, tape.said(w), "parents first")
		del(w, "/t/a/b/c", "/t/a/b", "/t/a")
		require.Equal(w, []string{"- /t/a/b/c 3", "- /t/a/b 2", "- /t/a 1"}, tape.said(w), "children first")
		put(w, "/t", "again")
		require.Equal(w, []string{"/t 0: again"}, tape.said(w))
		var names []string
		for e := range v.Snapshot().Children("/t") {
			names = append(names, e.Name())
		}
		require.Equal(w, []string{"d"}, names)
	})
}

func TestTreeOfTheRoot(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/a", "1", "/a/b", "2")
		v := run(w, cache.NewTree(w.Client(), "/", text, &cache.Options{
			Filter: func(path string) bool { return path != "/zookeeper" },
		}).View)
		v.synced(w)
		v.shows(w, "/", "", "/a", "1", "/a/b", "2")
		put(w, "/c", "3", "/c/d", "4")
		del(w, "/a/b")
		w.Settle()
		v.shows(w, "/", "", "/a", "1", "/c", "3", "/c/d", "4")
		var names []string
		for e := range v.Snapshot().Children("/") {
			names = append(names, e.Name())
		}
		require.Equal(w, []string{"a", "c"}, names)
	})
}

func TestMaxDepthAndFilterBoundATree(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "0", "/t/a", "1", "/t/a/b", "2", "/t/a/b/c", "3", "/t/secret", "4", "/t/secret/x", "5")
		c := w.Client()
		shallow := run(w, cache.NewTree(c, "/t", text, &cache.Options{MaxDepth: 1}).View)
		filtered := run(w, cache.NewTree(c, "/t", text, &cache.Options{
			Filter: func(path string) bool { return path != "/t/secret" },
		}).View)
		shallow.synced(w)
		filtered.synced(w)
		for _, more := range []bool{false, true} {
			if more {
				put(w, "/t/a/b/d", "6", "/t/secret", "8", "/t/secret/y", "7", "/t/a/b/d", "9")
				w.Settle()
				filtered.shows(w, "/t", "0", "/t/a", "1", "/t/a/b", "2", "/t/a/b/c", "3", "/t/a/b/d", "9")
				shallow.shows(w, "/t", "0", "/t/a", "1", "/t/secret", "8")
				break
			}
			shallow.shows(w, "/t", "0", "/t/a", "1", "/t/secret", "4")
			filtered.shows(w, "/t", "0", "/t/a", "1", "/t/a/b", "2", "/t/a/b/c", "3")
		}
	})
}

// CH50, CH60: data that cannot be decoded, such as empty data, affects one entry.
func TestAnEntryThatCannotBeDecodedAffectsNoOtherEntry_CH50_CH60(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/good", "1", "/c/worse", "bad")
		require.NoError(w, w.Server.Create("/c/empty", nil))
		children := cache.NewChildren(w.Client(), "/c", text, nil)
		v := run(w, children.View)
		v.synced(w)
		v.shows(w, "/c/good", "1", "/c/worse", "", "/c/empty", "")
		e, ok := children.Get("worse")
		require.True(w, ok)
		require.ErrorIs(w, e.Err, errText)
		require.NotZero(w, e.Stat.Czxid)
		put(w, "/c/worse", "better", "/c/good", "bad")
		w.Settle()
		v.shows(w, "/c/good", "", "/c/worse", "better", "/c/empty", "")
		e, _ = children.Get("worse")
		require.NoError(w, e.Err)
		require.True(w, v.Status().Synced)
	})
}

// private are znodes that only their creator may read.
func private(w *world.World, owner *session.Client, paths ...string) {
	for _, p := range paths {
		_, err := w.Session(owner).Create(w.Ctx, p, []byte("private"), session.Persistent, &session.CreateOptions{ACL: session.CreatorACL()})
		require.NoError(w, err)
	}
}

func TestAnEntryThatMayNotBeReadAffectsNoOtherEntry(t *testing.T) {
	world.Needs(t, world.PublicStats)
	inModes(t, func(w *world.World) {
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("u", "p")}})
		put(w, "/t", "0", "/t/a", "1")
		private(w, owner, "/t/p", "/t/p/q")
		v := run(w, cache.NewTree(w.Client(), "/t", text, nil).View)
		v.synced(w)
		v.shows(w, "/t", "0", "/t/a", "1", "/t/p", "")
		e, _ := v.Lookup("/t/p")
		require.ErrorIs(w, e.Err, session.ErrNoAuth)
		private(w, owner, "/t/p/late")
		put(w, "/t/a", "2")
		w.Settle()
		v.shows(w, "/t", "0", "/t/a", "2", "/t/p", "")

		// It is opened, and written.
		s := w.Session(owner)
		_, err := s.SetACL(w.Ctx, "/t/p", session.WorldACL(31), -1)
		require.NoError(w, err)
		_, err = s.Set(w.Ctx, "/t/p", []byte("public"), -1)
		require.NoError(w, err)
		w.Settle()
		v.shows(w, "/t", "0", "/t/a", "2", "/t/p", "public", "/t/p/q", "", "/t/p/late", "")
	})
}

func TestRunFailsWhenItsOwnPathMayNotBeRead(t *testing.T) {
	inModes(t, func(w *world.World) {
		owner := w.ClientWith(session.Options{Credentials: []session.Credential{session.Digest("u", "p")}})
		private(w, owner, "/p")
		c := w.Client()
		for name, v := range map[string]*cache.View[string]{
			"value": cache.NewValue(c, "/p", text, nil).View, "children": cache.NewChildren(c, "/p", text, nil).View,
			"tree": cache.NewTree(c, "/p", text, nil).View,
		} {
			r := run(w, v)
			require.ErrorIs(w, v.WaitSynced(w.Ctx), session.ErrNoAuth, name)
			require.ErrorIs(w, <-r.ended, session.ErrNoAuth, name)
			require.ErrorIs(w, v.Status().Err, session.ErrNoAuth, name)
			for _, err := range v.Events(w.Ctx) {
				require.ErrorIs(w, err, session.ErrNoAuth, name)
			}
		}
		w.Settle()
		w.RequireNoWatches()
	})
}

func TestAListThatIsTooLongEndsRun(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "")
		for range 100 {
			_, err := w.Server.CreateSequential("/c/a-name-of-some-length-", nil)
			require.NoError(w, err)
		}
		c := w.ClientWith(session.Options{MaxReply: 2000})
		r := run(w, cache.NewChildren(c, "/c", text, nil).View)
		require.ErrorIs(w, <-r.ended, session.ErrReplyTooLarge)
		require.ErrorIs(w, r.WaitSynced(w.Ctx), session.ErrReplyTooLarge)
	})
}

// A view reads and writes nothing.
func TestViewsWriteNothing(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "0", "/t/a", "1")
		before := w.Server.Dump()
		c := w.Client()
		for _, v := range []*cache.View[string]{
			cache.NewTree(c, "/t", text, nil).View, cache.NewChildren(c, "/t", text, nil).View, cache.NewValue(c, "/no/such/path", text, nil).View,
		} {
			r := run(w, v)
			r.synced(w)
			require.NoError(w, r.stop())
		}
		require.Equal(w, before, w.Server.Dump())
	})
}

// The session may have a subscription of another kind to the same path, of which
// servers keep one (ZOOKEEPER-4466).
func TestAnotherSubscriptionOfThePathIsNoObstacle(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	world.In(t, nil, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1")
		c := w.Client()
		sub, err := w.Session(c).Subscribe(w.Ctx, "/c", false, func(session.Event) {})
		require.NoError(w, err)
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		v.synced(w)
		put(w, "/c/a", "2", "/c/b", "3")
		w.Settle()
		v.shows(w, "/c/a", "2", "/c/b", "3")
		sub.Stop() // which fires one-shot watches that relied on it
		w.Settle()
		put(w, "/c/a", "4", "/c/c", "5")
		del(w, "/c/b")
		w.Settle()
		v.shows(w, "/c/a", "4", "/c/c", "5")
		require.NoError(w, v.stop())
		w.Settle()
		w.RequireNoWatches()
	})
}

// Views of overlapping paths in one session do not disturb each other.
func TestViewsShareASession(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/t", "0", "/t/a", "1", "/t/a/b", "2")
		c := w.Client()
		all := []*view{
			run(w, cache.NewTree(c, "/t", text, nil).View), run(w, cache.NewTree(c, "/t", text, nil).View),
			run(w, cache.NewChildren(c, "/t", text, nil).View), run(w, cache.NewTree(c, "/t/a", text, nil).View),
			run(w, cache.NewValue(c, "/t/a", text, nil).View),
		}
		for _, v := range all {
			v.synced(w)
		}
		require.NoError(w, all[0].stop()) // the others keep what they share with it
		put(w, "/t", "3", "/t/a", "4", "/t/a/b", "5", "/t/c", "6")
		w.Settle()
		all[1].shows(w, "/t", "3", "/t/a", "4", "/t/a/b", "5", "/t/c", "6")
		all[2].shows(w, "/t/a", "4", "/t/c", "6")
		all[3].shows(w, "/t/a", "4", "/t/a/b", "5")
		all[4].shows(w, "/t/a", "4")
	})
}

// Eight nodes together are longer than the client accepts, each node alone is not. A
// node that is too long alone ends Run.
func TestDataTooLargeToBeReadTogetherIsReadOneByOne(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		const n = 20
		large := strings.Repeat("x", 10<<10)
		put(w, "/c", "")
		for i := range n {
			put(w, fmt.Sprintf("/c/%02d", i), large)
		}
		v := run(w, cache.NewChildren(w.ClientWith(session.Options{MaxReply: 64 << 10}), "/c", text, nil).View)
		v.synced(w)
		require.Equal(w, n, v.Len())
		put(w, "/c/huge", strings.Repeat("x", 70<<10))
		w.Pass(time.Minute)
		require.ErrorIs(w, <-v.ended, session.ErrReplyTooLarge)
	})
}
