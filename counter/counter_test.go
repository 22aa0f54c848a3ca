package counter_test

import (
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

func TestCounterCounts(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		a, b := counter.New(w.Client(), path, nil), counter.New(w.Client(), path, nil)
		v, err := a.Get(w.Ctx)
		require.NoError(w, err)
		require.Zero(w, v)
		require.Empty(w, w.Children("/counters"), "reading makes nothing")
		require.EqualValues(w, 5, w.add(a, 5))
		require.EqualValues(w, 3, w.add(b, -2))
		v, err = a.Increment(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 4, v)
		v, err = b.Decrement(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, 3, v)
		ok, err := a.CompareAndSwap(w.Ctx, 4, 9)
		require.NoError(w, err)
		require.False(w, ok)
		ok, err = b.CompareAndSwap(w.Ctx, 3, -9)
		require.NoError(w, err)
		require.True(w, ok)
		v, err = a.Get(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, -9, v)
		require.NoError(w, a.Set(w.Ctx, math.MinInt64))
		v, err = b.Get(w.Ctx)
		require.NoError(w, err)
		require.EqualValues(w, math.MinInt64, v)
	})
}

func TestOverflowChangesNothing(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		require.NoError(w, c.Set(w.Ctx, math.MaxInt64))
		before := w.node()
		_, err := c.Increment(w.Ctx)
		require.ErrorIs(w, err, counter.ErrOverflow)
		require.Equal(w, before, w.node())
		small := counter.New(client, path+"-small", &counter.Options{Format: counter.CuratorInt})
		require.ErrorIs(w, small.Set(w.Ctx, math.MaxInt32+1), counter.ErrOverflow)
		_, err = small.CompareAndSwap(w.Ctx, 0, math.MinInt32-1)
		require.ErrorIs(w, err, counter.ErrOverflow)
		require.Equal(w, []string{"a"}, w.Children("/counters"), "nothing was sent")
		require.NoError(w, small.Set(w.Ctx, math.MaxInt32))
		_, err = small.Increment(w.Ctx)
		require.ErrorIs(w, err, counter.ErrOverflow)
	})
}

// Overflow, corruption and a failed swap are judged by the stored value, not by the
// cached value.
func TestOutcomesAreOfTheStoredValueNotTheCachedValue(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		require.NoError(w, c.Set(w.Ctx, math.MaxInt64))
		require.NoError(w, w.Server.Set(path, long(1)))
		require.EqualValues(w, 2, w.add(c, 1))
		require.NoError(w, w.Server.Set(path, []byte("broken")))
		_, err := c.Increment(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		require.NoError(w, w.Server.Set(path, long(30)))
		require.EqualValues(w, 31, w.add(c, 1))
		require.NoError(w, w.Server.Set(path, long(40)))
		ok, err := c.CompareAndSwap(w.Ctx, 40, 41)
		require.NoError(w, err)
		require.True(w, ok)
	})
}

func TestCorruptCounterIsNotChangedUnlessItIsSet(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make([]byte("12345"))
		c := counter.New(w.Client(), path, nil)
		before := w.node()
		_, err := c.Get(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		require.EqualError(w, err, "counter: get /counters/a: no number of this format: 5 bytes of data instead of 8")
		_, err = c.Add(w.Ctx, 1)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		_, err = c.CompareAndSwap(w.Ctx, 0, 1)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		_, err = counter.NewSequence(w.Client(), path, nil).Next(w.Ctx)
		require.ErrorIs(w, err, counter.ErrCorrupt)
		require.Equal(w, before.Mzxid, w.node().Mzxid)
		require.NoError(w, c.Set(w.Ctx, 2))
		require.EqualValues(w, 3, w.add(c, 1))
	})
}

func TestEmptyNodeIsZeroInEveryFormat(t *testing.T) {
	for format, want := range map[counter.Format]string{
		counter.CuratorLong: "\x00\x00\x00\x00\x00\x00\x00\x03", counter.CuratorInt: "\x00\x00\x00\x03", counter.KazooText: "3",
	} {
		inWorld(t, nil, func(w *World) {
			w.make(nil)
			c := counter.New(w.Client(), path, &counter.Options{Format: format})
			v, err := c.Get(w.Ctx)
			require.NoError(w, err)
			require.Zero(w, v)
			require.EqualValues(w, 3, w.add(c, 3))
			require.Equal(w, want, string(w.node().Data))
		})
	}
}

func TestWatchShowsPresentAndNewerStates(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c, other := counter.New(w.Client(), path, nil), counter.New(w.Client(), path, nil)
		var values []int64
		var exist []bool
		last := int64(0)
		steps := []func(){
			func() { w.add(other, 5) },
			func() { w.add(other, 1); w.add(other, 1) },
			w.wipe,
			func() { require.NoError(w, other.Set(w.Ctx, 9)) },
		}
		for st, err := range c.Watch(w.Ctx) {
			require.NoError(w, err)
			w.Settle()
			values, exist = append(values, st.Value), append(exist, st.Exists)
			if st.Exists {
				require.Greater(w, st.Zxid, last)
				last = st.Zxid
			}
			if len(steps) == 0 {
				break
			}
			steps[0]()
			steps = steps[1:]
		}
		// The node is made, empty, before the first change.
		require.Equal(w, []int64{0, 5, 7, 0, 9}, values)
		require.Equal(w, []bool{false, true, true, false, true}, exist)
	})
}

func TestWatchEndsWithItsContextTheClientAndDataThatIsNoNumber(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		var last error
		for _, err := range c.Watch(w.Within(time.Minute)) {
			last = err
		}
		require.ErrorIs(w, last, context.DeadlineExceeded)
		require.ErrorContains(w, last, "counter: watch "+path)
		w.make([]byte("no number"))
		for _, err := range c.Watch(w.Ctx) {
			last = err
		}
		require.ErrorIs(w, last, counter.ErrCorrupt)
		require.NoError(w, c.Set(w.Ctx, 1))
		for _, err := range c.Watch(w.Ctx) {
			if last = err; err == nil {
				require.NoError(w, client.Close(w.Ctx))
			}
		}
		require.ErrorIs(w, last, session.ErrClosed)
		w.Settle()
		w.RequireNoWatches()
	})
}

// The counter and the marker have the requested ACLs.
func TestZnodesHaveTheirACL(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		acl := session.WorldACL(31 &^ 16) // all but admin
		given := slices.Clone(acl)
		c := counter.New(client, path, &counter.Options{ACL: given})
		given[0].Perms = 1 // the caller's own, to change
		w.add(c, 1)
		s := w.Session(client)
		for _, at := range []string{path, path + "/" + w.Children(path)[0]} {
			got, _, err := s.ACL(w.Ctx, at)
			require.NoError(w, err)
			require.Equal(w, acl, got)
		}
		above, _, err := s.ACL(w.Ctx, parentOf(path))
		require.NoError(w, err)
		require.Equal(w, session.WorldACL(31), above)
	})
}

// A missing chroot is created.
func TestCounterBelowAChroot(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.ClientAt(w.Server.Addr()+"/app/x", session.Options{}), "/n", nil)
		require.EqualValues(w, 1, w.add(c, 1))
		require.Equal(w, []string{"n"}, w.Children("/app/x"))
	})
}

// A server or proxy that cuts the connection at every request of a kind is not
// asked at the speed of the network.
func TestRequestsThatCostTheConnectionAreNotRepeatedWithoutPause(t *testing.T) {
	for name, tc := range map[string]struct {
		cut func(zktest.Request) bool
		do  func(ctx context.Context, c *counter.Counter) error
	}{
		"write": {writes, func(ctx context.Context, c *counter.Counter) error { _, err := c.Add(ctx, 1); return err }},
		"read": {
			func(r zktest.Request) bool { return r.OnlyChecks },
			func(ctx context.Context, c *counter.Counter) error { _, err := c.Get(ctx); return err },
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c := counter.New(w.Client(), path, nil)
				w.add(c, 1)
				cuts := 0
				heal := w.Server.OnRequest(func(r zktest.Request) zktest.Action {
					if !tc.cut(r) || cuts == 1000 {
						return zktest.Action{}
					}
					cuts++
					return zktest.Action{Do: zktest.CutBefore}
				})
				require.ErrorIs(w, tc.do(w.Within(time.Minute), c), context.DeadlineExceeded)
				require.Less(w, cuts, 100)
				require.Greater(w, cuts, 10)
				heal()
				require.NoError(w, tc.do(w.Within(time.Minute), c))
			})
		})
	}
}
