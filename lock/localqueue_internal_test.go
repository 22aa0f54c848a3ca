package lock

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// timeToEmpty is the processor time of n waiters that leave a queue, the last waiter first:
// the least of several measurements, so that other work does not count.
func timeToEmpty(n int) time.Duration {
	least := time.Hour
	for range 7 {
		var q localQueue
		waiters := make([]*waiter, n)
		for i := range waiters {
			waiters[i] = q.join()
		}
		runtime.GC()
		begin := world.ProcessorTime()
		for i := range waiters {
			q.leave(waiters[n-1-i])
		}
		least = min(least, world.ProcessorTime()-begin)
	}
	return least
}

// Waiters whose contexts end at once leave in a time proportional to their number,
// not to its square.
func TestLeavingTheLocalQueueTakesConstantTime(t *testing.T) {
	const n = 10_000
	few, many := timeToEmpty(n), timeToEmpty(4*n)
	const grain = 200 * time.Millisecond // of clocks; its square would take seconds
	require.Less(t, many, 10*few+grain, "four times as many: %v for %d, %v for %d", few, n, many, 4*n)
}

func TestLocalQueueServesFirstInFirstOutWithoutWaitersThatLeft(t *testing.T) {
	var q localQueue
	require.False(t, q.serve(baton{}))
	a, b, c, d := q.join(), q.join(), q.join(), q.join()
	require.True(t, q.leave(a))
	require.False(t, q.leave(a))
	require.True(t, q.leave(c))
	for _, w := range []*waiter{b, d} {
		require.True(t, q.serve(baton{}))
		require.Len(t, w.baton, 1)
		require.False(t, q.leave(w), "w was served")
	}
	require.False(t, q.serve(baton{}))
}
