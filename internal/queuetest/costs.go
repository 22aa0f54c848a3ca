package queuetest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// costs are the scenarios of a recipe's costs, as counted at the server.
func costs() map[string]scenario {
	return map[string]scenario{
		"UncontendedIsTwoRequestsInOneRoundTripAndReleaseIsOne": uncontendedCost,
		"AcquireAfterALongPauseIsAtMostThreeRequests":           costAfterPause,
		"NothingIsSentWhileHeldButHeartbeats":                   costOfHolding,
	}
}

func uncontendedCost(t *testing.T, tg Target) {
	for i, layout := range slices.Concat([]func(*session.Client, string) Contender{tg.New}, tg.Layouts) {
		t.Run(fmt.Sprint("layout ", i), func(t *testing.T) {
			tg.in(t, nil, func(s *scene) {
				c := s.Client()
				k := layout(c, s.Path)
				s.release(s.get(k.Acquire)) // the path exists, trust is proved
				s.Settle()
				const oneWay = 10 * time.Millisecond
				s.Server.Delay(zktest.Link{}, zktest.Both, oneWay)
				s.ResetStats()
				began := time.Now()
				h := s.get(k.Acquire)
				require.Equal(s, time.Duration(2*world.RoundTripsOfCreation())*oneWay, time.Since(began), "round trips")
				require.Equal(s, world.Requests(map[string]int{"create2": 1, "getChildren2": 1}), s.Server.Stats().BySession[s.ID(c)])
				s.ResetStats()
				began = time.Now()
				s.release(h)
				require.Equal(s, 2*oneWay, time.Since(began), "round trips")
				require.Equal(s, map[string]int{"delete": 1}, s.Server.Stats().BySession[s.ID(c)])
				s.Server.Heal()
			})
		})
	}
}

// A client whose trust has run out needs one proof more: a creation and two requests, in two
// round trips, at most.
func costAfterPause(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		k := s.contender(c)
		s.release(s.get(k.Acquire))
		// A stranger's child keeps the server from deleting the container.
		require.NoError(s, s.Server.Create(s.Folder+"/config", nil))
		creation := world.Requests(map[string]int{"create2": 1})
		for _, pause := range []time.Duration{time.Second, 9 * time.Second, time.Minute, time.Hour} {
			s.Pass(pause)
			s.ResetStats()
			began := time.Now()
			h := s.get(k.Acquire)
			require.LessOrEqual(s, s.Requests(c), len(creation)+2, "after %v: %v", pause, s.Server.Stats().Requests)
			require.Less(s, time.Since(began), 2*time.Second, "after %v", pause)
			s.release(h)
		}
	})
}

// One heartbeat per period serves all holds.
func costOfHolding(t *testing.T, tg Target) {
	tg.in(t, nil, func(s *scene) {
		c := s.Client()
		for i := range 10 {
			s.get(s.at(c, fmt.Sprint(s.Path, i)).Acquire)
		}
		s.Pass(10 * time.Second)
		s.ResetStats()
		s.Pass(10 * time.Minute)
		counts := s.Server.Stats().BySession[s.ID(c)]
		require.InDelta(s, 10*60/s.Session(c).Heartbeat().Seconds(), counts["multi"], 10, "%v", counts)
		require.LessOrEqual(s, s.Session(c).Heartbeat(), session.DefaultTimeout/10)
		require.Len(s, counts, 2, "pings and heartbeats only: %v", counts)
	})
}
