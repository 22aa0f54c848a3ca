package sim

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/session"
)

// told makes a history; times are seconds.
func told(events ...Event) *History {
	h := &History{Processes: []string{"a", "b"}, Healed: 10 * time.Second, End: 70 * time.Second}
	for _, e := range events {
		e.At *= time.Second
		h.Events = append(h.Events, e)
	}
	return h
}

func enters(at int, p string, token int64) Event {
	return Event{At: time.Duration(at), Process: p, Kind: Entered, What: "x", Token: token, entry: int(token)}
}

func leaves(at int, p string, token int64) Event {
	return Event{At: time.Duration(at), Process: p, Kind: Left, What: "x", entry: int(token)}
}

func does(at int, p, what, id string, token int64) Event {
	return Event{At: time.Duration(at), Process: p, Kind: Done, What: what, ID: id, Token: token}
}

func is(at int, p string, kind EventKind) Event {
	return Event{At: time.Duration(at), Process: p, Kind: kind}
}

func TestInvariantsTellGoodHistoriesFromBadOnes(t *testing.T) {
	for name, c := range map[string]struct {
		i      Invariant
		h      *History
		broken string // "" is a good history
	}{
		"one after the other": {OneAtATime("x"), told(enters(1, "a", 1), leaves(2, "a", 1), enters(2, "b", 2), leaves(3, "b", 2)), ""},
		"two at once":         {OneAtATime("x"), told(enters(1, "a", 1), enters(2, "b", 2), leaves(3, "a", 1), leaves(4, "b", 2)), "a (token 1) b (token 2), from 2.000s for 1s"},
		"two permits":         {AtMost("x", 2), told(enters(1, "a", 1), enters(2, "b", 2), leaves(3, "a", 1)), ""},
		"three of two":        {AtMost("x", 2), told(enters(1, "a", 1), enters(2, "b", 2), enters(3, "b", 3), leaves(4, "b", 3)), "inside x at once"},
		"another thing":       {OneAtATime("y"), told(enters(1, "a", 1), enters(2, "b", 2), leaves(4, "b", 2)), ""},
		"the death of one":    {OneAtATime("x"), told(enters(1, "a", 1), is(2, "a", Killed), enters(3, "b", 2), leaves(4, "b", 2)), ""},
		"a frozen one":        {OneAtATime("x"), told(enters(1, "a", 1), is(2, "a", Frozen), enters(3, "b", 2), is(5, "a", Thawed), leaves(5, "a", 1), leaves(9, "b", 2)), ""},
		"a frozen one that goes on": {
			OneAtATime("x"),
			told(enters(1, "a", 1), is(2, "a", Frozen), enters(3, "b", 2), is(5, "a", Thawed), leaves(6, "a", 1), leaves(9, "b", 2)), "for 1s",
		},
		"an expired one": {OneAtATime("x"), told(enters(1, "a", 1), is(2, "a", Expired), enters(3, "b", 2), is(4, "a", Told), leaves(4, "a", 1), leaves(9, "b", 2)), ""},
		"an expired one that goes on": {
			OneAtATime("x"),
			told(enters(1, "a", 1), is(2, "a", Expired), enters(3, "b", 2), is(4, "a", Told), leaves(6, "a", 1), leaves(9, "b", 2)), "for 2s",
		},
		"an expiry before the next life": {
			OneAtATime("x"),
			told(is(1, "a", Killed), is(2, "a", Expired), is(3, "a", Started), enters(4, "a", 1), enters(5, "b", 2), leaves(6, "a", 1)), "for 1s",
		},
		"tokens that grow":        {TokensGrow("x"), told(enters(1, "a", 1), enters(2, "b", 2), does(3, "b", "x", "", 2)), ""},
		"a token that goes back":  {TokensGrow("x"), told(does(1, "a", "x", "", 2), does(2, "b", "x", "", 1)), "b does with token 1, after a with token 2 at 1.000s"},
		"a token of two":          {TokensGrow("x"), told(enters(1, "a", 1), enters(2, "b", 1)), "with token 1"},
		"a late grant":            {TokensGrow("x"), told(is(1, "a", Expired), enters(2, "b", 2), enters(3, "a", 1)), ""},
		"a late effect":           {TokensGrow("x"), told(is(1, "a", Expired), enters(2, "b", 2), does(3, "a", "x", "", 1)), "a does with token 1"},
		"once":                    {AtMostOnce("pay"), told(does(1, "a", "pay", "1", 0), does(2, "a", "pay", "2", 0)), ""},
		"twice":                   {AtMostOnce("pay"), told(does(1, "a", "pay", "1", 0), does(2, "b", "pay", "1", 0)), "pay 1 was done twice: by a at 1.000s, and by b at 2.000s"},
		"each once":               {ExactlyOnce("pay", "ask"), told(does(1, "a", "ask", "1", 0), does(2, "b", "pay", "1", 0)), ""},
		"never":                   {ExactlyOnce("pay", "ask"), told(does(1, "a", "ask", "1", 0)), "ask 1 of 1.000s was never done: pay"},
		"exactly, and twice":      {ExactlyOnce("pay", "ask"), told(does(1, "a", "pay", "1", 0), does(2, "b", "pay", "1", 0)), "twice"},
		"served by an effect":     {ServedWithin("x", 5*time.Second), told(does(14, "a", "x", "", 0)), ""},
		"served by a holder":      {ServedWithin("x", 5*time.Second), told(enters(1, "a", 1), leaves(60, "a", 1)), ""},
		"served too late":         {ServedWithin("x", 5*time.Second), told(does(16, "a", "x", "", 0), enters(16, "a", 1), is(60, "a", Ended)), "no process in the 5s after the last fault"},
		"served too early":        {ServedWithin("x", 5*time.Second), told(enters(1, "a", 1), leaves(9, "a", 1), does(9, "a", "x", "", 0)), "no process"},
		"a run that is too short": {ServedWithin("x", 2*time.Minute), told(does(14, "a", "x", "", 0)), "set Options.Calm"},
	} {
		t.Run(name, func(t *testing.T) {
			err := c.i.Check(c.h)
			if c.broken == "" {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, c.broken)
		})
	}
}

func TestEntriesOfOneProcessAreToldApart(t *testing.T) {
	h := told(enters(1, "a", 1), enters(2, "a", 2), leaves(3, "a", 1), leaves(5, "a", 2))
	var open time.Duration
	for _, s := range h.Spans("x") {
		open += s.To - s.From
	}
	require.Equal(t, 5*time.Second, open, "2 s of the first, and 3 s of the second")
}

// calledAs makes a call from its result.
func calledAs(op Op, begin, end int, result int64, err error) call {
	c := call{process: "a", object: "n", op: op, begin: begin}
	c.finish(result, err, end)
	return c
}

func TestLinearizableCallsOfARegister(t *testing.T) {
	unknown := fmt.Errorf("so: %w", session.ErrUnknownOutcome)
	for name, c := range map[string]struct {
		calls []call
		good  bool
	}{
		"a counter":             {[]call{calledAs(Add(2), 1, 2, 2, nil), calledAs(Add(3), 3, 4, 5, nil), calledAs(Read(), 5, 6, 5, nil)}, true},
		"a lost update":         {[]call{calledAs(Add(2), 1, 3, 2, nil), calledAs(Add(2), 2, 4, 2, nil)}, false},
		"an unknown addition":   {[]call{calledAs(Add(2), 1, 2, 0, unknown), calledAs(Read(), 3, 4, 0, nil), calledAs(Read(), 5, 6, 2, nil)}, true},
		"a denied addition":     {[]call{calledAs(Add(2), 1, 2, 0, errors.New("no")), calledAs(Read(), 3, 4, 2, nil)}, false},
		"a comparison":          {[]call{calledAs(Write(4), 1, 2, 0, nil), calledAs(CompareAndSet(4, 5), 3, 4, 1, nil), calledAs(Read(), 5, 6, 5, nil)}, true},
		"a failed comparison":   {[]call{calledAs(CompareAndSet(4, 5), 3, 4, 0, nil), calledAs(Read(), 5, 6, 0, nil)}, true},
		"a false comparison":    {[]call{calledAs(CompareAndSet(4, 5), 3, 4, 1, nil)}, false},
		"a stale read":          {[]call{calledAs(Write(4), 1, 2, 0, nil), calledAs(Read(), 3, 4, 0, nil)}, false},
		"a call without return": {[]call{{object: "n", op: Write(4), begin: 1}, calledAs(Read(), 3, 4, 4, nil)}, true},
		"another object":        {[]call{{object: "m", op: Write(4), begin: 1}, calledAs(Read(), 3, 4, 4, nil)}, false},
	} {
		t.Run(name, func(t *testing.T) {
			err := Linearizable("n").Check(&History{calls: c.calls})
			if c.good {
				require.NoError(t, err)
				return
			}
			require.ErrorContains(t, err, "no order of the calls of n explains their results")
			require.ErrorContains(t, err, c.calls[len(c.calls)-1].String())
		})
	}
}

func TestAnEventInOneLine(t *testing.T) {
	require.Equal(t, "    2.000s  a enters x, token 7", told(enters(2, "a", 7)).String())
	require.Equal(t, "    2.000s  a does pay 9, token 7", told(does(2, "a", "pay", "9", 7)).String())
	require.Equal(t, "    2.500s  fault: begins", Event{At: 2500 * time.Millisecond, Kind: Struck, Text: "begins"}.String())
}
