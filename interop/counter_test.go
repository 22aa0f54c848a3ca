//go:build unix

package interop_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
)

// rest is how long a fast one rests after a change, in milliseconds.
const rest = 2

// TestCounterIsShared: all clients add one at the same time, each with its own
// recipe on the same number: no sum comes twice, and none is skipped. The fast
// recipes, ours and SharedCount, rest after each change: they take one request
// per change, while Kazoo's takes two without a foreign change in between, and
// would hardly ever win.
func TestCounterIsShared(t *testing.T) {
	t.Parallel()
	type theirs struct {
		kind, recipe string
		workers      int
		pause        int
	}
	for name, c := range map[string]struct {
		theirs []theirs
		ours   []string
	}{
		"DistributedAtomicLong": {[]theirs{{curator, "long", 2, 0}}, []string{"long", "sequence"}},
		"DistributedAtomicInteger, SharedCount, Counter of Kazoo": {
			[]theirs{{curator, "int", 2, 0}, {curator, "shared", 1, rest}, {kazoo, "int", 2, 0}}, []string{"int", "shared"}},
		"Counter of Kazoo, as text": {[]theirs{{kazoo, "text", 2, 0}}, []string{"text"}},
	} {
		t.Run(name, func(t *testing.T) {
			we, peers := start(t, ours, timeout), map[string]*peer{}
			var crews []crew
			for _, one := range c.theirs {
				if peers[one.kind] == nil {
					peers[one.kind] = start(t, one.kind, timeout)
				}
				crews = append(crews, crew{peers[one.kind], one.workers, ask{"recipe": one.recipe, "pause": one.pause}})
			}
			for _, recipe := range c.ours {
				crews = append(crews, crew{we, 2, ask{"recipe": recipe, "pause": rest}})
			}
			hammer(t, scaled(100), ask{"path": fresh("number")}, crews...).finishSums()
		})
	}
}

// TestCounterGoesOnWhenPeersAreKilled: a change of one that was killed was made
// once or not at all.
func TestCounterGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{curator, kazoo} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			what := ask{"recipe": map[string]string{curator: "long", kazoo: "text"}[kind], "path": fresh("number")}
			rests := ask{"pause": rest}
			victims := []crew{{start(t, kind, brief), 2, nil}, {start(t, ours, brief), 2, rests}}
			h := hammer(t, scaled(50), what, append(victims, crew{start(t, kind, timeout), 2, nil}, crew{start(t, ours, timeout), 2, rests})...)
			for _, v := range victims {
				h.awaitRounds(v.peer, 40)
				h.kill(v.peer)
			}
			h.awaitMoreRounds(50)
			h.finishSums()
		})
	}
}

// TestCounterIsWrittenAlike: every number, and every operation.
func TestCounterIsWrittenAlike(t *testing.T) {
	t.Parallel()
	java, python, c, ctx := start(t, curator, timeout), start(t, kazoo, timeout), connect(t), t.Context()

	t.Run("long", func(t *testing.T) {
		path := fresh("number")
		n := counter.New(c, path, nil)
		at := func(do string, more ask) ask {
			a := ask{"do": do, "path": path}
			for k, v := range more {
				a[k] = v
			}
			return a
		}
		require.Equal(t, int64(0), java.number(t, at("long.get", nil)), "a counter that does not exist")
		for _, v := range []int64{1, -741, 1 << 40, math.MaxInt64, math.MinInt64} {
			require.NoError(t, n.Set(ctx, v))
			require.Equal(t, v, java.number(t, at("long.get", nil)))
			java.do(t, at("long.set", ask{"value": ^v}))
			got, err := n.Get(ctx)
			require.NoError(t, err)
			require.Equal(t, ^v, got)
		}
		require.NoError(t, n.Set(ctx, 5))
		require.Equal(t, int64(12), java.number(t, at("long.add", ask{"value": 7})))
		sum, err := n.Add(ctx, -20)
		require.NoError(t, err)
		require.Equal(t, int64(-8), sum)
		require.True(t, decodeAnswer[bool](t, java.do(t, at("long.cas", ask{"old": -8, "value": 3}))))
		ok, err := n.CompareAndSwap(ctx, -8, 9)
		require.NoError(t, err)
		require.False(t, ok)
		ok, err = n.CompareAndSwap(ctx, 3, 9)
		require.NoError(t, err)
		require.True(t, ok)
		require.False(t, decodeAnswer[bool](t, java.do(t, at("long.cas", ask{"old": 3, "value": 4}))))
		require.Equal(t, int64(9), java.number(t, at("long.get", nil)))
	})

	t.Run("int", func(t *testing.T) {
		path := fresh("number")
		n := counter.New(c, path, &counter.Options{Format: counter.CuratorInt})
		for _, v := range []int64{1, -741, math.MaxInt32, math.MinInt32} {
			require.NoError(t, n.Set(ctx, v))
			require.Equal(t, v, java.number(t, ask{"do": "int.get", "path": path}))
			require.Equal(t, v, python.number(t, ask{"do": "counter.get", "recipe": "int", "path": path}))
		}
		_, err := n.Add(ctx, -1)
		require.ErrorIs(t, err, counter.ErrOverflow)
	})

	t.Run("text", func(t *testing.T) {
		path := fresh("number")
		n := counter.New(c, path, &counter.Options{Format: counter.KazooText})
		require.Equal(t, int64(-3), python.number(t, ask{"do": "counter.add", "recipe": "text", "path": path, "value": -3}))
		sum, err := n.Add(ctx, 1<<40)
		require.NoError(t, err)
		require.Equal(t, sum, python.number(t, ask{"do": "counter.get", "recipe": "text", "path": path}))
		// Python's numbers have no end; ours refuses those that do not fit.
		_, err = python.sendRequest(ask{"do": "counter.add", "recipe": "text", "path": path, "value": int64(math.MaxInt64)}).wait(ctx)
		require.NoError(t, err)
		_, err = n.Add(ctx, 1)
		require.ErrorIs(t, err, counter.ErrCorrupt)
		data, _, err := current(t, c).Get(ctx, path)
		require.NoError(t, err)
		require.Equal(t, "9223373136366403580", string(data), "and leaves them as they are")
	})
}

// TestCounterIsWatched: ours sees Java's changes, and SharedCount sees ours.
func TestCounterIsWatched(t *testing.T) {
	t.Parallel()
	java, c, ctx := start(t, curator, timeout), connect(t), t.Context()
	path := fresh("count")
	require.Equal(t, int64(7), java.number(t, ask{"do": "count.open", "as": "a", "path": path, "value": 7}))

	ours := counter.NewShared(c, path, 3, nil)
	seen, err := ours.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, int32(7), seen.Value, "created by the first client")
	ok, err := ours.TrySet(ctx, seen, 8)
	require.NoError(t, err)
	require.True(t, ok)
	awaitTrue(t, "SharedCount", func() bool { return java.number(t, ask{"do": "count.get", "as": "a"}) == 8 })

	next := int64(8)
	for state, err := range ours.Watch(ctx) {
		require.NoError(t, err)
		require.Equal(t, int32(next), state.Value)
		if next++; next > 12 {
			break
		}
		java.do(t, ask{"do": "count.set", "as": "a", "value": next})
	}
	ok, err = ours.TrySet(ctx, seen, 1)
	require.NoError(t, err)
	require.False(t, ok, "Java has changed it since")

	// After the znode is deleted and created again, its version starts at 0 again: a
	// version that was seen before does not stand for the present value (N5, CH40).
	seen, err = ours.Get(ctx)
	require.NoError(t, err)
	java.do(t, ask{"do": "count.close", "as": "a"})
	java.do(t, ask{"do": "delete", "path": path})
	require.Equal(t, int64(seen.Value), java.number(t, ask{"do": "count.open", "as": "c", "path": path, "value": seen.Value}))
	for range seen.Version {
		java.do(t, ask{"do": "count.set", "as": "c", "value": seen.Value})
	}
	_, stat, err := current(t, c).Get(ctx, path)
	require.NoError(t, err)
	require.Equal(t, seen.Version, stat.Version)
	ok, err = ours.TrySet(ctx, seen, 99)
	require.NoError(t, err)
	require.False(t, ok)
	java.do(t, ask{"do": "count.close", "as": "c"})
}
