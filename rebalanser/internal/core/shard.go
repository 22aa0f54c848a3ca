package core

import "slices"

// Shard is the assignment of one client. The zero value is that of a client
// without an assignment.
type Shard struct {
	// Client is the name of the client node that the shard is meant for. No
	// other client takes resources from it, not even the same instance after a
	// restart.
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
	// Stop: all members give up the resources that are not in their shards.
	Stop State = iota
	// Assigned: all members have stopped; the resources in the shards can be
	// started.
	Assigned
	// Confirmed: all members have started.
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
