package provider

import (
	"math/rand/v2"
	"sort"

	"github.com/zkrecipes/zkrecipes/discovery"
)

// Picker chooses an instance. It is called with at least one candidate, always in
// the order in which they were registered, and returns an index. It must not
// block, nor call the provider. A picker has a state of its own, and serves one
// provider.
type Picker interface {
	Pick(candidates []Candidate) int
}

// Candidate is an instance that may be used. It must not be changed.
type Candidate struct {
	*discovery.Instance
	// InFlight is how many leases on it have not ended.
	InFlight int
}

// PickerFunc makes a picker of a function.
type PickerFunc func(candidates []Candidate) int

// Pick calls the function.
func (f PickerFunc) Pick(candidates []Candidate) int { return f(candidates) }

// RoundRobin takes one after the other. When the list changes it goes on behind
// the one that was last.
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

// Random takes any, each as likely as the others.
func Random() Picker {
	return PickerFunc(func(candidates []Candidate) int { return rand.IntN(len(candidates)) })
}

// Sticky takes one that inner has chosen, for as long as it is there.
func Sticky(inner Picker) Picker {
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

// Weighted takes each as often as its weight says, in relation to the others, and
// spreads them as evenly as it can: of weights 2 and 1 the first, the second, the
// first, and so on. Weights come from the instance's payload as a rule. One below
// 1 is never picked, unless all are: then any is.
func Weighted(weight func(discovery.Instance) int) Picker {
	// Smooth weighted round robin: everybody earns his weight, the richest is
	// picked and pays for all.
	earned := map[key]int64{}
	return PickerFunc(func(candidates []Candidate) int {
		best, most, total := -1, int64(0), int64(0)
		if len(earned) > len(candidates) { // some have gone
			earned = present(earned, candidates)
		}
		for n, c := range candidates {
			// Within what sums of do not overflow.
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

// present is what those have earned who are there.
func present(earned map[key]int64, candidates []Candidate) map[key]int64 {
	out := make(map[key]int64, len(candidates))
	for _, c := range candidates {
		if n, ok := earned[keyOf(c.Instance)]; ok {
			out[keyOf(c.Instance)] = n
		}
	}
	return out
}

// FewestInFlight takes one of those with the fewest leases, in turn.
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

// Prefer lets inner choose among those that prefer names, and among all if there
// are none: those of one's own zone, for instance.
func Prefer(prefer func(discovery.Instance) bool, inner Picker) Picker {
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
			return -1 // what inner says is none of them
		}
		return at[n]
	})
}
