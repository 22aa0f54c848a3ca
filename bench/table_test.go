package main

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rate and span are workloads in which more, or less, is better.
func rate(ratio float64) workload {
	return workload{name: "w", unit: perSecond, peers: allPeers(), target: always(ratio)}
}

func span(ratio float64) workload {
	return workload{name: "w", unit: milliseconds, peers: allPeers(), target: always(ratio)}
}

// figures are the figures of a peer, round by round.
func figures(peer string, values ...float64) (out []figure) {
	for i, v := range values {
		out = append(out, figure{Workload: "w", Peer: peer, Round: i + 1, Value: v})
	}
	return out
}

// rowOf is the row of w.
func rowOf(w workload, parts ...[]figure) row {
	var all []figure
	for _, part := range parts {
		all = append(all, part...)
	}
	return rows(loopback, []workload{w}, all)[0]
}

func TestARowHasTheMedianOfEachPeer(t *testing.T) {
	r := rowOf(rate(1), figures(ourName, 1, 100, 3), figures(curator, 8, 2))
	require.Equal(t, map[string]float64{ourName: 3, curator: 5}, r.medians)
}

func TestOursIsComparedWithTheBestMedianOfTheOthers(t *testing.T) {
	more := rowOf(rate(1), figures(ourName, 30), figures(kazoo, 10), figures(curator, 20))
	require.Equal(t, curator, more.best)
	require.InDelta(t, 1.5, more.ratio, 1e-9)
	less := rowOf(span(1), figures(ourName, 30), figures(kazoo, 10), figures(curator, 20))
	require.Equal(t, kazoo, less.best)
	require.InDelta(t, 3, less.ratio, 1e-9)
}

func TestTheRangeIsOfRatiosWithinOneRound(t *testing.T) {
	// A machine that becomes twice as fast from round to round changes no ratio.
	r := rowOf(rate(1), figures(ourName, 10, 20, 44), figures(curator, 5, 10, 20))
	require.InDelta(t, 2.0, r.low, 1e-9)
	require.InDelta(t, 2.2, r.high, 1e-9)
	require.InDelta(t, 2.0, r.ratio, 1e-9)
}

func TestATargetOfARateIsALeastAndThatOfATimeAMost(t *testing.T) {
	for _, c := range []struct {
		w       workload
		ours    float64
		reached bool
	}{
		{rate(2), 19, false}, {rate(2), 20, true}, {rate(2), 21, true},
		{span(0.5), 4, true}, {span(0.5), 5, true}, {span(0.5), 6, false},
	} {
		r := rowOf(c.w, figures(ourName, c.ours), figures(curator, 10))
		require.Equal(t, c.reached, r.reached(r.ratio, r.aim), "%v %v", c.w.unit, c.ours)
	}
}

func TestWithoutBothSidesThereIsNoRatio(t *testing.T) {
	for _, r := range []row{rowOf(rate(2)), rowOf(rate(2), figures(ourName, 5)), rowOf(rate(2), figures(curator, 5))} {
		require.Zero(t, r.ratio)
		require.False(t, r.reached(r.ratio, r.aim))
		require.Equal(t, []string{"-", "-", "≥ 2", "", "-", "-", ""}, r.judgeRatios())
	}
}

func TestARunThatFailedCountsForNothingAndShows(t *testing.T) {
	broken := figure{Workload: "w", Peer: kazoo, Round: 2, Error: "it takes too long"}
	r := rowOf(rate(2), figures(ourName, 10), figures(kazoo, 5), []figure{broken})
	require.InDelta(t, 2.0, r.ratio, 1e-9)
	require.Equal(t, "5.0 (1 failed)", r.cell(kazoo))
	r = rowOf(rate(2), figures(ourName, 10), []figure{broken})
	require.Empty(t, r.best)
	require.Equal(t, "(1 failed)", r.cell(kazoo))
	require.Equal(t, "-", r.cell(curator))
}

// A round in which only one side succeeded has no ratio.
func TestTheRangeLeavesOutRoundsWithOneSide(t *testing.T) {
	r := rowOf(rate(2), figures(ourName, 10, 40), figures(curator, 5))
	require.InDelta(t, 2.0, r.low, 1e-9)
	require.InDelta(t, 2.0, r.high, 1e-9)
}

func TestFiguresOfOtherWorkloadsStayOutOfARow(t *testing.T) {
	other := figure{Workload: "other", Peer: curator, Round: 1, Value: 1000}
	require.Empty(t, rowOf(rate(1), []figure{other}).medians)
}

func TestTargetsAndFloorsAreThoseOfTheProfile(t *testing.T) {
	floor := workload{name: "f", unit: perSecond, peers: []string{goZooKeeper}}
	w := workload{name: "w", unit: perSecond, peers: allPeers(), target: target{1, 2}, floor: "f", ofFloor: target{0, 0.9}}
	all := append(append(figures(ourName, 80), figures(curator, 50)...),
		figure{Workload: "f", Peer: goZooKeeper, Round: 1, Value: 100})
	require.Equal(t, []string{"1.60", "1.60 to 1.60", "≥ 1", "reached", "0.80", "-", ""}, rows(loopback, []workload{floor, w}, all)[1].judgeRatios())
	require.Equal(t, []string{"1.60", "1.60 to 1.60", "≥ 2", "missed", "0.80", "≥ 0.9", "missed"}, rows(lan, []workload{floor, w}, all)[1].judgeRatios())
}

func TestTheTableIsAligned(t *testing.T) {
	all := rows(loopback, []workload{rate(2), {name: "a floor", unit: milliseconds, peers: []string{curator}}},
		append(append(figures(ourName, 123456, 123456), figures(curator, 100, 300)...),
			figure{Workload: "a floor", Peer: curator, Round: 1, Value: 1.25}))
	var b strings.Builder
	require.NoError(t, write(&b, []string{ourName, curator}, all))
	require.Equal(t, `
| workload | unit | ours   | curator | ours / best | rounds      | target |         | ours / floor | target |     |
| ---      | ---  | ---    | ---     | ---         | ---         | ---    | ---     | ---          | ---    | --- |
| w        | op/s | 123456 | 200     | 617         | 412 to 1235 | ≥ 2    | reached | -            | -      |     |
| a floor  | ms   | -      | 1.2     | -           | -           | -      |         | -            | -      |     |
`, "\n"+b.String())
}

func TestAWorkloadIsChosenByItsNameAndThePeersThatAreWanted(t *testing.T) {
	locks := chosen(workloads(), regexp.MustCompile("^lock, .* clients?$"), []string{kazoo, ourName})
	var names []string
	for _, w := range locks {
		names = append(names, w.name)
		require.Equal(t, []string{ourName, kazoo}, w.peers)
	}
	require.Equal(t, []string{"lock, 1 client", "lock, 8 clients", "lock, 64 clients", "lock, 64 workers of 1 client"}, names)
	require.Empty(t, chosen(workloads(), regexp.MustCompile("^floor"), []string{ourName}))
	require.Len(t, chosen(workloads(), regexp.MustCompile(""), allPeers()), len(workloads()))
}

func TestWorkloadsCanBeToldApartAndCompared(t *testing.T) {
	seen := map[string]bool{}
	for _, w := range workloads() {
		require.False(t, seen[w.name], w.name)
		seen[w.name] = true
		require.Positive(t, w.task.Clients, w.name)
		require.Zero(t, w.task.Workers%w.task.Clients, "%s: clients have unlike numbers of workers", w.name)
		require.Contains(t, []string{perSecond, milliseconds, microseconds}, w.unit, w.name)
		if w.target != (target{}) {
			require.Contains(t, w.peers, ourName, w.name)
			require.Greater(t, len(w.peers), 1, w.name)
		}
		if w.floor != "" {
			require.True(t, seen[w.floor], "%s: its floor comes first", w.name)
		}
	}
}
