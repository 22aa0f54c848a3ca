package provider

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sort"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// Picker chooses an instance. It is called with at least one candidate, always in
// the order of registration, and returns an index. A picker must not block, and
// must not call the provider. A picker has a state of its own, and serves one
// provider.
type Picker interface {
	Pick(candidates []Candidate) int
}

// Candidate is an instance that may be used. It must not be changed.
type Candidate struct {
	*discovery.Instance
	// InFlight is the number of open leases on the instance.
	InFlight int
}

// PickerFunc makes a picker of a function.
type PickerFunc func(candidates []Candidate) int

// Pick calls the function.
func (f PickerFunc) Pick(candidates []Candidate) int {
	if f == nil {
		panic("provider: the PickerFunc is nil: make it with a function")
	}
	return f(candidates)
}

// invalidPicker is the Picker that a constructor returns for an invalid argument. [New]
// reports the error; a picker of the user's own that calls Pick panics with the error.
type invalidPicker struct{ err error }

func (p invalidPicker) Pick([]Candidate) int { panic("provider: " + p.err.Error()) }

// pickerError returns why picker cannot pick, if that is known.
func pickerError(picker Picker) error {
	switch p := picker.(type) {
	case nil:
		return errors.New("the picker is nil")
	case PickerFunc:
		if p == nil {
			return errors.New("the picker is nil")
		}
	case invalidPicker:
		return p.err
	}
	return nil
}

// RoundRobin picks one instance after the other. When the list changes,
// RoundRobin continues behind the last pick.
func RoundRobin() Picker {
	var last key
	return PickerFunc(func(candidates []Candidate) int {
		// By place, not by count: a counter would jump when the list
		// changes, and overflow in the end.
		at := sort.Search(len(candidates), func(n int) bool { return keyOf(candidates[n].Instance).compare(last) > 0 })
		at %= len(candidates)
		last = keyOf(candidates[at].Instance)
		return at
	})
}

// Random picks each instance with the same probability.
func Random() Picker {
	return PickerFunc(func(candidates []Candidate) int { return rand.IntN(len(candidates)) })
}

// Sticky keeps the instance that inner has picked, as long as the instance is
// present.
func Sticky(inner Picker) Picker {
	if err := pickerError(inner); err != nil {
		return invalidPicker{fmt.Errorf("Sticky: %w", err)}
	}
	var chosen key
	return PickerFunc(func(candidates []Candidate) int {
		for n, c := range candidates {
			if keyOf(c.Instance) == chosen {
				return n
			}
		}
		n := inner.Pick(candidates)
		if n >= 0 && n < len(candidates) {
			chosen = keyOf(candidates[n].Instance)
		}
		return n
	})
}

// Weighted picks instances in proportion to their weights, and spreads the picks
// as evenly as possible: with weights 2 and 1 the first, the second, the first,
// and so on. Weights usually come from the instance's payload. An instance with a
// weight below 1 is never picked, unless all are below 1: then any instance is
// picked.
func Weighted(weight func(discovery.Instance) int) Picker {
	if weight == nil {
		return invalidPicker{errors.New("Weighted: the function is nil")}
	}
	// Smooth weighted round robin: every instance earns its weight, the richest is
	// picked and pays for all.
	earned := map[key]int64{}
	return PickerFunc(func(candidates []Candidate) int {
		best, most, total := -1, int64(0), int64(0)
		if len(earned) > len(candidates) { // some have gone
			earned = present(earned, candidates)
		}
		for n, c := range candidates {
			// Sums of numbers in this range do not overflow.
			w := min(max(0, int64(weight(*c.Instance))), 1<<31)
			if w == 0 {
				continue
			}
			k := keyOf(c.Instance)
			own := earned[k] + w
			earned[k] = own
			total += w
			if best < 0 || own > most {
				best, most = n, own
			}
		}
		if best < 0 {
			return rand.IntN(len(candidates))
		}
		earned[keyOf(candidates[best].Instance)] -= total
		return best
	})
}

// present is earned without the instances that have left the list.
func present(earned map[key]int64, candidates []Candidate) map[key]int64 {
	out := make(map[key]int64, len(candidates))
	for _, c := range candidates {
		if n, ok := earned[keyOf(c.Instance)]; ok {
			out[keyOf(c.Instance)] = n
		}
	}
	return out
}

// FewestInFlight picks among the instances with the fewest leases, in turn.
func FewestInFlight() Picker {
	turn := RoundRobin()
	return PickerFunc(func(candidates []Candidate) int {
		idle, at := make([]Candidate, 0, len(candidates)), make([]int, 0, len(candidates))
		for n, c := range candidates {
			if len(idle) > 0 && c.InFlight < idle[0].InFlight {
				idle, at = idle[:0], at[:0]
			}
			if len(idle) == 0 || c.InFlight == idle[0].InFlight {
				idle, at = append(idle, c), append(at, n)
			}
		}
		return at[turn.Pick(idle)]
	})
}

// Prefer lets inner choose among the instances that prefer selects, for example
// those of the same zone, or among all instances if prefer selects none.
func Prefer(prefer func(discovery.Instance) bool, inner Picker) Picker {
	if err := pickerError(inner); err != nil {
		return invalidPicker{fmt.Errorf("Prefer: %w", err)}
	}
	if prefer == nil {
		return invalidPicker{errors.New("Prefer: the function is nil")}
	}
	return PickerFunc(func(candidates []Candidate) int {
		near, at := make([]Candidate, 0, len(candidates)), make([]int, 0, len(candidates))
		for n, c := range candidates {
			if prefer(*c.Instance) {
				near, at = append(near, c), append(at, n)
			}
		}
		if len(near) == 0 {
			return inner.Pick(candidates)
		}
		n := inner.Pick(near)
		if n < 0 || n >= len(near) {
			return -1 // inner's choice is not one of them
		}
		return at[n]
	})
}
