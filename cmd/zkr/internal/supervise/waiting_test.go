package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestWaitTextCountsWhoIsAhead(t *testing.T) {
	now := time.Date(2026, 11, 26, 3, 12, 0, 0, time.UTC)
	c := func(name string, session int64, holds bool) Contender {
		return Contender{Name: name, Session: session, Holds: holds, Since: now.Add(-7*time.Minute - time.Millisecond)}
	}
	a, b, x, own := c("a\n", 1, true), c("b", 2, true), c("x", 3, false), c("own", 9, false)
	for want, queue := range map[string][]Contender{
		"": {}, `waiting for "a\n" (came 7m0s ago)`: {a}, `waiting for "a\n" (came 7m0s ago, with 1 other holder)`: {a, b, own, x},
		`waiting for "a\n" (came 7m0s ago; 1 ahead in the queue)`: {a, x, own, x, x}, `waiting for "a\n" (came 7m0s ago; 2 ahead in the queue)`: {a, x, x},
	} {
		require.Equal(t, want, waitText(queue, 9, now))
	}
	require.Empty(t, waitText([]Contender{own, x}, 9, now), "it is the first")
	require.Empty(t, waitText([]Contender{c("own", 9, true), x}, 9, now), "it has just been granted")
}
