package rebalanser_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/rebalanser"
)

// takenAssignments returns the assignments that were taken since the last call.
func (s *seen) takenAssignments() []observe.AssignmentTaken {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := s.taken
	s.taken = nil
	return out
}

// requireTaken compares the only assignment that was taken since the last call, and returns its
// duration and generation.
func requireTaken(w *World, s *seen, resources int) (time.Duration, int64) {
	w.Helper()
	all := s.takenAssignments()
	require.Len(w, all, 1)
	require.Equal(w, observe.AssignmentTaken{Path: path, Generation: all[0].Generation, Resources: resources, Took: all[0].Took}, all[0])
	return all[0].Took, all[0].Generation
}

// The time until all resources of a rebalancing are owned is the longest of the members'.
func TestMembersReportWhenTheyHaveWhatTheyAreAssigned(t *testing.T) {
	inBoth(t, func(w *World) {
		a := w.stock(4)
		slow := func(ctx context.Context, what string, _ []*rebalanser.Resource) error {
			if strings.HasPrefix(what, "-") {
				world.SleepContext(ctx, 2*time.Second)
			}
			return nil
		}
		c1, s1 := w.observed("c1", rebalanser.Options{}, nil)
		c1.before = slow
		c1.run()
		w.Pass(time.Second)
		took, first := requireTaken(w, s1, 4)
		require.Less(w, took, time.Second)

		c2, s2 := w.observed("c2", rebalanser.Options{}, nil)
		c2.run()
		w.Pass(time.Second)
		require.Empty(w, s1.takenAssignments(), "it is giving up two resources")
		require.Empty(w, s2.takenAssignments())
		w.Pass(5 * time.Second)
		took, next := requireTaken(w, s1, 2)
		require.Equal(w, first+1, next)
		require.InDelta(w, 2, took.Seconds(), 0.5)
		took, of := requireTaken(w, s2, 2)
		require.Equal(w, next, of)
		require.InDelta(w, 2, took.Seconds(), 0.5)

		// An assignment that does not change is not taken.
		_, err := a.AddResources(w.Ctx, "r04")
		require.NoError(w, err)
		w.Pass(time.Second)
		require.Len(w, append(s1.takenAssignments(), s2.takenAssignments()...), 1)

		// Members that leave take nothing.
		c2.stop()
		w.Pass(5 * time.Second)
		require.Empty(w, s2.takenAssignments())
		requireTaken(w, s1, 5)
		c1.stop()
		require.Empty(w, s1.takenAssignments())
	})
}

// A client that was lost is followed by another, which takes the assignment again.
func TestAssignmentIsTakenAgainAfterALoss(t *testing.T) {
	inWorld(t, rebalanser.ResourceBarrier, nil, func(w *World) {
		w.stock(3)
		c1, s := w.observed("c1", rebalanser.Options{}, nil)
		c1.run()
		w.Pass(time.Second)
		requireTaken(w, s, 3)
		require.NoError(w, w.Server.ExpireSession(w.ID(c1.client)))
		w.Pass(time.Minute)
		requireTaken(w, s, 3)
	})
}

// Each coordinator reports its end, so that an observer can forget the group.
func TestEndOfCoordinationIsReportedOnce(t *testing.T) {
	inBoth(t, func(w *World) {
		w.stock(2)
		ends := func(s *seen) int {
			s.mu.Lock()
			defer s.mu.Unlock()
			return s.overs
		}
		c1, s1 := w.observed("c1", rebalanser.Options{}, nil)
		c1.run()
		w.Pass(time.Second)
		c2, s2 := w.observed("c2", rebalanser.Options{}, nil)
		c2.run()
		w.Pass(time.Second)
		require.Zero(w, ends(s1)+ends(s2))
		c1.stop()
		w.Pass(time.Second)
		require.Equal(w, 1, ends(s1))
		require.Zero(w, ends(s2))
		require.NoError(w, w.Server.ExpireSession(w.ID(c2.client)))
		w.Pass(time.Minute)
		require.Equal(w, 1, ends(s2), "its next client coordinates")
		c2.stop()
		require.Equal(w, 2, ends(s2))
		require.Equal(w, 1, ends(s1))
	})
}
