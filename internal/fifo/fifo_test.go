package fifo

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// After any pushes and removals, the queue has the elements that a slice would have.
func TestQueueKeepsTheOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var q Queue[int]
		var want []int
		places := map[int]*Place{}
		for n := range rapid.IntRange(1, 60).Draw(t, "steps") {
			if rapid.Bool().Draw(t, "push") {
				places[n] = q.Push(n)
				want = append(want, n)
			} else {
				v := rapid.IntRange(0, n).Draw(t, "element")
				require.Equal(t, slices.Contains(want, v), q.Remove(places[v]))
				want = slices.DeleteFunc(want, func(w int) bool { return w == v })
			}
			require.True(t, slices.Equal(want, slices.Collect(q.All())), "%v", want)
			require.Equal(t, len(want), q.Len())
		}
	})
}

func TestBodyMayRemoveThePresentElement(t *testing.T) {
	var q Queue[string]
	places := map[string]*Place{}
	for _, v := range []string{"a", "b", "c"} {
		places[v] = q.Push(v)
	}
	var seen []string
	for v := range q.All() {
		seen = append(seen, v)
		require.True(t, q.Remove(places[v]))
	}
	require.Equal(t, []string{"a", "b", "c"}, seen)
	require.Zero(t, q.Len())
	require.False(t, q.Remove(places["a"]))
}
