package otel

import (
	"context"
	"sync"
	"time"

	"github.com/zkrecipes/zkrecipes/observe"
	"go.opentelemetry.io/otel/metric"
)

// sessions has what is computed for each collection: the sums of the newest samples of the
// clients, and ages.
type sessions struct {
	holds, watches, deletions metric.Int64ObservableGauge
	trust, disconnected       metric.Float64ObservableGauge

	mu      sync.Mutex // guards the fields below, by client
	samples map[uint64]sample
	lost    map[uint64]time.Time // since when a client has had no connection
}

type sample struct {
	observe.SessionSampled
	until time.Time // when the holds are given up, unless a proof comes before
}

// newSessions registers the metrics with meter.
func newSessions(meter metric.Meter) (*sessions, error) {
	s := &sessions{samples: map[uint64]sample{}, lost: map[uint64]time.Time{}}
	m := &maker{Meter: meter}
	s.holds = m.gauge("zkrecipes.session.holds", "{hold}", "What the sessions hold.")
	s.watches = m.gauge("zkrecipes.session.watches", "{watch}", "Watches and subscriptions of the sessions.")
	s.deletions = m.gauge("zkrecipes.session.deletions", "{deletion}", "Deletions in the background that no server has confirmed.")
	s.trust = m.seconds("zkrecipes.session.trust_left", "Time until the holds of the session with the least trust are given up, unless a proof comes before.")
	s.disconnected = m.seconds("zkrecipes.session.disconnected", "How long the client that is longest without a connection has been so.")
	if m.failed != nil {
		return nil, m.failed
	}
	_, err := meter.RegisterCallback(s.collect, s.holds, s.watches, s.deletions, s.trust, s.disconnected)
	return s, err
}

// note takes an event of a session.
func (s *sessions) note(e observe.Event) {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e := e.(type) {
	case observe.SessionSampled:
		s.samples[e.Client] = sample{e, now.Add(e.TrustLeft)}
	case observe.HeartbeatEnded:
		if was, known := s.samples[e.Client]; known && e.Holds > 0 {
			was.Holds, was.until = e.Holds, now.Add(e.TrustLeft)
			s.samples[e.Client] = was
		}
	case observe.NoConnection:
		s.lost[e.Client] = now.Add(-e.For)
	case observe.SessionChanged:
		if e.Status == "connected" || e.Status == "closed" {
			delete(s.lost, e.Client)
		}
		if e.Status == "lost" || e.Status == "closed" {
			delete(s.samples, e.Client)
		}
	}
}

func (s *sessions) collect(_ context.Context, to metric.Observer) error {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	var holds, watches, deletions int
	trust, away := -1.0, 0.0
	for _, e := range s.samples {
		holds, watches, deletions = holds+e.Holds, watches+e.Watches, deletions+e.Deletions
		if left := max(0, e.until.Sub(now).Seconds()); e.Holds > 0 && (trust < 0 || left < trust) {
			trust = left
		}
	}
	for _, since := range s.lost {
		away = max(away, now.Sub(since).Seconds())
	}
	to.ObserveInt64(s.holds, int64(holds))
	to.ObserveInt64(s.watches, int64(watches))
	to.ObserveInt64(s.deletions, int64(deletions))
	if trust >= 0 {
		to.ObserveFloat64(s.trust, trust)
	}
	to.ObserveFloat64(s.disconnected, away)
	return nil
}
