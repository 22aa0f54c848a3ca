package batchwrite

import (
	"context"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/fifo"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// timeToWithdraw is the processor time of n callers that leave, the last caller first: the
// least of several measurements, so that other work does not count.
func timeToWithdraw(t *testing.T, n int) time.Duration {
	t.Helper()
	over, cancel := context.WithCancel(t.Context())
	cancel()
	least := time.Hour
	for range 3 {
		r := &Batcher[int64]{path: "/n", stop: func() {}}
		ops := make([]*op[int64], n)
		for i := range ops {
			ops[i] = &op[int64]{}
			ops[i].place = r.queue.Push(ops[i])
		}
		runtime.GC()
		begin := world.ProcessorTime()
		for i := range ops {
			_, _ = r.withdraw(over, ops[n-1-i])
		}
		least = min(least, world.ProcessorTime()-begin)
		require.Zero(t, r.queue.Len())
	}
	return least
}

// Callers whose contexts end at once leave in a time proportional to their number,
// not to its square.
func TestCallersLeaveInConstantTime(t *testing.T) {
	const n = 20_000
	few, many := timeToWithdraw(t, n), timeToWithdraw(t, 4*n)
	const grain = 200 * time.Millisecond // of clocks; its square would take seconds
	require.Less(t, many, 8*few+grain, "four times as many: %v for %d, %v for %d", few, n, many, 4*n)
}

func TestQueueKeepsTheOrderOfArrivalWithoutCallersThatLeft(t *testing.T) {
	var q fifo.Queue[*op[int64]]
	ops := make([]*op[int64], 6)
	for i := range ops {
		ops[i] = &op[int64]{arrival: uint64(i)}
		ops[i].place = q.Push(ops[i])
	}
	q.Remove(ops[0].place)
	q.Remove(ops[3].place)
	q.Remove(ops[3].place)
	var left []uint64
	for o := range q.All() {
		left = append(left, o.arrival)
		q.Remove(o.place)
	}
	require.Equal(t, []uint64{1, 2, 4, 5}, left)
	require.Zero(t, q.Len())
}
