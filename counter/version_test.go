package counter_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// CH40, N3, N4: a znode's version is a signed 32-bit number that wraps, and -1
// means any.

func TestVersionsWrapAndNothingIsLost_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.New(w.Client(), path, nil), counter.New(w.Client(), path, nil)
		want := w.add(a, 1)
		require.EqualValues(w, 2, w.add(b, 1))
		want++
		require.NoError(w, w.Server.SetVersion(path, math.MaxInt32-2))
		for range 5 {
			want += 11
			w.add(a, 10)
			require.Equal(w, want, w.add(b, 1))
		}
		require.Less(w, w.node().Version, int32(math.MinInt32+20))
		ok, err := a.CompareAndSwap(w.Ctx, want, 1)
		require.NoError(w, err)
		require.True(w, ok)
		require.EqualValues(w, 1, w.value())
	})
}

// The version -1 is stepped over within one transaction, so our writes never
// depend on it.
func TestWritesStepOverTheVersionThatMeansAny_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.New(w.Client(), path, nil), counter.New(w.Client(), path, nil)
		w.add(a, 1)
		w.add(b, 1)
		require.NoError(w, w.Server.SetVersion(path, -5))
		w.Server.OnApply(func(x zktest.Txn) {
			if n, err := w.Server.Get(path); err == nil && n.Version == -1 {
				w.Errorf("version -1 after %v", x)
			}
		})
		for i := range int64(5) {
			require.Equal(w, 3+2*i, w.add(a, 1))
			require.Equal(w, 4+2*i, w.add(b, 1))
		}
		require.EqualValues(w, 6, w.node().Version)
		require.NoError(w, w.Server.SetVersion(path, -5))
		w.add(a, 1)
		for range 5 {
			require.NoError(w, a.Set(w.Ctx, 3))
		}
		require.EqualValues(w, 2, w.node().Version)
	})
}

// The same under lost replies.
func TestStepOverTheVersionThatMeansAnyUnderLostReplies_CH40(t *testing.T) {
	world.Needs(t, world.Resumes)
	for _, fault := range []zktest.Fault{zktest.CutBefore, zktest.DropReplyCut, zktest.ExpireBefore} {
		inWorld(t, nil, func(w *World) {
			c := counter.New(w.Client(), path, nil)
			w.add(c, 1)
			require.NoError(w, w.Server.SetVersion(path, -2))
			w.add(counter.New(w.Client(), path+"-other", nil), 1) // another client is active
			w.Server.FailNth(func(r zktest.Request) bool { return writes(r) && r.Path == path }, 2, zktest.Action{Do: fault})
			require.EqualValues(w, 2, w.add(c, 1))
			require.EqualValues(w, 0, w.node().Version)
		})
	}
}

// Another library has reached version -1. A change with this condition would
// overwrite any state: the change is refused, and a Set helps.
func TestChangeThatCannotBeMadeToDependOnTheVersionIsRefused_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 4)
		for range 2 { // known from before, and read
			require.NoError(w, w.Server.SetVersion(path, -1))
			before := w.node()
			_, err := c.Increment(w.Ctx)
			require.ErrorIs(w, err, counter.ErrVersion)
			require.ErrorContains(w, err, path)
			_, err = c.CompareAndSwap(w.Ctx, 4, 5)
			require.ErrorIs(w, err, counter.ErrVersion)
			ok, err := c.CompareAndSwap(w.Ctx, 5, 6)
			require.NoError(w, err, "a swap from 5 fails in any case")
			require.False(w, ok)
			now := w.node()
			require.Equal(w, before.Mzxid, now.Mzxid, "nothing was written")
			v, err := c.Get(w.Ctx)
			require.NoError(w, err)
			require.EqualValues(w, 4, v)
		}
		require.NoError(w, c.Set(w.Ctx, 9))
		require.EqualValues(w, 10, w.add(c, 1))
		require.EqualValues(w, 1, w.node().Version)
	})
}

// A batch that begins with a refused change and has a Set makes the Set.
func TestSetBehindARefusedChangeIsMade_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 4)
		require.NoError(w, w.Server.SetVersion(path, -1))
		w.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
		busy := w.startAdd(w.Ctx, c, 1)
		add, set := w.startAdd(w.Ctx, c, 1), make(chan error, 1)
		// Waited for below; ends with the Set.
		go func() { set <- c.Set(w.Ctx, 20) }()
		require.ErrorIs(w, (<-busy).err, counter.ErrVersion)
		require.ErrorIs(w, (<-add).err, counter.ErrVersion)
		require.NoError(w, <-set)
		require.EqualValues(w, 20, w.value())
	})
}

// Newer values with a negative or lower version are seen.
func TestSharedFollowsValuesWhoseVersionWraps_CH40(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.NewShared(w.Client(), path, 1, nil), counter.NewShared(w.Client(), path, 1, nil)
		versions := []int32{math.MaxInt32, math.MinInt32 + 5, -2, 0}
		n := 0
		for v, err := range b.Watch(w.Ctx) {
			require.NoError(w, err)
			require.EqualValues(w, n+1, v.Value)
			seen, err := a.Get(w.Ctx)
			require.NoError(w, err)
			require.Equal(w, v, seen)
			if n == len(versions) {
				break
			}
			require.NoError(w, w.Server.SetVersion(path, versions[n]))
			n++
			seen, err = a.Get(w.Ctx)
			require.NoError(w, err)
			ok, err := a.TrySet(w.Ctx, seen, int32(n+1))
			require.NoError(w, err)
			require.True(w, ok)
			ok, err = a.TrySet(w.Ctx, seen, 99)
			require.NoError(w, err)
			require.False(w, ok)
		}
	})
}
