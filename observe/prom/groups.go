package prom

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zkrecipes/zkrecipes/observe"
)

// maxGroups bounds the memory of groups, whatever the labels are.
const maxGroups = 10_000

// groups has the last assignment of each group of resources: several groups may have one
// label.
type groups struct {
	members, resources *prometheus.Desc

	mu   sync.Mutex // guards last, by the group's path
	last map[string]assigned
}

type assigned struct {
	label              string
	members, resources int
}

func newGroups() *groups {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"path"}, nil)
	}
	return &groups{
		members:   desc("rebalance_members", "Members of the groups that this process coordinates, at the last assignment."),
		resources: desc("rebalance_resources", "Resources of the groups that this process coordinates, at the last assignment."),
		last:      map[string]assigned{},
	}
}

func (g *groups) add(e observe.Rebalanced, label string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, known := g.last[e.Path]; known || len(g.last) < maxGroups {
		g.last[e.Path] = assigned{label, e.Members, e.Resources}
	}
}

// remove forgets a group that this process no longer coordinates.
func (g *groups) remove(path string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	delete(g.last, path)
}

// Describe describes the sums.
func (g *groups) Describe(to chan<- *prometheus.Desc) {
	to <- g.members
	to <- g.resources
}

// Collect adds the groups of each label up.
func (g *groups) Collect(to chan<- prometheus.Metric) {
	sums := map[string]assigned{}
	g.mu.Lock()
	for _, a := range g.last {
		s := sums[a.label]
		sums[a.label] = assigned{a.label, s.members + a.members, s.resources + a.resources}
	}
	g.mu.Unlock()
	for label, s := range sums {
		to <- prometheus.MustNewConstMetric(g.members, prometheus.GaugeValue, float64(s.members), label)
		to <- prometheus.MustNewConstMetric(g.resources, prometheus.GaugeValue, float64(s.resources), label)
	}
}
