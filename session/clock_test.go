package session

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestTheClockAsksTheMachineOnceTheWallClockMoved(t *testing.T) {
	c := newClock()
	requireClock(t, c, 0)
	// As after a suspension of a minute: the machine's first reading is a minute
	// less than its present reading, and the wall clock has moved.
	c.asleep -= time.Minute
	requireClock(t, c, 0) // not asked yet
	c.skew.Store(int64(-time.Minute))
	requireClock(t, c, time.Minute)
	requireClock(t, c, time.Minute) // and remembered
}

// requireClock asserts that c is ahead of time.Now, within a tolerance,
// independently of the time between the two readings.
func requireClock(t *testing.T, c *clock, ahead time.Duration) {
	t.Helper()
	const little = time.Second
	before := time.Now()
	now := c.now().Add(-ahead)
	require.False(t, now.Before(before.Add(-little)) || now.After(time.Now().Add(little)), "%v ahead", ahead)
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
	// An interrupted reading is a little too large.
	require.InDelta(t, a, b, float64(time.Minute))
}

func BenchmarkClock(b *testing.B) {
	c := newClock()
	for b.Loop() {
		c.now()
	}
}
