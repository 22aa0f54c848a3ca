package barrier_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

func at(s int) time.Time { return time.Unix(int64(s), 0) }

func TestCheckerOfAwaitsNoticesBadHistories(t *testing.T) {
	unknown := &session.UnknownOutcomeError{Path: "/b1", Reason: context.Canceled}
	a := call{id: "a", start: at(1), end: at(5), round: 1}
	b := call{id: "b", start: at(2), end: at(6), round: 1}
	na, nb := arrived{"a", at(1), "/a1-0"}, arrived{"b", at(2), "/b1-1"}
	ab := []opening{{at(3), []arrived{na, nb}}}
	with := func(c call, change func(*call)) call { change(&c); return c }
	for name, c := range map[string]struct {
		openings []opening
		calls    []call
		want     error
	}{
		"good":                    {ab, []call{a, b}, nil},
		"one does not know":       {ab, []call{a, with(b, func(c *call) { c.err = unknown })}, nil},
		"one did not know before": {ab, []call{a, with(b, func(c *call) { c.end, c.err = at(2), unknown })}, nil},
		"what it left came late": {
			[]opening{{at(3), []arrived{na, {"b", at(3), "/b1-2"}}}},
			[]call{a, with(b, func(c *call) { c.end, c.err = at(2), unknown }), {id: "b", start: at(2), end: at(9), err: context.Canceled}}, nil,
		},
		"its remains count":          {ab, []call{a, with(b, func(c *call) { c.end, c.err = at(2), unknown }), {id: "b", start: at(2), end: at(9), round: 2}}, errFree},
		"one alone":                  {[]opening{{at(3), []arrived{na}}}, []call{a}, errReady},
		"one twice":                  {[]opening{{at(3), []arrived{na, na}}}, []call{a}, errReady},
		"one had given up":           {ab, []call{a, with(b, func(c *call) { c.end, c.err = at(2), context.Canceled })}, errReady},
		"one had not come":           {ab, []call{a, with(b, func(c *call) { c.start = at(4) })}, errReady},
		"one was never there":        {ab, []call{a}, errReady},
		"one is told that it is not": {ab, []call{a, with(b, func(c *call) { c.err = context.Canceled })}, errHeld},
		"one is told another round":  {ab, []call{a, with(b, func(c *call) { c.round = 2 })}, errHeld},
		"one passes by itself":       {ab, []call{a, b, {id: "c", start: at(1), end: at(9), round: 1}}, errFree},
		"one passes twice":           {ab, []call{a, b, {id: "a", start: at(6), end: at(9), round: 2}}, errFree},
		"an earlier one is no excuse": {
			[]opening{{at(3), []arrived{na, {"b", at(3), "/b2-2"}}}},
			[]call{a, with(b, func(c *call) { c.end, c.err = at(2), unknown }), {id: "b", start: at(2), end: at(9), round: 2}}, errHeld,
		},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, checkAwaits(c.openings, c.calls, 2), c.want)
		})
	}
}

func TestCheckerOfRoundsNoticesBadHistories(t *testing.T) {
	a := call{id: "a", start: at(1), end: at(5), round: 1}
	require.NoError(t, checkRounds([]call{a, {id: "b", start: at(5), end: at(6), round: 1}, {id: "c", start: at(6), end: at(7), round: 2}}, 2))
	require.ErrorIs(t, checkRounds([]call{a, {id: "b", start: at(6), end: at(7), round: 1}}, 2), errReady)
	require.ErrorIs(t, checkRounds([]call{a, a, a}, 2), errCrowd)
}

func TestCheckerOfStaysNoticesBadHistories(t *testing.T) {
	a := stay{id: "a", asked: at(1), from: at(3), to: at(5), round: 1, left: at(7)}
	b := stay{id: "b", asked: at(2), from: at(4), to: at(6), round: 1}
	for name, c := range map[string]struct {
		stays []stay
		want  error
	}{
		"good":                {[]stay{a, b, {id: "a", asked: at(7), from: at(9), to: at(10), round: 2}}, nil},
		"three of two":        {[]stay{a, b, {id: "c", asked: at(1), from: at(3), to: at(4), round: 1}}, errCrowd},
		"in before the other": {[]stay{a, {id: "b", asked: at(4), from: at(5), to: at(6), round: 1}}, errEarly},
		"out before":          {[]stay{a, {id: "b", asked: at(2), from: at(4), to: at(8), round: 1}}, errLeft},
		"two rounds":          {[]stay{a, b, {id: "c", asked: at(1), from: at(5), to: at(9), round: 2}}, errRounds},
	} {
		t.Run(name, func(t *testing.T) {
			require.ErrorIs(t, checkStays(c.stays, 2), c.want)
		})
	}
}
