package dispatch

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// Slots are due by the servers' clock as the master knows it, whatever its own clock says.
func TestSlotsAreDueByTheServersClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, wrong := range []time.Duration{-time.Hour, time.Hour} {
			m := &mastership{open: true, store: store{layout: "/q"}}
			server := time.Now().Add(wrong)
			m.clock.setTo(session.Stat{Mtime: server.UnixMilli()})
			def := definition{Format: format, Name: "x", Every: 60_000, MaxAttempts: 1, Start: server.Add(10 * time.Second)}
			p := &periodic{path: "/q/schedules/x"}
			p.read(m.layout, session.Seen{Exists: true, Data: encode(def), Stat: session.Stat{Mtime: server.UnixMilli()}}, session.Seen{})
			m.schedules.items = map[string]*periodic{"x": p}
			m.schedules.schedule()
			require.Equal(t, 10*time.Second, m.untilSlot(time.Hour))
			require.Equal(t, 5*time.Second, m.untilSlot(5*time.Second))
			require.Empty(t, m.schedules.dueAt(m.clock.now(), 9))
			time.Sleep(10 * time.Second)
			require.Len(t, m.schedules.dueAt(m.clock.now(), 9), 1)
			slot, due := p.dueSlot(m.clock.now())
			require.True(t, due)
			require.True(t, slot.Equal(server.Add(10*time.Second).Truncate(time.Millisecond)))
			m.open = false
			require.Equal(t, time.Hour, m.untilSlot(time.Hour))
		}
	})
}

// The schedules that have waited longest are first.
func TestSchedulesThatHaveWaitedLongestAreFirst(t *testing.T) {
	now := time.Now()
	tb := scheduleTable{items: map[string]*periodic{"a": {at: now}, "b": {at: now.Add(-time.Minute)}, "c": {at: now.Add(1)}, "d": {}, "e": {gone: true, at: now}}}
	tb.schedule()
	require.Len(t, tb.items, 4)
	require.Equal(t, now.Add(-time.Minute), tb.at)
	require.Equal(t, []*periodic{tb.items["b"], tb.items["a"]}, tb.dueAt(now, 9))
	require.Equal(t, []*periodic{tb.items["b"]}, tb.dueAt(now, 1))
}
