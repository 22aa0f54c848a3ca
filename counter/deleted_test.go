package counter_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A counter deleted and created again repeats its versions. A write that
// depends only on the version would change the new counter.

// again makes the counter again, with value, as often changed as version says.
func (w *World) again(value int64, version int32) {
	w.Helper()
	w.wipe()
	w.make(long(0))
	for w.node().Version < version {
		require.NoError(w, w.Server.Set(path, long(value)))
	}
	if version == 0 {
		w.wipe()
		w.make(long(value))
	}
}

// N5, N3: the first write has read version 0; between its read and its write the
// counter is deleted and created again, at the same version. The change applies to the new
// counter.
func TestVersionOfBeforeADeletionNeverMatches_N5(t *testing.T) {
	const before, after = 10, 500
	for name, change := range map[string]struct {
		change func(w *World, c *counter.Counter) error
		want   int64
	}{
		"Add": {func(w *World, c *counter.Counter) error {
			v, err := c.Add(w.Ctx, 1)
			require.EqualValues(w, after+1, v)
			return err
		}, after + 1},
		"CompareAndSwap": {func(w *World, c *counter.Counter) error {
			ok, err := c.CompareAndSwap(w.Ctx, before, 11)
			require.False(w, ok)
			return err
		}, after},
		"Set": {func(w *World, c *counter.Counter) error { return c.Set(w.Ctx, 9) }, 9},
	} {
		for _, known := range []int32{0, 1, 3} {
			t.Run(name, func(t *testing.T) {
				inWorld(t, nil, func(w *World) {
					w.make(long(before))
					c := counter.New(w.Client(), path, nil)
					for range known { // the counter knows the version from its own writes
						w.add(c, 0)
					}
					w.Once(writes, func() { w.again(after, known) })
					require.NoError(w, change.change(w, c))
					require.Equal(w, change.want, w.value())
				})
			})
		}
	}
}

// The trap is real: a plain conditional write falls into it.
func TestPlainConditionalWriteLandsInAnotherNode_N5(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.make(long(10))
		s := w.Session(w.Client())
		_, stat, err := s.Get(w.Ctx, path)
		require.NoError(w, err)
		w.again(500, stat.Version)
		_, err = s.Set(w.Ctx, path, long(11), stat.Version)
		require.NoError(w, err)
		require.EqualValues(w, 11, w.value(), "500+1 became 11")
	})
}

// N5 for a Shared, whose users keep a seen state for long.
func TestTrySetOfWhatWasBeforeADeletionFails_N5_CH39(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.NewShared(w.Client(), path, 1, nil)
		seen, err := c.Get(w.Ctx)
		require.NoError(w, err)
		w.wipe()
		again, err := c.Get(w.Ctx)
		require.NoError(w, err)
		require.Equal(w, seen.Version, again.Version)
		require.Equal(w, seen.Value, again.Value)
		ok, err := c.TrySet(w.Ctx, seen, 2)
		require.NoError(w, err)
		require.False(w, ok)
		ok, err = c.TrySet(w.Ctx, again, 2)
		require.NoError(w, err)
		require.True(w, ok)
	})
}

func TestDeletedCounterReadsZeroAndIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 5)
		w.wipe()
		v, err := c.Get(w.Ctx)
		require.NoError(w, err)
		require.Zero(w, v)
		require.EqualValues(w, 7, w.add(c, 7))
	})
}

// A marker deleted by hand is created again; nothing else happens.
func TestDeletedMarkerIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 1)
		for _, name := range w.Children(path) {
			require.NoError(w, w.Server.Delete(path+"/"+name))
		}
		require.EqualValues(w, 2, w.add(c, 1))
		require.Len(w, w.Children(path), 1)
	})
}

// Without the marker, a lost reply is settled by the version. If other clients
// have written since, the outcome is reported as unknown.
func TestLostReplyWithoutAMarker(t *testing.T) {
	world.Needs(t, world.Resumes)
	for name, tc := range map[string]struct {
		fault   zktest.Fault
		others  bool
		unknown bool
		want    int64
	}{
		"not carried out":                   {zktest.CutBefore, false, false, 2},
		"not carried out, and others write": {zktest.CutBefore, true, true, 2},
		"carried out":                       {zktest.DropReplyCut, false, true, 2},
		"carried out, and others write":     {zktest.DropReplyCut, true, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				c, other := counter.New(w.Client(), path, nil), counter.New(w.Client(), path, nil)
				w.add(c, 1)
				w.Server.FailNth(writes, 1, zktest.Action{Do: tc.fault})
				w.Once(func(r zktest.Request) bool { return r.Op == "multi" && r.OnlyChecks }, func() {
					for _, name := range w.Children(path) {
						require.NoError(w, w.Server.Delete(path+"/"+name))
					}
					if tc.others {
						n := w.node()
						require.NoError(w, w.Server.Set(path, long(w.value()+1)))
						require.Greater(w, w.node().Version, n.Version)
					}
				})
				_, err := c.Add(w.Ctx, 1)
				require.Equal(w, tc.unknown, errors.Is(err, session.ErrUnknownOutcome), "%v", err)
				if !tc.unknown {
					require.NoError(w, err)
				}
				require.Equal(w, tc.want, w.value())
				require.Equal(w, tc.want+1, w.add(other, 1))
				require.Equal(w, tc.want+2, w.add(c, 1))
			})
		})
	}
}
