package session

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// slowCommits makes a server commit transactions one after the other, each in a time.
type slowCommits struct {
	each time.Duration

	mu    sync.Mutex
	until time.Time // when the last one is done
	count int
}

func (s *slowCommits) delay(r zktest.Request) zktest.Action {
	if r.Op != "multi" {
		return zktest.Action{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	if s.until.Before(now) {
		s.until = now
	}
	s.until = s.until.Add(s.each)
	s.count++
	return zktest.Action{Do: zktest.DelayReply, For: s.until.Sub(now)}
}

func (s *slowCommits) committed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.count
}

// Servers that can commit only half of the heartbeats of all sessions get half: no hold
// is lost, and no session moves.
func TestServersThatAreTooSlowForAllHeartbeatsGetFewer(t *testing.T) {
	inWorld(t, &zktest.Options{TickTime: 2 * time.Second}, nil, func(w *world) {
		const sessions = 60
		var holds []*Hold
		for i := range sessions {
			c := w.connect("", &Options{Timeout: 10 * time.Second, TickTime: 2 * time.Second})
			defer w.close(c)
			holds = append(holds, w.createHeld(w.session(c), fmt.Sprintf("/held-%d", i)))
		}
		lost := func() (n int) {
			for _, h := range holds {
				if h.Err() != nil {
					n++
				}
			}
			return n
		}
		w.sleep(10 * time.Second)
		slow := &slowCommits{each: 2 * time.Second / sessions}
		stop := w.srv.OnRequest(slow.delay)
		w.srv.ResetStats()
		w.sleep(2 * time.Minute)
		assert.Zero(w, lost())
		assert.InDelta(w, 120*sessions/2, slow.committed(), 120*sessions/10, "one heartbeat in two seconds from each")
		assert.Zero(w, w.srv.Stats().Requests["connect"], "no session moves")
		stop()
		w.sleep(time.Minute)
		require.Zero(w, lost())
	})
}
