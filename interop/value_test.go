//go:build unix

package interop_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/value"
)

// TestValueIsShared: all clients add one to a number in the bytes at the same time, each with
// its own recipe on the same path: no sum comes twice, and none is skipped.
func TestValueIsShared(t *testing.T) {
	t.Parallel()
	java := start(t, curator, timeout)
	hammer(t, scaled(100), ask{"path": fresh("value")},
		crew{java, 1, ask{"recipe": "sharedvalue", "pause": rest}}, crew{java, 2, ask{"recipe": "atomicvalue"}},
		crew{start(t, ours, timeout), 2, ask{"recipe": "value", "pause": rest}},
	).finishSums()
}

// TestValueGoesOnWhenPeersAreKilled: a change of one that was killed was made once or not at
// all.
func TestValueGoesOnWhenPeersAreKilled(t *testing.T) {
	t.Parallel()
	rests := ask{"recipe": "value", "pause": rest}
	victims := []crew{{start(t, curator, brief), 2, ask{"recipe": "atomicvalue"}}, {start(t, ours, brief), 2, rests}}
	h := hammer(t, scaled(50), ask{"path": fresh("value")},
		append(victims, crew{start(t, curator, timeout), 1, ask{"recipe": "sharedvalue", "pause": rest}}, crew{start(t, ours, timeout), 2, rests})...)
	for _, v := range victims {
		h.awaitRounds(v.peer, 40)
		h.kill(v.peer)
	}
	h.awaitMoreRounds(50)
	h.finishSums()
}

// bytesOf is do for an answer of bytes; nil for null.
func (p *peer) bytesOf(t *testing.T, a ask) []byte {
	t.Helper()
	return decodeAnswer[[]byte](t, p.do(t, a))
}

// TestValueIsWrittenAlike: all bytes, and every operation of DistributedAtomicValue.
func TestValueIsWrittenAlike(t *testing.T) {
	t.Parallel()
	java, c, ctx := start(t, curator, timeout), connect(t), t.Context()
	path := fresh("value")
	v := value.New(c, path, nil)
	at := func(do string, more ask) ask {
		a := ask{"do": do, "path": path}
		for k, data := range more {
			a[k] = data
		}
		return a
	}
	cas := func(from, to string) bool {
		t.Helper()
		return decodeAnswer[bool](t, java.do(t, at("atomic.cas", ask{"old": []byte(from), "value": []byte(to)})))
	}
	require.False(t, cas("", "x"), "Java never sets a missing value on a condition")
	seen, err := v.Get(ctx)
	require.NoError(t, err)
	require.False(t, seen.Exists)
	require.True(t, decodeAnswer[bool](t, java.do(t, at("atomic.initialize", ask{"value": []byte("first")}))))
	ok, err := v.TrySet(ctx, seen, []byte("late"))
	require.NoError(t, err)
	require.False(t, ok)
	for _, data := range [][]byte{[]byte("text"), {0}, {0xff, 0, 0x80}, {}, []byte("\u00e4")} {
		require.NoError(t, v.Set(ctx, data))
		require.Equal(t, string(data), string(java.bytesOf(t, at("atomic.get", nil))))
		back := append([]byte("java "), data...)
		java.do(t, at("atomic.set", ask{"value": back}))
		now, err := v.Get(ctx)
		require.NoError(t, err)
		require.Equal(t, string(back), string(now.Data))
	}
	require.NoError(t, v.Set(ctx, []byte("a")))
	require.True(t, cas("a", "b"))
	require.False(t, cas("a", "c"))
	ok, err = v.CompareAndSwap(ctx, []byte("a"), []byte("d"))
	require.NoError(t, err)
	require.False(t, ok)
	ok, err = v.CompareAndSwap(ctx, []byte("b"), []byte("d"))
	require.NoError(t, err)
	require.True(t, ok)
	got, err := v.Update(ctx, func(data []byte) ([]byte, error) { return append(data, '!'), nil })
	require.NoError(t, err)
	require.Equal(t, "d!", string(got))
	require.Equal(t, "d!", string(java.bytesOf(t, at("atomic.get", nil))))
}

// TestValueIsWatched: ours sees Java's changes, and SharedValue sees ours.
func TestValueIsWatched(t *testing.T) {
	t.Parallel()
	java, c, ctx := start(t, curator, timeout), connect(t), t.Context()
	path := fresh("value")
	require.Equal(t, "java", string(java.bytesOf(t, ask{"do": "value.open", "as": "a", "path": path, "value": []byte("java")})))
	v := value.New(c, path, &value.Options{Seed: []byte("go")})
	seen, err := v.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, "java", string(seen.Data), "created by the first client")

	java.do(t, ask{"do": "value.see", "as": "a"})
	ok, err := v.TrySet(ctx, seen, []byte("one"))
	require.NoError(t, err)
	require.True(t, ok)
	require.False(t, decodeAnswer[bool](t, java.do(t, ask{"do": "value.try", "as": "a", "value": []byte("stale")})))
	awaitTrue(t, "SharedValue", func() bool { return string(java.bytesOf(t, ask{"do": "value.get", "as": "a"})) == "one" })
	java.do(t, ask{"do": "value.see", "as": "a"})
	require.True(t, decodeAnswer[bool](t, java.do(t, ask{"do": "value.try", "as": "a", "value": []byte("two")})))
	ok, err = v.TrySet(ctx, seen, []byte("stale"))
	require.NoError(t, err)
	require.False(t, ok, "Java has changed it since")

	next := "two"
	for now, err := range v.Watch(ctx) {
		require.NoError(t, err)
		require.Equal(t, next, string(now.Data))
		if next += "!"; len(next) > 8 {
			break
		}
		java.do(t, ask{"do": "value.set", "as": "a", "value": []byte(next)})
	}
	java.do(t, ask{"do": "value.close", "as": "a"})

	// The first client's seed counts, also if that is ours.
	own := value.New(c, fresh("value"), &value.Options{Seed: []byte("go")})
	_, err = own.Get(ctx)
	require.NoError(t, err)
	require.Equal(t, "go", string(java.bytesOf(t, ask{"do": "value.open", "as": "b", "path": own.Path(), "value": []byte("java")})))
	java.do(t, ask{"do": "value.close", "as": "b"})
}
