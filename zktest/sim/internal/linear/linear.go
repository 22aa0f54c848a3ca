// Package linear checks whether the results of concurrent calls are explained by an order
// of the calls.
package linear

import (
	"cmp"
	"errors"
	"slices"
)

// Call is a call of an object with states of type S. Begin and End are numbers in the order
// of beginnings and returns. End is 0 for a call of unknown outcome: it may take effect at
// any time after its beginning, or never.
type Call[S comparable] struct {
	Begin, End int
	// Step is the specification: the next state, and whether the result of the call fits.
	Step func(state S) (next S, fits bool)
}

// ErrOrder: no order explains the results.
var ErrOrder = errors.New("not linearizable")

// ErrBudget: the search was given up, since too many calls are concurrent.
var ErrBudget = errors.New("too many concurrent calls to check")

// budget bounds the number of positions of a search.
const budget = 2_000_000

// Check searches an order, as Wing and Gong do, and remembers the positions from which there
// is none, as Lowe does.
func Check[S comparable](initial S, calls []Call[S]) error {
	s := search[S]{
		calls: slices.SortedFunc(slices.Values(calls), func(a, b Call[S]) int { return cmp.Compare(a.Begin, b.Begin) }),
		taken: make([]bool, len(calls)), failed: map[position[S]]bool{},
	}
	for _, c := range calls {
		if c.End != 0 {
			s.left++
		}
	}
	switch {
	case s.explain(initial, 0):
		return nil
	case s.visited > budget:
		return ErrBudget
	}
	return ErrOrder
}

// position is what decides about the rest of a search: the state, the calls before the
// first that has no place yet, and those after it that have one.
type position[S comparable] struct {
	state S
	first int
	later string
}

type search[S comparable] struct {
	calls   []Call[S] // by their beginnings
	taken   []bool    // the calls that have a place in the order
	left    int       // calls with a return that have no place
	failed  map[position[S]]bool
	visited int
}

// explain reports whether the calls without a place, none of which is before first, can be
// ordered behind the others.
func (s *search[S]) explain(state S, first int) bool {
	if s.left == 0 {
		return true
	}
	for first < len(s.calls) && s.taken[first] {
		first++
	}
	at := position[S]{state, first, s.later(first)}
	if s.visited++; s.failed[at] || s.visited > budget {
		return false
	}
	// The next call must have begun before all others without a place have returned.
	limit := 0
	for i := first; i < len(s.calls); i++ {
		c := s.calls[i]
		if limit != 0 && c.Begin > limit {
			break
		}
		if !s.taken[i] && c.End != 0 && (limit == 0 || c.End < limit) {
			limit = c.End
		}
	}
	for i := first; i < len(s.calls) && s.calls[i].Begin < limit; i++ {
		if s.taken[i] {
			continue
		}
		if next, fits := s.calls[i].Step(state); fits && s.place(i, next, first) {
			return true
		}
	}
	s.failed[at] = true
	return false
}

// place gives call i the next place, and reports whether the others can be ordered then.
func (s *search[S]) place(i int, next S, first int) bool {
	counts := s.calls[i].End != 0
	s.taken[i] = true
	if counts {
		s.left--
	}
	if s.explain(next, first) {
		return true
	}
	s.taken[i] = false
	if counts {
		s.left++
	}
	return false
}

// later names the calls after first that have a place.
func (s *search[S]) later(first int) string {
	var out []byte
	for i := first; i < len(s.calls); i++ {
		if s.taken[i] {
			out = append(out, byte(i), byte(i>>8), byte(i>>16))
		}
	}
	return string(out)
}
