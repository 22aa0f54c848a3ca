package recorder

import (
	"bytes"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/recording"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// pass lets virtual time pass.
func pass(d time.Duration) {
	world.Pause(d)
	synctest.Wait()
}

// A clock that is set back runs at half speed until the machine's has caught up, and says so
// once. A clock that is set forward is followed.
func TestClockNeverGoesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offset := time.Duration(0)
		c := newClock(func() time.Time { return time.Now().Add(offset) }, time.Time{})
		begun := c.now()
		since := func() time.Duration { return c.now().Sub(begun) }
		pass(time.Minute)
		require.Equal(t, time.Minute, since())
		offset = -10 * time.Minute
		require.Equal(t, time.Minute, since())
		require.Equal(t, recording.Clock, c.takeSetBack().Kind)
		require.Nil(t, c.takeSetBack())
		for range 10 {
			pass(time.Minute)
			since()
		}
		require.Equal(t, 6*time.Minute, since())
		for range 10 {
			pass(time.Minute)
			since()
		}
		require.Equal(t, 11*time.Minute, since())
		pass(time.Minute)
		require.Equal(t, 12*time.Minute, since())
		require.Nil(t, c.takeSetBack())
		offset = time.Hour
		require.Equal(t, 82*time.Minute, since(), "forward")
		offset = time.Hour - time.Millisecond
		pass(time.Second)
		since()
		require.Nil(t, c.takeSetBack(), "a correction")

		later := newClock(time.Now, time.Now().Add(time.Hour))
		require.Equal(t, time.Now().Add(time.Hour), later.now())
		require.Contains(t, later.takeSetBack().Why, "was 1h0m0s behind the recording")
	})
}

// A moment of the past is converted by how long ago it was.
func TestMomentsAreConverted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		offset := time.Duration(0)
		c := newClock(func() time.Time { return time.Now().Add(offset) }, time.Time{})
		require.Zero(t, c.convert(time.Time{}))
		before := time.Now()
		pass(10 * time.Second)
		require.Equal(t, 10*time.Second, c.now().Sub(c.convert(before)))
		offset = -time.Hour
		require.Equal(t, 10*time.Second, c.now().Sub(c.convert(before)))
		suspended := before.Round(0).Add(-time.Hour) // the machine's clock, without the monotonic one
		require.Equal(t, time.Hour+10*time.Second, c.now().Sub(c.convert(suspended)))
	})
}

// The memory of what waits for the disk is not more than what is counted.
func TestEntriesAreCountedInFull(t *testing.T) {
	heap := func() int {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	const n = 10_000
	in := newInbox(newClock(time.Now, time.Time{}), 1<<30)
	before := heap()
	for i := range n {
		z := &recording.Znode{Path: fmt.Sprintf("/folder/znode-%07d", i), Data: bytes.Repeat([]byte("x"), 30), Size: 30}
		in.put(entry{record: z.SetRecord(time.Time{})})
	}
	took, counted := heap()-before, in.size
	runtime.KeepAlive(in)
	require.LessOrEqual(t, took, counted)
	require.Greater(t, took, counted/4)
}

// Changes after a pause are late until everything before is known; a long pause is a gap.
func TestInboxNoticesPauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in := newInbox(newClock(time.Now, time.Time{}), 1<<20)
		put := func() { require.True(t, in.put(entry{record: &recording.Record{Kind: recording.Gone, Path: "/a"}})) }
		took := func() (late []bool, kinds []recording.Kind, stopped bool) {
			entries, _, stopped := in.take()
			for _, e := range entries {
				late, kinds = append(late, e.late), append(kinds, e.record.Kind)
			}
			return late, kinds, stopped
		}
		put()
		pass(noticed / 2)
		put()
		late, _, stopped := took()
		require.Equal(t, []bool{false, false}, late)
		require.False(t, stopped)
		begun := time.Now()
		pass(noticed)
		put()
		in.catchUp(begun)
		put()
		in.catchUp(time.Now())
		put()
		late, kinds, stopped := took()
		require.Equal(t, []bool{true, true, false}, late)
		require.NotContains(t, kinds, recording.Gap)
		require.True(t, stopped)
		pass(missed)
		put()
		late, kinds, _ = took()
		require.Equal(t, []bool{true, true}, late)
		require.Equal(t, []recording.Kind{recording.Gap, recording.Gone}, kinds)
		require.False(t, in.put(entry{record: &recording.Record{Data: make([]byte, 1<<20)}}))
		require.False(t, in.put(entry{record: &recording.Record{}}))
		entries, full, _ := in.take()
		require.Empty(t, entries)
		require.True(t, full)
	})
}
