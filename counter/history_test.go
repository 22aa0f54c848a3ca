package counter_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// What histories of concurrent clients are judged by.

// call is one operation on a counter: what was asked, what was answered, and
// when. Call and return are numbered in the order in which they happened.
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

// errHistory says that no order of the calls explains the answers.
var errHistory = errors.New("not linearizable")

// step is what the counter's one true copy does. An answer that is not known
// fits.
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

// checkHistory wants an order of the calls that explains all answers, in which
// none comes before its call or after its return. A call of unknown fate may take
// effect at any time after it began, or never, which is after all others. One
// that failed has no effect.
func checkHistory(calls []call) error {
	last := int64(0)
	for _, c := range calls {
		last = max(last, c.end)
	}
	var ops []porcupine.Operation
	for i, c := range calls {
		if c.fate == never {
			continue
		}
		if c.fate == maybe {
			c.end = last + 1
		}
		ops = append(ops, porcupine.Operation{ClientId: i, Input: c, Call: c.begin, Return: c.end})
	}
	model := porcupine.Model{
		Init: func() any { return int64(0) },
		Step: func(state, input, _ any) (bool, any) {
			ok, next := step(state.(int64), input.(call))
			return ok, next
		},
	}
	if res := porcupine.CheckOperationsTimeout(model, ops, time.Minute); res != porcupine.Ok {
		return fmt.Errorf("%w (%v):\n%v", errHistory, res, calls)
	}
	return nil
}

// checkSum wants the last value to be the sum of all that was added, and of some
// of what may have been.
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
		return fmt.Errorf("%w: %d, but %d were added, and %d perhaps", errHistory, value, sure, unknown)
	}
	return nil
}

// Each checker must notice what it is for.
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
		"two who got the same": {[]call{
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
				require.ErrorIs(t, err, errHistory)
			}
		})
	}
	calls := []call{{to: 3, fate: once}, {to: 10, fate: maybe}, {to: 100, fate: never}}
	require.NoError(t, checkSum(calls, 3))
	require.NoError(t, checkSum(calls, 13))
	require.ErrorIs(t, checkSum(calls, 2), errHistory)
	require.ErrorIs(t, checkSum(calls, 14), errHistory)
}
