package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheClockAsksTheMachineOnceTheWallClockMoved(t *testing.T) {
	c := newClock()
	require.WithinDuration(t, time.Now(), c.now(), 50*time.Millisecond)
	// As after a suspension of a minute: what the machine said at first is a
	// minute less than what it says now, and the wall clock has moved.
	c.asleep -= time.Minute
	require.WithinDuration(t, time.Now(), c.now(), time.Second, "not asked yet")
	c.skew.Store(int64(-time.Minute))
	require.WithinDuration(t, time.Now().Add(time.Minute), c.now(), time.Second)
	require.WithinDuration(t, time.Now().Add(time.Minute), c.now(), time.Second, "and remembered")
}

func TestTheClockRunsInABubble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock()
		began := c.now()
		time.Sleep(time.Hour)
		require.Equal(t, time.Hour, c.now().Sub(began))
	})
}

func TestTheMachineKnowsWhetherItSlept(t *testing.T) {
	a, b := suspended(), suspended()
	require.GreaterOrEqual(t, a, time.Duration(0))
	// A reading that is interrupted half-way says a little too much.
	require.InDelta(t, a, b, float64(time.Second))
}

func BenchmarkClock(b *testing.B) {
	c := newClock()
	for b.Loop() {
		c.now()
	}
}
