package sim

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fails makes a run that fails as name if the schedule satisfies bad.
func fails(name string, bad func(Schedule) bool) func(Schedule) result {
	return func(s Schedule) result {
		r := result{schedule: s, history: &History{}}
		if bad(s) {
			r.problem = &problem{name, errors.New("broken")}
		}
		return r
	}
}

// has reports whether a fault of that kind lasts for at least d.
func has(s Schedule, k Kind, d time.Duration) bool {
	return slices.ContainsFunc(s, func(f Fault) bool { return f.Kind == k && f.For >= d })
}

// long is a schedule of 16 faults, two of which matter.
func long() Schedule {
	var s Schedule
	for i := range 16 {
		s = append(s, Fault{At: time.Duration(10+i) * time.Second, For: 16 * time.Second, Kind: Hole, Process: "a"})
	}
	s[5].Kind, s[12].Kind = Freeze, Kill
	return s
}

func TestAScheduleIsShortenedToWhatItNeeds(t *testing.T) {
	s := shrinker{name: "x", most: 300, perform: fails("x", func(s Schedule) bool { return has(s, Freeze, 3*time.Second) && has(s, Kill, 0) })}
	f := s.shrink(&Failure{Schedule: long(), Invariant: "x"})
	require.Len(t, f.Shortest, 2)
	require.Equal(t, Freeze, f.Shortest[0].Kind)
	require.Equal(t, 4*time.Second, f.Shortest[0].For)
	require.Equal(t, Kill, f.Shortest[1].Kind)
	require.Less(t, f.Shortest[1].For, 100*time.Millisecond)
	require.Less(t, f.Shortest[0].At, 2*time.Second, "moved to the beginning")
	require.Equal(t, 7*time.Second, f.Shortest[1].At-f.Shortest[0].At, "together")
	require.Equal(t, confirmations, f.Confirmed)
	require.Less(t, f.Runs, 150)
}

func TestAnotherFailureIsNotTheSame(t *testing.T) {
	both := func(s Schedule) result {
		if !has(s, Kill, 0) {
			return fails("y", func(Schedule) bool { return true })(s)
		}
		return fails("x", func(Schedule) bool { return true })(s)
	}
	f := (&shrinker{name: "x", most: 300, perform: both}).shrink(&Failure{Schedule: long(), Invariant: "x"})
	require.Len(t, f.Shortest, 1)
	require.Equal(t, Kill, f.Shortest[0].Kind)
}

func TestShrinkingIsBoundedAndCanBeSwitchedOff(t *testing.T) {
	all := fails("x", func(Schedule) bool { return true })
	f := (&shrinker{name: "x", most: 3, perform: fails("x", func(s Schedule) bool { return has(s, Kill, 0) })}).shrink(&Failure{Schedule: long(), Invariant: "x"})
	require.Equal(t, 3, f.Runs)
	f = (&shrinker{name: "x", most: -1, perform: all}).shrink(&Failure{Schedule: long(), Shortest: long(), Invariant: "x"})
	require.Equal(t, long(), f.Shortest)
	require.Zero(t, f.Runs+f.Confirmed)
	f = (&shrinker{name: "x", most: 300, perform: all}).shrink(&Failure{Schedule: long(), Invariant: "x"})
	require.Empty(t, f.Shortest, "the system needs no fault to fail")
}

// A schedule that fails in every second run only is kept, and its confirmations tell.
func TestAFailureThatIsNotCertain(t *testing.T) {
	n := 0
	f := (&shrinker{name: "x", most: 300, perform: func(s Schedule) result {
		n++
		return fails("x", func(s Schedule) bool { return n%2 == 0 && has(s, Kill, 0) })(s)
	}}).shrink(&Failure{Schedule: long(), Invariant: "x"})
	require.Len(t, f.Shortest, 1)
	require.Less(t, f.Confirmed, confirmations)
}
