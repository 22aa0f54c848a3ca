package session

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
)

// trustMeter knows of the trust of clients what an observer can know.
type trustMeter struct {
	mu      sync.Mutex
	until   map[uint64]time.Time // by client, while it holds something
	samples int
}

// Observe notes the trust.
func (m *trustMeter) Observe(_ context.Context, e observe.Event) {
	switch e := e.(type) {
	case observe.HeartbeatEnded:
		m.note(e.Client, e.Holds, e.TrustLeft, 0)
	case observe.SessionSampled:
		m.note(e.Client, e.Holds, e.TrustLeft, 1)
	}
}

func (m *trustMeter) note(client uint64, holds int, left time.Duration, samples int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.samples += samples
	if delete(m.until, client); holds > 0 {
		m.until[client] = time.Now().Add(left)
	}
}

// least is the least time of trust left, and of how many clients.
func (m *trustMeter) least() (left time.Duration, clients int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	left = time.Hour
	for _, until := range m.until {
		left = min(left, time.Until(until))
	}
	return left, len(m.until)
}

// An observer hears soon that nothing is held any more: otherwise the trust that it has heard
// of last seems to run out.
func TestEndOfTheLastHoldIsSampled(t *testing.T) {
	m := &trustMeter{until: map[uint64]time.Time{}}
	inWorld(t, nil, &Options{Observer: m}, func(w *world) {
		h := w.createHeld(w.s, "/h")
		w.sleep(10500 * time.Millisecond)
		_, clients := m.least()
		require.Equal(w, 1, clients)
		h.End(nil)
		w.sleep(1500 * time.Millisecond)
		_, clients = m.least()
		require.Zero(w, clients)
		before := m.samples
		for range 1000 { // most of them without a heartbeat
			hold, err := w.s.Hold(w.ctx, "/h", nil)
			require.NoError(w, err)
			hold.End(nil)
			w.sleep(10 * time.Millisecond)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		require.Less(w, m.samples-before, 15, "at most one for each heartbeat")
	})
}

// The rule TrustAnswered needs no heartbeats: the pings prove the session.
func TestTrustByPingsIsSampled(t *testing.T) {
	m := &trustMeter{until: map[uint64]time.Time{}}
	inWorld(t, nil, &Options{Observer: m, Trust: TrustAnswered}, func(w *world) {
		w.createHeld(w.s, "/h")
		w.sleep(10500 * time.Millisecond)
		for range 400 {
			w.sleep(50 * time.Millisecond)
			left, clients := m.least()
			require.Equal(w, 1, clients)
			require.Greater(w, left, 4*time.Second)
		}
	})
}

// A session that shares heartbeats sends few of its own: an observer hears of the proofs of
// others, too.
func TestTrustByTheHeartbeatsOfOthersIsSampled(t *testing.T) {
	m := &trustMeter{until: map[uint64]time.Time{}}
	o := sharedOptions()
	o.Observer = m
	inCrowd(t, 9, o, func(c *crowd) {
		c.sleep(20 * time.Second)
		least := time.Hour
		for range 400 {
			c.sleep(50 * time.Millisecond)
			left, clients := m.least()
			require.Equal(c, 9, clients)
			least = min(least, left)
		}
		t.Logf("least trust %v, by the events %v", c.leastTrust(20*time.Second), least)
		assert.Greater(c, least, 2*time.Second)
		require.Empty(c, c.lost())
	})
}
