package counter_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
)

// This file has the model for checking the histories of concurrent clients.

// call is an operation on a counter: its arguments, its answer, and its times.
// Calls and returns are numbered in order.
type call struct {
	op         string // "add", "set", "swap", "get", "delete"
	from, to   int64
	fate       fate
	value      int64 // answered
	ok         bool
	begin, end int64
}

// String shows a call in a failure.
func (c call) String() string {
	return fmt.Sprintf("%d-%d %s(%d, %d) = %d %v, fate %d", c.begin, c.end, c.op, c.from, c.to, c.value, c.ok, c.fate)
}

// step is the effect of a call on the counter. An unknown answer always fits.
func step(value int64, c call) (bool, int64) {
	switch c.op {
	case "add":
		next := value + c.to
		return c.fate == maybe || c.value == next, next
	case "set":
		return true, c.to
	case "delete":
		return true, 0
	case "swap":
		ok := value == c.from
		if ok {
			return c.fate == maybe || c.ok, c.to
		}
		return c.fate == maybe || !c.ok, value
	}
	return c.value == value, value
}

// checkHistory requires an order of the calls that explains all answers; see
// [history.Check].
func checkHistory(calls []call) error {
	all := make([]history.Call, len(calls))
	for i, c := range calls {
		all[i] = history.Call{Input: c, Fate: c.fate, Begin: c.begin, End: c.end}
	}
	return history.Check(int64(0), func(now, input any) (bool, any) { return step(now.(int64), input.(call)) }, all)
}

// checkSum requires that the last value is the sum of all confirmed additions
// and some of the unknown ones.
func checkSum(calls []call, value int64) error {
	sure, unknown := int64(0), int64(0)
	for _, c := range calls {
		switch c.fate {
		case once:
			sure += c.to
		case maybe:
			unknown += c.to
		}
	}
	if value < sure || value > sure+unknown {
		return fmt.Errorf("%w: %d, but %d were added, and %d perhaps", history.ErrOrder, value, sure, unknown)
	}
	return nil
}

// Each checker must detect violations.
func TestHistoryCheckerNotices(t *testing.T) {
	for name, tc := range map[string]struct {
		calls []call
		fine  bool
	}{
		"one after the other": {[]call{
			{op: "add", to: 1, fate: once, value: 1, begin: 1, end: 2}, {op: "get", fate: once, value: 1, begin: 3, end: 4},
		}, true},
		"an increment that was made twice (CL1)": {[]call{
			{op: "add", to: 1, fate: once, value: 1, begin: 1, end: 2}, {op: "get", fate: once, value: 2, begin: 3, end: 4},
		}, false},
		"a swap that was made and reported as not (CL2)": {[]call{
			{op: "set", to: 5, fate: once, begin: 1, end: 2}, {op: "swap", from: 5, to: 6, fate: once, begin: 3, end: 4},
			{op: "get", fate: once, value: 6, begin: 5, end: 6},
		}, false},
		"a stale read": {[]call{
			{op: "set", to: 5, fate: once, begin: 1, end: 2}, {op: "set", to: 6, fate: once, begin: 3, end: 4},
			{op: "get", fate: once, value: 5, begin: 5, end: 6},
		}, false},
		"concurrent, in either order": {[]call{
			{op: "add", to: 1, fate: once, value: 11, begin: 1, end: 4}, {op: "add", to: 10, fate: once, value: 10, begin: 2, end: 3},
		}, true},
		"two calls with the same number": {[]call{
			{op: "add", to: 1, fate: once, value: 1, begin: 1, end: 4}, {op: "add", to: 1, fate: once, value: 1, begin: 2, end: 3},
		}, false},
		"an unknown one that came late": {[]call{
			{op: "add", to: 1, fate: maybe, begin: 1, end: 2}, {op: "get", fate: once, value: 0, begin: 3, end: 4},
			{op: "get", fate: once, value: 1, begin: 5, end: 6},
		}, true},
		"an unknown one that came twice": {[]call{
			{op: "add", to: 1, fate: maybe, begin: 1, end: 2}, {op: "get", fate: once, value: 2, begin: 3, end: 4},
		}, false},
		"a failed one that was made": {[]call{
			{op: "add", to: 1, fate: never, begin: 1, end: 2}, {op: "get", fate: once, value: 1, begin: 3, end: 4},
		}, false},
		"a sum computed before a deletion": {[]call{
			{op: "add", to: 5, fate: once, value: 5, begin: 1, end: 2}, {op: "delete", fate: once, begin: 3, end: 4},
			{op: "add", to: 1, fate: once, value: 6, begin: 5, end: 6},
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkHistory(tc.calls); tc.fine {
				require.NoError(t, err)
			} else {
				require.ErrorIs(t, err, history.ErrOrder)
			}
		})
	}
	calls := []call{{to: 3, fate: once}, {to: 10, fate: maybe}, {to: 100, fate: never}}
	require.NoError(t, checkSum(calls, 3))
	require.NoError(t, checkSum(calls, 13))
	require.ErrorIs(t, checkSum(calls, 2), history.ErrOrder)
	require.ErrorIs(t, checkSum(calls, 14), history.ErrOrder)
}
