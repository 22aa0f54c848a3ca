package prom

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// labels of a wait or hold.
type labels struct{ kind, path string }

// state is what has an age.
type state int

const (
	waiting state = iota
	holding
	disconnected
	states // how many there are
)

// ages has everything in progress, and computes the age of the oldest at each scrape: a
// wait that never ends is in no histogram.
type ages struct {
	descs [states]*prometheus.Desc

	mu   sync.Mutex // guards open
	open [states]map[uint64]opened
}

type opened struct {
	labels
	since time.Time
}

func newAges() *ages {
	a := &ages{}
	name := func(n string) string { return prometheus.BuildFQName(namespace, "", n) }
	both := []string{"kind", "path"}
	a.descs[waiting] = prometheus.NewDesc(name("oldest_wait_seconds"), "Age of the oldest wait in progress.", both, nil)
	a.descs[holding] = prometheus.NewDesc(name("oldest_hold_seconds"), "Age of the oldest hold.", both, nil)
	a.descs[disconnected] = prometheus.NewDesc(name("disconnected_seconds"), "How long the client that is longest without a connection has been so.", nil, nil)
	for i := range a.open {
		a.open[i] = map[uint64]opened{}
	}
	return a
}

func (a *ages) beginAge(s state, id uint64, l labels, since time.Time) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[s][id] = opened{l, since}
}

func (a *ages) end(s state, id uint64) (labels, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	o, known := a.open[s][id]
	delete(a.open[s], id)
	return o.labels, known
}

// Describe describes the ages.
func (a *ages) Describe(to chan<- *prometheus.Desc) {
	for _, d := range a.descs {
		to <- d
	}
}

// Collect computes the ages.
func (a *ages) Collect(to chan<- prometheus.Metric) {
	now := time.Now()
	var oldest [states]map[labels]float64
	a.mu.Lock()
	for s := range a.open {
		oldest[s] = map[labels]float64{}
		for _, o := range a.open[s] {
			oldest[s][o.labels] = max(oldest[s][o.labels], now.Sub(o.since).Seconds())
		}
	}
	a.mu.Unlock()
	for _, s := range []state{waiting, holding} {
		for l, age := range oldest[s] {
			to <- prometheus.MustNewConstMetric(a.descs[s], prometheus.GaugeValue, age, l.kind, l.path)
		}
	}
	to <- prometheus.MustNewConstMetric(a.descs[disconnected], prometheus.GaugeValue, oldest[disconnected][labels{}])
}
