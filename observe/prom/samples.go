package prom

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/zkrecipes/zkrecipes/observe"
)

// samples has the newest sample of each client with a session.
type samples struct {
	holds, trust, watches, deletions *prometheus.Desc

	mu     sync.Mutex // guards newest
	newest map[uint64]sample
}

type sample struct {
	observe.SessionSampled
	until time.Time // when the holds are given up, unless a proof comes before
}

func newSamples() *samples {
	desc := func(name, help string) *prometheus.Desc {
		return prometheus.NewDesc(prometheus.BuildFQName(namespace, "", name), help, nil, nil)
	}
	return &samples{
		holds:     desc("session_holds", "What the sessions hold."),
		trust:     desc("trust_left_seconds", "Time until the holds of the session with the least trust are given up, unless a proof comes before."),
		watches:   desc("session_watches", "Watches and subscriptions of the sessions."),
		deletions: desc("session_deletions", "Deletions in the background that no server has confirmed."),
		newest:    map[uint64]sample{},
	}
}

func (s *samples) add(e observe.SessionSampled) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest[e.Client] = sample{e, time.Now().Add(e.TrustLeft)}
}

// renew takes the trust after a heartbeat over into the sample of its session.
func (s *samples) renew(e observe.HeartbeatEnded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, known := s.newest[e.Client]; known && e.Holds > 0 {
		was.Holds, was.until = e.Holds, time.Now().Add(e.TrustLeft)
		s.newest[e.Client] = was
	}
}

// remove forgets a client whose session has ended.
func (s *samples) remove(client uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.newest, client)
}

// Describe describes the sums.
func (s *samples) Describe(to chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.holds, s.trust, s.watches, s.deletions} {
		to <- d
	}
}

// Collect adds the samples up. There is no trust without holds.
func (s *samples) Collect(to chan<- prometheus.Metric) {
	var holds, watches, deletions int
	var least *float64
	s.mu.Lock()
	for _, e := range s.newest {
		holds, watches, deletions = holds+e.Holds, watches+e.Watches, deletions+e.Deletions
		if left := max(0, time.Until(e.until).Seconds()); e.Holds > 0 && (least == nil || left < *least) {
			least = &left
		}
	}
	s.mu.Unlock()
	gauge := func(d *prometheus.Desc, v float64) {
		to <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
	gauge(s.holds, float64(holds))
	gauge(s.watches, float64(watches))
	gauge(s.deletions, float64(deletions))
	if least != nil {
		gauge(s.trust, *least)
	}
}
