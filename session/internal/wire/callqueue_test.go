package wire

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// After any pushes and pops, the queue has the calls that a slice would have.
func TestCallsLeaveInTheirOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q callQueue
		var want []*Call
		t.Repeat(map[string]func(*rapid.T){
			"push": func(*rapid.T) {
				c := &Call{}
				q.push(c)
				want = append(want, c)
			},
			"pop": func(t *rapid.T) {
				if len(want) == 0 {
					return
				}
				require.Same(t, want[0], q.first())
				require.Same(t, want[0], q.pop())
				want = want[1:]
			},
			"": func(t *rapid.T) { require.Equal(t, len(want), q.len()) },
		})
		all := q.takeAll()
		require.Len(t, all, len(want))
		for i := range want {
			require.Same(t, want[i], all[i])
		}
		require.Zero(t, q.len())
	})
}

func TestQueueOfFewCallsTakesNoMemory(t *testing.T) {
	var q callQueue
	c := &Call{}
	require.Zero(t, testing.AllocsPerRun(1000, func() {
		q.push(c)
		q.push(c)
		q.pop()
		q.pop()
	}))
}
