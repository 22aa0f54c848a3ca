package core

import "slices"

// Shard is what one client is assigned. The zero value is that of somebody who has
// been assigned nothing yet.
type Shard struct {
	// Client is the name of the client node that it is meant for. Nobody else
	// takes anything from it, also not the same instance after a restart.
	Client     string
	Generation int64
	Resources  []string // sorted
}

// hasResource reports whether the shard assigns r.
func (s Shard) hasResource(r string) bool {
	_, found := slices.BinarySearch(s.Resources, r)
	return found
}

// sortResources is the shard with sorted resources, as [Shard.has] needs it. A shard that another
// client has written may be unsorted.
func (s Shard) sortResources() Shard {
	for i := 1; i < len(s.Resources); i++ {
		if s.Resources[i-1] >= s.Resources[i] {
			s.Resources = slices.Compact(slices.Sorted(slices.Values(s.Resources)))
			break
		}
	}
	return s
}

// State is how far a generation has come, in global mode.
type State int

const (
	// Stop: everybody gives up what is not in its shard.
	Stop State = iota
	// Assigned: everybody has; what is in the shards can be started.
	Assigned
	// Confirmed: everybody has started.
	Confirmed
)

// Status is the group's, in global mode. The zero value is that of a group without
// any generation.
type Status struct {
	Generation int64
	State      State
}

// isBefore reports whether s is older than o.
func (s Status) isBefore(o Status) bool {
	if s.Generation != o.Generation {
		return s.Generation < o.Generation
	}
	return s.State < o.State
}
