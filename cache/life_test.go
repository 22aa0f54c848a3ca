package cache_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// Wrong arguments are named by the first call, and nothing is sent.
func TestWrongArgumentsAreNamed(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		c := w.Client()
		w.ResetStats()
		for field, v := range map[string]*cache.View[string]{
			"client":        cache.NewValue(nil, "/a", text, nil).View,
			"decode":        cache.NewTree[string](c, "/a", nil, nil).View,
			"relative":      cache.NewTree(c, "relative", text, nil).View,
			"MaxDepth is -": cache.NewTree(c, "/a", text, &cache.Options{MaxDepth: -1}).View,
			"MaxDepth is 2": cache.NewChildren(c, "/a", text, &cache.Options{MaxDepth: 2}).View,
			"Buffer":        cache.NewChildren(c, "/a", text, &cache.Options{Buffer: -1}).View,
		} {
			for _, err := range []error{v.Run(w.Ctx), v.WaitSynced(w.Ctx), v.Status().Err} {
				require.ErrorIs(w, err, cache.ErrInvalidArgument)
				require.ErrorContains(w, err, field)
			}
			for _, err := range v.Events(w.Ctx) {
				require.ErrorIs(w, err, cache.ErrInvalidArgument)
			}
			_, ok := v.Lookup("/a")
			require.False(w, ok)
			require.Zero(w, v.Snapshot().Len())
		}
		require.Empty(w, requests(w))
	})
}

func TestAnEndedContextIsLookedAtFirst(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		v := cache.NewTree(w.Client(), "/a", text, nil)
		w.ResetStats()
		ctx, cancel := context.WithCancelCause(w.Ctx)
		cancel(errText)
		require.ErrorIs(w, v.Run(ctx), errText)
		require.ErrorIs(w, v.Run(ctx), context.Canceled)
		require.ErrorIs(w, v.WaitSynced(ctx), errText)
		for _, err := range v.Events(ctx) {
			require.ErrorIs(w, err, errText)
		}
		require.Empty(w, requests(w))
		require.Equal(w, "/a", v.Path())
	})
}

func TestWaitSyncedWaitsForRun(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		v := cache.NewTree(w.Client(), "/a", text, nil)
		require.ErrorIs(w, v.WaitSynced(w.Within(time.Second)), context.DeadlineExceeded)
		waited := make(chan error, 1)
		// Waited for below; ends when the view is synced.
		go func() { waited <- v.WaitSynced(w.Ctx) }()
		w.Settle()
		run(w, v.View)
		require.NoError(w, <-waited)
	})
}

func TestASecondRunIsRefused(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		v := run(w, cache.NewTree(w.Client(), "/a", text, nil).View)
		v.synced(w)
		require.ErrorIs(w, v.Run(w.Ctx), cache.ErrRunning)
		v.synced(w)
		require.NoError(w, v.stop())
		r := run(w, v.View)
		r.synced(w)
	})
}

// TestAPanicOfTheDecoderIsTheCallers: and nothing is lost by it.
func TestAPanicOfTheDecoderIsTheCallers(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1", "/c/b", "boom", "/c/c", "3", "/c/old", "4")
		armed := true
		decode := func(n session.Node) (string, error) {
			if armed && string(n.Data) == "boom" {
				panic("boom")
			}
			return string(n.Data), nil
		}
		v := cache.NewChildren(w.Client(), "/c", decode, nil)
		for range 3 {
			require.PanicsWithValue(w, "boom", func() { _ = v.Run(w.Ctx) })
			require.False(w, v.Status().Running)
		}
		w.Settle()
		w.RequireNoWatches("it has let go")
		del(w, "/c/old")
		armed = false
		r := run(w, v.View)
		r.synced(w)
		r.shows(w, "/c/a", "1", "/c/b", "boom", "/c/c", "3")
	})
}

// CH44, CH60: children that go, come and change while they are being loaded, and
// a list that is empty.
func TestChangesDuringTheLoadAreSeen_CH44_CH60(t *testing.T) {
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1", "/c/b", "2", "/c/c", "3")
		c := w.Client()
		w.Once(func(r zktest.Request) bool { return r.Op != "exists" && r.Path == "/c/a" }, func() {
			del(w, "/c/a", "/c/c")
			put(w, "/c/b", "4", "/c/d", "5")
		})
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		v.synced(w)
		v.shows(w, "/c/b", "4", "/c/d", "5")
		del(w, "/c/b", "/c/d")
		empty := run(w, cache.NewChildren(c, "/c", text, nil).View)
		empty.synced(w)
		empty.shows(w)
		require.True(w, empty.Status().Exists)
	})
}

// TestAMissingPathCostsNothingWhileItIsMissing_CH45: no polling, one watch, also
// when its parents are missing, and when they come and go.
func TestAMissingPathCostsNothingWhileItIsMissing_CH45(t *testing.T) {
	inModes(t, func(w *world.World) {
		c := w.Client()
		children := run(w, cache.NewChildren(c, "/no/such/path", text, nil).View)
		tree := run(w, cache.NewTree(c, "/no/such", text, nil).View)
		value := run(w, cache.NewValue(c, "/no/such/path/at/all", text, nil).View)
		all := []*view{children, tree, value}
		for round := range 20 {
			for _, v := range all {
				v.synced(w)
				v.shows(w)
			}
			w.Settle() // an old server cuts the connection that asked for a persistent watch
			require.Len(w, w.Server.Watches(), 3)
			w.ResetStats()
			w.Pass(time.Hour / 8)
			require.Empty(w, requests(w))
			put(w, "/no", "", "/no/such", "1", "/no/such/path", "2", "/no/such/path/at", "3", "/no/such/path/at/all", fmt.Sprint(round))
			w.Settle()
			children.shows(w, "/no/such/path/at", "3")
			value.shows(w, "/no/such/path/at/all", fmt.Sprint(round))
			require.Equal(w, 4, tree.Len())
			del(w, "/no/such/path/at/all", "/no/such/path/at", "/no/such/path", "/no/such", "/no")
			w.Settle()
		}
	})
}

// TestWatchesAreFlat_CH48_CL16_P24: 10,000 views that come and go, 10,000 nodes
// that do, leave no watch, on the server or in the client.
func TestWatchesAreFlat_CH48_CL16_P24(t *testing.T) {
	rounds := 10000
	if testing.Short() {
		rounds = 1000
	}
	inModes(t, func(w *world.World) {
		put(w, "/c", "", "/c/a", "1", "/c/a/b", "2")
		c := w.Client()
		for i := range rounds / 20 {
			v := run(w, cache.NewTree(c, "/c", text, nil).View)
			if i%3 > 0 {
				v.synced(w) // the others are stopped wherever they are
			}
			_ = v.stop()
		}
		w.Settle()
		w.RequireNoWatches()
		v := run(w, cache.NewChildren(c, "/c", text, nil).View)
		v.synced(w)
		watches := w.Server.Stats().Watches
		for i := range rounds / 10 {
			for j := range 10 {
				put(w, fmt.Sprintf("/c/%d", i*10+j), "x")
			}
			if i%2 > 0 {
				w.Settle()
			}
			for j := range 10 {
				del(w, fmt.Sprintf("/c/%d", i*10+j))
			}
		}
		w.Settle()
		v.shows(w, "/c/a", "1")
		require.Equal(w, watches, w.Server.Stats().Watches)
		_ = v.stop()
		w.Settle()
		w.RequireNoWatches()
	})
}
