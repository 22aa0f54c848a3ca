package core

import (
	"maps"
	"slices"
)

// Phase is where a resource is on its way through a client.
type Phase int

const (
	// Acquiring: its barrier is being taken.
	Acquiring Phase = iota
	// Abandoning: its barrier is not wanted any more, and may be held.
	Abandoning
	// Held: it is owned, and its handler has not been called.
	Held
	// Starting: the handler is being told that it is owned.
	Starting
	// Running: the handler has been told.
	Running
	// Revoking: the handler is being told to give it up.
	Revoking
	// Releasing: it is being given back.
	Releasing
)

// phases has the phase of each resource; a client has nothing of a resource that is
// not in phases. A client may own tens of thousands of resources, of which an event
// concerns a few: so phases keeps the resources by phase, too.
type phases struct {
	of map[string]Phase
	in [Releasing + 1]map[string]struct{}
}

func newPhases() *phases {
	p := &phases{of: map[string]Phase{}}
	for i := range p.in {
		p.in[i] = map[string]struct{}{}
	}
	return p
}

// putResource puts r into a phase.
func (p *phases) putResource(r string, to Phase) {
	p.dropResource(r)
	p.of[r] = to
	p.in[to][r] = struct{}{}
}

// moveResources moves the resources of rs that are in the phase from into the phase
// to.
func (p *phases) moveResources(rs []string, from, to Phase) {
	for _, r := range rs {
		if now, known := p.of[r]; known && now == from {
			p.putResource(r, to)
		}
	}
}

// dropResource forgets r.
func (p *phases) dropResource(r string) {
	if now, known := p.of[r]; known {
		delete(p.in[now], r)
		delete(p.of, r)
	}
}

// namesIn are the resources in a phase, sorted.
func (p *phases) namesIn(of Phase) []string { return slices.Sorted(maps.Keys(p.in[of])) }
