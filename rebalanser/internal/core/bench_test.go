package core

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// many is a shard of n resources.
func many(n int, generation int64) Shard {
	s := Shard{Client: "a", Generation: generation}
	for i := range n {
		s.Resources = append(s.Resources, fmt.Sprintf("r%06d", i))
	}
	return s
}

// trickle has a follower acquire, start, revoke and release its shard, one at a time.
func trickle(n int) *Follower {
	f, s := NewFollower(Resource, "a", false), many(n, 1)
	f.Assignment(s)
	for i := range s.Resources {
		f.Acquired(s.Resources[i : i+1])
		f.Started(s.Resources[i : i+1])
	}
	f.Assignment(Shard{Client: "a", Generation: 2})
	f.Revoked(s.Resources)
	for i := range s.Resources {
		f.Released(s.Resources[i : i+1])
	}
	return f
}

// The cost of an event depends on the resources concerned, not on all owned
// resources: 20,000 barriers acquired one by one take seconds, not minutes.
func TestManyResourcesOneByOne(t *testing.T) {
	began := world.ProcessorTime()
	require.Empty(t, trickle(20_000).Phases())
	require.Less(t, world.ProcessorTime()-began, 5*time.Second)
}

func BenchmarkFollowerTrickle(b *testing.B) {
	for b.Loop() {
		trickle(10_000)
	}
}
