package stm_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
)

// This file has the model for checking the histories of concurrent clients.

// cells is the number of znodes in a history; each has a number, or -1 for a
// missing znode.
const cells = 4

type state [cells]int

// call is a transaction: its operation, its reads and its times.
type call struct {
	// op is "move": from cell i to cell j, if cell i has enough; "sum": of all
	// cells; "put": cell i unconditionally; "claim": create cell i, if missing.
	op         string
	i, j, n    int
	fate       fate
	saw        state // by its last attempt; only the cells of its reads
	refused    bool  // its function has returned an error
	begin, end int64
}

// String shows a call in a failure.
func (c call) String() string {
	return fmt.Sprintf("%d-%d %s(%d, %d, %d) saw %v, refused %v, fate %d", c.begin, c.end, c.op, c.i, c.j, c.n, c.saw, c.refused, c.fate)
}

// applyCall applies a call to the one true copy. The reads of a call with unknown
// fate do not count.
func applyCall(now state, c call) (bool, state) {
	sees := func(cells ...int) bool {
		for _, i := range cells {
			if c.fate == once && now[i] != c.saw[i] {
				return false
			}
		}
		return true
	}
	next := now
	switch c.op {
	case "move":
		next[c.i], next[c.j] = now[c.i]-c.n, now[c.j]+c.n
		if enough := now[c.i] >= c.n; c.fate == once && c.refused == enough {
			return false, now
		} else if !enough {
			next = now
		}
		return sees(c.i, c.j), next
	case "claim":
		if c.fate == once && c.refused != (now[c.i] >= 0) {
			return false, now
		}
		if now[c.i] < 0 {
			next[c.i] = c.n
		}
		return sees(c.i), next
	case "put":
		next[c.i] = c.n
		return true, next
	}
	return sees(0, 1, 2, 3), now
}

// checkHistory requires an order of the calls that explains all answers; see
// [history.Check].
func checkHistory(initial state, calls []call) error {
	all := make([]history.Call, len(calls))
	for i, c := range calls {
		all[i] = history.Call{Input: c, Fate: c.fate, Begin: c.begin, End: c.end}
	}
	return history.Check(initial, func(now, input any) (bool, any) { return applyCall(now.(state), input.(call)) }, all)
}

// The checker must detect violations.
func TestHistoryCheckerNotices(t *testing.T) {
	initial := state{10, 0, 0, -1}
	taken := call{op: "move", i: 0, j: 1, n: 7, fate: once, saw: state{10, 0, 0, -1}, begin: 1, end: 2}
	for name, tc := range map[string]struct {
		calls []call
		fine  bool
	}{
		"one after the other":   {[]call{taken, {op: "sum", fate: once, saw: state{3, 7, 0, -1}, begin: 3, end: 4}}, true},
		"half of it":            {[]call{taken, {op: "sum", fate: once, saw: state{3, 0, 0, -1}, begin: 3, end: 4}}, false},
		"a stale read":          {[]call{taken, {op: "sum", fate: once, saw: initial, begin: 3, end: 4}}, false},
		"twice":                 {[]call{taken, {op: "sum", fate: once, saw: state{-4, 14, 0, -1}, begin: 3, end: 4}}, false},
		"too much":              {[]call{taken, {op: "move", i: 0, j: 2, n: 7, fate: once, saw: state{3, 7, 0, -1}, begin: 3, end: 4}}, false},
		"a refusal that is due": {[]call{taken, {op: "move", i: 0, j: 2, n: 7, refused: true, fate: once, saw: state{3, 7, 0, -1}, begin: 3, end: 4}}, true},
		"a refusal by a stale read": {[]call{
			{op: "put", i: 0, n: 100, fate: once, begin: 1, end: 2},
			{op: "move", i: 0, j: 2, n: 50, refused: true, fate: once, saw: initial, begin: 3, end: 4},
		}, false},
		"two calls that claim": {[]call{
			{op: "claim", i: 3, n: 1, fate: once, saw: state{3: -1}, begin: 1, end: 4}, {op: "claim", i: 3, n: 2, fate: once, saw: state{3: -1}, begin: 2, end: 3},
		}, false},
		"an unknown one that comes late": {[]call{
			{op: "put", i: 1, n: 5, fate: maybe, begin: 1, end: 2}, {op: "sum", fate: once, saw: initial, begin: 3, end: 4},
			{op: "sum", fate: once, saw: state{10, 5, 0, -1}, begin: 5, end: 6},
		}, true},
		"a failed one that was applied": {[]call{
			{op: "put", i: 1, n: 5, fate: never, begin: 1, end: 2}, {op: "sum", fate: once, saw: state{10, 5, 0, -1}, begin: 3, end: 4},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkHistory(initial, tc.calls); tc.fine {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, history.ErrOrder)
			}
		})
	}
}
