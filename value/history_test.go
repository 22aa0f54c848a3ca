package value_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world/history"
)

// This file has the model for checking the histories of concurrent clients. Each write of a
// history has bytes of its own, so bytes stand for a state.

// call is an operation on a value: its arguments, its answer, and its times.
// Calls and returns are numbered in order.
type call struct {
	op         string // "set", "swap", "update", "get", "delete"
	from, to   string
	fate       fate
	data       string // answered
	ok         bool
	begin, end int64
}

// String shows a call in a failure.
func (c call) String() string {
	return fmt.Sprintf("%d-%d %s(%q, %q) = %q %v, fate %d", c.begin, c.end, c.op, c.from, c.to, c.data, c.ok, c.fate)
}

// behind is the bytes that an update with the word to makes of data: they tell of the bytes
// before.
func behind(data, to string) string {
	if len(data) > 8 {
		data = data[:8]
	}
	return to + "<" + data
}

// step is the effect of a call on the value. An unknown answer always fits.
func step(data string, c call) (bool, string) {
	switch c.op {
	case "update":
		next := behind(data, c.to)
		return c.fate == maybe || c.data == next, next
	case "set":
		return true, c.to
	case "delete":
		return true, ""
	case "swap":
		if data == c.from {
			return c.fate == maybe || c.ok, c.to
		}
		return c.fate == maybe || !c.ok, data
	}
	return c.data == data, data
}

// checkHistory requires an order of the calls that explains all answers; see
// [history.Check].
func checkHistory(calls []call) error {
	all := make([]history.Call, len(calls))
	for i, c := range calls {
		all[i] = history.Call{Input: c, Fate: c.fate, Begin: c.begin, End: c.end}
	}
	return history.Check("", func(now, input any) (bool, any) { return step(now.(string), input.(call)) }, all)
}

// The checker must detect violations.
func TestHistoryCheckerNotices(t *testing.T) {
	set := call{op: "set", to: "a", fate: once, begin: 1, end: 2}
	for name, tc := range map[string]struct {
		calls []call
		fine  bool
	}{
		"one after the other":                {[]call{set, {op: "get", fate: once, data: "a", begin: 3, end: 4}}, true},
		"a stale read":                       {[]call{set, {op: "get", fate: once, data: "", begin: 3, end: 4}}, false},
		"an update of what was set":          {[]call{set, {op: "update", to: "b", fate: once, data: "b<a", begin: 3, end: 4}}, true},
		"an update that has lost a change":   {[]call{set, {op: "update", to: "b", fate: once, data: "b<", begin: 3, end: 4}}, false},
		"a swap reported as not made (CL2)":  {[]call{set, {op: "swap", from: "a", to: "b", fate: once, begin: 3, end: 4}, {op: "get", fate: once, data: "b", begin: 5, end: 6}}, false},
		"a swap from other bytes":            {[]call{set, {op: "swap", from: "x", to: "b", ok: true, fate: once, begin: 3, end: 4}}, false},
		"an unknown one that came late":      {[]call{{op: "set", to: "a", fate: maybe, begin: 1, end: 2}, {op: "get", fate: once, data: "", begin: 3, end: 4}, {op: "get", fate: once, data: "a", begin: 5, end: 6}}, true},
		"one that was made though it failed": {[]call{{op: "set", to: "a", fate: never, begin: 1, end: 2}, {op: "get", fate: once, data: "a", begin: 3, end: 4}}, false},
		"a set that was made twice":          {[]call{set, {op: "set", to: "b", fate: once, begin: 3, end: 4}, {op: "get", fate: once, data: "b", begin: 5, end: 6}, {op: "get", fate: once, data: "a", begin: 7, end: 8}}, false},
		"a deletion":                         {[]call{set, {op: "delete", fate: once, begin: 3, end: 4}, {op: "get", fate: once, data: "", begin: 5, end: 6}}, true},
	} {
		require.Equal(t, tc.fine, checkHistory(tc.calls) == nil, name)
	}
}
