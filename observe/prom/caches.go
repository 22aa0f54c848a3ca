package prom

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zkrecipes/zkrecipes/observe"
)

// caches has every running cache: several may have one label.
type caches struct {
	synced, stale, entries *prometheus.Desc

	mu      sync.Mutex // guards running
	running map[uint64]runningCache
}

type runningCache struct {
	label   string
	stale   time.Time // since when the cache is not current; zero while it is
	entries int       // of the last load
}

func newCaches() *caches {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, []string{"path"}, nil)
	}
	return &caches{
		synced:  desc("cache_synced", "1 while all running caches of the path are current, otherwise 0."),
		stale:   desc("cache_stale_seconds", "How long the cache that is longest not current has not been; 0 while all are."),
		entries: desc("cache_entries", "Entries of the running caches when each was loaded last."),
		running: map[uint64]runningCache{},
	}
}

// observe notes an event of a cache, whose path has the given label.
func (c *caches) observe(e observe.Event, label func(path string) string) {
	now := time.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := e.(type) {
	case observe.CacheBegun:
		c.running[e.Cache] = runningCache{label: label(e.Path), stale: now}
	case observe.CacheSynced:
		c.running[e.Cache] = runningCache{label: label(e.Path), entries: e.Entries}
	case observe.CacheStale:
		if was, known := c.running[e.Cache]; known {
			was.stale = now
			c.running[e.Cache] = was
		}
	case observe.CacheEnded:
		delete(c.running, e.Cache)
	}
}

// Describe describes the metrics of caches.
func (c *caches) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{c.synced, c.stale, c.entries} {
		to <- d
	}
}

// Collect computes the metrics of caches.
func (c *caches) Collect(to chan<- prometheus.Metric) {
	type sum struct{ synced, stale, entries float64 }
	sums := map[string]sum{}
	now := time.Now()
	c.mu.Lock()
	for _, r := range c.running {
		s, known := sums[r.label]
		if !known {
			s.synced = 1
		}
		if s.entries += float64(r.entries); !r.stale.IsZero() {
			s.synced, s.stale = 0, max(s.stale, now.Sub(r.stale).Seconds())
		}
		sums[r.label] = s
	}
	c.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64, label string) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, label)
	}
	for label, s := range sums {
		gauge(c.synced, s.synced, label)
		gauge(c.stale, s.stale, label)
		gauge(c.entries, s.entries, label)
	}
}
