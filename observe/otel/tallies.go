package otel

import (
	"context"
	"sync"

	"github.com/zkrecipes/zkrecipes/observe"
	"go.opentelemetry.io/otel/metric"
)

// maxGroups bounds the memory of tallies, whatever the paths are.
const maxGroups = 10_000

// tallies has what the up-down counters of caches and groups of resources have counted: the
// events have totals.
type tallies struct {
	entries, members, resources metric.Int64UpDownCounter

	mu     sync.Mutex                    // guards the fields below
	caches map[uint64]int                // entries of the last load, by cache
	groups map[string]observe.Rebalanced // the last assignment, by the group's path
}

// newTallies makes the counters.
func newTallies(meter metric.Meter) (*tallies, error) {
	m := &maker{Meter: meter}
	return &tallies{
		entries:   m.upDown("zkrecipes.cache.entries", "{entry}", "Entries of the running caches when each was loaded last."),
		members:   m.upDown("zkrecipes.rebalance.members", "{member}", "Members of the groups that this process coordinates, at the last assignment."),
		resources: m.upDown("zkrecipes.rebalance.resources", "{resource}", "Resources of the groups that this process coordinates, at the last assignment."),
		caches:    map[uint64]int{}, groups: map[string]observe.Rebalanced{},
	}, m.failed
}

// addCache counts the entries of a cache that was loaded, or has ended.
func (t *tallies) addCache(ctx context.Context, cache uint64, entries int, of metric.MeasurementOption) {
	t.mu.Lock()
	more := entries - t.caches[cache]
	if t.caches[cache] = entries; entries == 0 {
		delete(t.caches, cache)
	}
	t.mu.Unlock()
	t.entries.Add(ctx, int64(more), of)
}

// addGroup counts an assignment that was carried out.
func (t *tallies) addGroup(ctx context.Context, e observe.Rebalanced, of metric.MeasurementOption) {
	t.mu.Lock()
	last, known := t.groups[e.Path]
	kept := known || len(t.groups) < maxGroups
	if kept {
		t.groups[e.Path] = e
	}
	t.mu.Unlock()
	if kept {
		t.members.Add(ctx, int64(e.Members-last.Members), of)
		t.resources.Add(ctx, int64(e.Resources-last.Resources), of)
	}
}

// removeGroup counts a group off that this process no longer coordinates.
func (t *tallies) removeGroup(ctx context.Context, path string, of metric.MeasurementOption) {
	t.mu.Lock()
	last, known := t.groups[path]
	delete(t.groups, path)
	t.mu.Unlock()
	if known {
		t.members.Add(ctx, -int64(last.Members), of)
		t.resources.Add(ctx, -int64(last.Resources), of)
	}
}
