package exporter_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/election"
	"github.com/zkrecipes/zkrecipes/lock"
)

// changeLeader makes one leader after another of each election, and waits until the
// exporter has seen the last of them.
func (s *stage) changeLeader(total float64, paths ...string) {
	s.Helper()
	var leaders []*election.Leadership
	for _, path := range paths {
		leader, err := election.New(s.client, path, nil).Campaign(s.ctx)
		require.NoError(s, err)
		leaders = append(leaders, leader)
	}
	s.eventually(func(got map[string]float64) bool {
		changes, exists := got[`leader_changes_total{path="other"}`]
		return exists && changes == total
	})
	for _, leader := range leaders {
		require.NoError(s, leader.Resign(s.ctx))
	}
}

// A counter never decreases, also if elections that share a series go.
func TestChangesOfLeadersAreNeverTakenBack(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 1)
	_, err := lock.New(s.client, "/first", nil).Lock(s.ctx)
	require.NoError(t, err)
	s.eventually(func(got map[string]float64) bool { return got[`holders{kind="mutex",path="/first"}`] == 1 })
	const series = `leader_changes_total{path="other"}`
	s.changeLeader(0, "/a", "/b")
	s.changeLeader(2, "/a", "/b")
	require.NoError(t, s.srv.DeleteAll("/a"))
	got := s.eventually(func(got map[string]float64) bool { return got["znodes"] < 6 && got["things{kind=\"mutex\"}"] == 1 })
	require.InDelta(t, 2, got[series], 0, "%v", got)
	s.changeLeader(3, "/b")
}

// When ZooKeeper is back, no scrape is current with the values from before the outage.
func TestValuesFromBeforeAnOutageAreNotCurrent(t *testing.T) {
	t.Parallel()
	s := newStage(t, "/", 10)
	count := counter.New(s.client, "/count", nil)
	_, err := count.Add(s.ctx, 42)
	require.NoError(t, err)
	const series = `counter_value{path="/count"}`
	s.eventually(func(got map[string]float64) bool { return got[series] == 42 })
	for range 3 {
		require.NoError(t, s.srv.Stop(1))
		s.eventually(func(got map[string]float64) bool { return got["view_current"] == 0 })
		back := time.Now()
		require.NoError(t, s.srv.Restart(1))
		s.eventually(func(got map[string]float64) bool {
			if got["view_current"] == 1 {
				require.Less(t, got["view_age_seconds"], time.Since(back).Seconds(), "a view from before the outage")
			}
			return got["view_current"] == 1
		})
	}
}
