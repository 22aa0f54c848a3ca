package ui

import (
	"slices"

	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/ui/recognize"
)

// The facets of locks and elections, as in addresses of pages.
const (
	facetProblem  = "problem"
	facetHeld     = "held"
	facetLed      = "led"
	facetWaited   = "waiting"
	facetFree     = "free"
	facetLeadless = "leaderless"
)

// facetsOf are the states of a lock or an election; a lock may be held and waited for.
func facetsOf(t *recognize.Thing) (out []string) {
	if len(t.Problems) > 0 {
		out = append(out, facetProblem)
	}
	if t.Kind != recognize.Election && !isLock(t.Kind) {
		return out
	}
	held, election := len(t.Holders()) > 0, t.Kind == recognize.Election
	switch {
	case held && election:
		out = append(out, facetLed)
	case held:
		out = append(out, facetHeld)
	case election:
		out = append(out, facetLeadless)
	}
	if t.Waiting() > 0 {
		out = append(out, facetWaited)
	}
	if free := t.Permits != nil && t.Permits.Free() > 0; !election && (free || !held) {
		out = append(out, facetFree)
	}
	return out
}

// parseFacet is a facet by its name; "" for anything else.
func parseFacet(name string) string {
	all := slices.Concat(taskOrder(), workerOrder())
	all = append(all, facetProblem, facetHeld, facetLed, facetWaited, facetFree, facetLeadless, facetReady, facetDisabled, facetBroken, facetDown)
	all = append(all, resourceOrder()...)
	if slices.Contains(all, name) {
		return name
	}
	return ""
}

// isLock reports whether a kind is one of the page of locks.
func isLock(k recognize.Kind) bool {
	return k == recognize.Mutex || k == recognize.RWLock || k == recognize.Semaphore
}
