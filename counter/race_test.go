package counter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// reads accepts reads of data.
func reads(r zktest.Request) bool { return r.Op == "getData" }

// Another client may delete the counter between a lost race and the read after it.
func TestCounterDeletedAfterALostRaceIsMadeAgain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 5)
		require.NoError(w, w.Server.Set(path, long(7)))
		w.Once(reads, w.wipe)
		require.EqualValues(w, 1, w.add(c, 1))
		require.EqualValues(w, 1, w.value())
	})
}

// Another client creates the counter between the read and the write of a change: the
// change is applied to the value of the other client (CH64).
func TestChangeOfACounterMadeMeanwhileAppliesToIt_CH64(t *testing.T) {
	for name, c := range map[string]struct {
		change func(w *World, c *counter.Counter) error
		want   int64
	}{
		"add": {func(w *World, c *counter.Counter) error { _, err := c.Add(w.Ctx, 1); return err }, 41},
		"set": {func(w *World, c *counter.Counter) error { return c.Set(w.Ctx, 7) }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				creates := func(r zktest.Request) bool { return strings.HasPrefix(r.Op, "create") && r.Path == path }
				made := false
				w.Once(creates, func() { w.make(long(40)); made = true })
				require.NoError(w, c.change(w, counter.New(w.Client(), path, nil)))
				require.True(w, made)
				require.EqualValues(w, c.want, w.value())
			})
		})
	}
}

// After a lost race the counter may not be read any more.
func TestRefusedReadAfterALostRaceEndsTheChange(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client, other := w.Client(), w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 5)
		require.NoError(w, w.Server.Set(path, long(7)))
		writeOnly := []session.ACL{{Perms: session.PermAll &^ session.PermRead, Scheme: "world", ID: "anyone"}}
		_, err := w.Session(other).SetACL(w.Ctx, path, writeOnly, -1)
		require.NoError(w, err)
		w.ResetStats()
		_, err = c.Add(w.Within(time.Minute), 1)
		require.ErrorIs(w, err, session.ErrNoAuth)
		require.False(w, errors.Is(err, session.ErrUnknownOutcome))
		require.EqualValues(w, 7, w.value())
		require.Equal(w, 2, w.Requests(client), "the write, and one read")
	})
}

// Writers that lose several races wait before the next try; otherwise all of
// them would block each other.
func TestWriterThatLosesRacesPauses(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		c := counter.New(w.Client(), path, nil)
		w.add(c, 1)
		lose := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if writes(r) && lose > 0 {
				lose--
				_ = w.Server.Set(path, long(100))
			}
			return zktest.Action{}
		})
		spent := func(races int) time.Duration {
			lose = races
			began := time.Now()
			require.EqualValues(w, 101, w.add(c, 1))
			return time.Since(began)
		}
		require.Zero(w, spent(1), "the first is tried again at once")
		require.Positive(w, spent(4))
	})
}

// While others write, a read travels with the write: another write right behind
// does not cost the next change the race.
func TestWriteBehindAContendedOneIsSeen(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		require.NoError(w, w.Server.Set(path, long(5)))
		n := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if reads(r) {
				if n++; n == 2 { // the first is for the lost race
					_ = w.Server.Set(path, long(50))
				}
			}
			return zktest.Action{}
		})
		require.EqualValues(w, 6, w.add(c, 1))
		w.cost(client, 1, map[string]int{"multi": 1}, func() { require.EqualValues(w, 51, w.add(c, 1)) })
	})
}

// The outcome of a write whose reply was lost does not tell the counter's present
// state: the next change reads the state first, instead of learning it from a
// refusal.
func TestChangeAfterALostReplyReadsFirst(t *testing.T) {
	world.Needs(t, world.Resumes)
	inWorld(t, nil, func(w *World) {
		client := w.Client()
		c := counter.New(client, path, nil)
		w.add(c, 1)
		w.Server.FailNth(writes, 1, zktest.Action{Do: zktest.DropReplyCut})
		require.EqualValues(w, 2, w.add(c, 1))
		w.cost(client, 2, map[string]int{"multi": 2, "getData": 1}, func() { require.EqualValues(w, 3, w.add(c, 1)) })
	})
}
