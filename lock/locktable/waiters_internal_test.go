package locktable

import (
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// timeOfWaiters is the processor time of n acquirers that queue up for one name, and
// leave, the last acquirer first: the least of several measurements, so that other work
// does not count.
func timeOfWaiters(t *testing.T, n int) time.Duration {
	t.Helper()
	all, least := make([]Acquirer, n), time.Hour
	for range 3 {
		o := &Owner{busy: map[string]struct{}{"one": {}}, waiters: newWaiters()}
		names := []string{"one"}
		runtime.GC()
		begin := world.ProcessorTime()
		for i := range all {
			o.claimNames(names, &all[i])
		}
		for i := range all {
			o.forgetWaiter(&all[n-1-i], names)
		}
		least = min(least, world.ProcessorTime()-begin)
		require.Empty(t, o.waiters.queues)
		require.Empty(t, o.waiters.places)
	}
	return least
}

// Calls whose contexts end at once leave in a time proportional to their number, not to
// its square.
func TestWaitersOfANameLeaveInConstantTime(t *testing.T) {
	const n = 20_000
	few, many := timeOfWaiters(t, n), timeOfWaiters(t, 4*n)
	const grain = 200 * time.Millisecond // of clocks; its square would take seconds
	require.Less(t, many, 8*few+grain, "four times as many: %v for %d, %v for %d", few, n, many, 4*n)
}

func TestWaitersAreWokenInTheirOrderWithoutWaitersThatLeft(t *testing.T) {
	w, all := newWaiters(), make([]*Acquirer, 4)
	for i := range all {
		all[i] = &Acquirer{}
		w.add("one", all[i])
		w.add("one", all[i])
		w.add("two", all[i])
	}
	w.remove("one", all[1])
	w.remove("one", all[1])
	require.Equal(t, []*Acquirer{all[0], all[2], all[3]}, w.takeAll("one"))
	require.Empty(t, w.takeAll("one"))
	require.Len(t, w.takeAll("two"), 4)
	require.Empty(t, w.places)
}
