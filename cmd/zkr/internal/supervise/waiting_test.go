package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// noon is the time of the tests.
//
// read only
var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// one is a contender that came so long before noon; its name tells its token.
func one(token, owner int64, holds bool, before time.Duration) Contender {
	return Contender{Name: string(rune('a' + token - 1)), Session: owner, Token: token, Holds: holds, Since: noon.Add(-before)}
}

func TestWaitTextCountsWhoIsAhead(t *testing.T) {
	c := func(name string, session int64, holds bool) Contender {
		return Contender{Name: name, Session: session, Token: session, Holds: holds, Since: noon.Add(-7*time.Minute - time.Millisecond)}
	}
	a, b, x, own := c("a\n", 1, true), c("b", 2, true), c("x", 3, false), c("own", 9, false)
	text := func(queue ...Contender) string {
		v := view{held: map[int64]time.Time{1: a.Since, 2: b.Since}}
		return v.text(queue, 9, noon)
	}
	require.Empty(t, text())
	require.Equal(t, `waiting for "a\n" (held 7m)`, text(a))
	require.Equal(t, `waiting for "a\n" (held 7m, with 1 other holder)`, text(a, b, own, x))
	require.Equal(t, `waiting for "a\n" (held 7m, 1 ahead)`, text(a, x, own, x, x))
	require.Equal(t, `waiting for "a\n" (held 7m, 2 ahead)`, text(a, x, x))
	require.Empty(t, text(own, x), "it is the first")
	require.Empty(t, text(c("own", 9, true), x), "it has just been granted")
}

// The text claims no more of a hold than the znodes and this waiter's own observations
// prove.
func TestWaitTextTellsHowLongAHoldIsKnownToLast(t *testing.T) {
	const own = 9
	mine := one(own, own, false, 10*time.Second)
	parent := func(pzxid int64, children int32) session.Stat {
		return session.Stat{Pzxid: pzxid, NumChildren: children}
	}
	for name, tt := range map[string]struct {
		arrival session.Stat
		queue   []Contender
		want    string
	}{
		"came to an empty queue": {parent(1, 1), []Contender{one(1, 1, true, 7*time.Minute), mine}, "waiting for a (held 7m)"},
		"the last change was that a waiter came": {
			parent(2, 2), []Contender{one(1, 1, true, time.Hour), one(2, 2, false, 2*time.Minute), mine},
			"waiting for a (held for at least 2m, came 1h ago, 1 ahead)",
		},
		"the last change was that another one left": {
			parent(5, 1), []Contender{one(1, 1, true, time.Hour), mine}, "waiting for a (held for at least 10s, came 1h ago)",
		},
		"another one has left since the arrival": {
			parent(2, 2), []Contender{one(2, 2, true, time.Hour), mine}, "waiting for b (came 1h ago)",
		},
		"came after this waiter had looked": {
			parent(0, 0), []Contender{one(1, 1, true, 5*time.Second), mine}, "waiting for a (came 5s ago)",
		},
		"a stranger's znode is there": {
			parent(1, 2), []Contender{one(1, 1, true, time.Hour), mine}, "waiting for a (came 1h ago)",
		},
		"the own znode came before the look": {
			parent(own, 2), []Contender{one(1, 1, true, time.Hour), mine}, "waiting for a (held for at least 10s, came 1h ago)",
		},
		"a waiter beside the queue does not count": {
			parent(5, 1), []Contender{one(2, 2, true, time.Hour), {Name: "out", Session: 3}, mine}, "waiting for b (held for at least 10s, came 1h ago, 1 ahead)",
		},
		"the servers' clock is ahead": {parent(1, 1), []Contender{one(1, 1, true, -time.Minute), mine}, "waiting for a (held 0s)"},
	} {
		v := view{came: noon.Add(-10 * time.Second), arrival: tt.arrival, held: make(map[int64]time.Time)}
		require.Equal(t, tt.want, v.text(tt.queue, own, noon), name)
	}
}

// A waiter remembers since when a holder has held at least, for each holder.
func TestWaitTextRemembersSinceWhenAHolderWasSeen(t *testing.T) {
	v := view{came: noon, held: make(map[int64]time.Time)}
	first, second := one(1, 1, true, time.Hour), one(2, 2, false, time.Hour)
	require.Equal(t, "waiting for a (came 1h ago, 1 ahead)", v.text([]Contender{first, second}, 9, noon))
	require.Equal(t, "waiting for a (held for at least 1m1s, came 1h1m1s ago)", v.text([]Contender{first, second}[:1], 9, noon.Add(61*time.Second)))
	second.Holds = true
	require.Equal(t, "waiting for b (came 1h2m ago)", v.text([]Contender{second}, 9, noon.Add(2*time.Minute)))
}
