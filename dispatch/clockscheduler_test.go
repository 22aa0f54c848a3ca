package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func TestServerClockGoesOnFromTheLastWrite(t *testing.T) {
	var c serverClock
	require.WithinDuration(t, time.Now(), c.now(), time.Second, "without any answer yet")
	behind := time.Now().Add(-time.Hour)
	c.setTo(session.Stat{Mtime: behind.UnixMilli()})
	require.WithinDuration(t, behind, c.now(), time.Second)
	c.local = c.local.Add(-time.Minute)
	require.WithinDuration(t, behind.Add(time.Minute), c.now(), time.Second)
}

// A worker's clock is the servers' clock, as far as known: an answered write
// sets the clock, and an older write only moves it forward.
func TestDeadlinesGoByTheServersClock(t *testing.T) {
	at := func(d time.Duration) session.Stat { return session.Stat{Mtime: time.Now().Add(d).UnixMilli()} }
	ws := &workerSession{}
	h := &heldTask{ws: ws}
	in := func(want time.Duration) {
		t.Helper()
		h.Task.Deadline = time.Now()
		require.InDelta(t, want.Seconds(), h.untilDeadline().Seconds(), 5)
		require.Equal(t, want < 0, h.Task.isLate(ws.clock.now()))
	}
	ws.clock.noteRead(at(-time.Hour))
	in(time.Hour)
	ws.clock.noteRead(at(-2 * time.Hour)) // seen late, after an outage
	in(time.Hour)
	ws.clock.noteRead(at(time.Hour))
	in(-time.Hour)
	ws.clock.noteRead(at(time.Minute))
	in(-time.Hour)
	ws.clock.noteWrite(nil, at(time.Minute)) // another server leads, whose clock is another
	in(-time.Minute)
}
