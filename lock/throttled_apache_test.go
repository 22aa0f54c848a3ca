package lock_test

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// throttled counts requests that a server has refused.
type throttled struct{ n atomic.Int64 }

func (*throttled) Observe(context.Context, observe.Event) {}

func (c *throttled) ObserveRequest(_ context.Context, r observe.Request) {
	if errors.Is(r.Err, session.ErrThrottled) {
		c.n.Add(1)
	}
}

// A server with too much to do refuses requests, also those for watches and for the leases:
// each contender gets its permits nevertheless.
func TestPermitsAreHadFromAThrottledServerOnApache(t *testing.T) {
	t.Parallel()
	// A request that has waited for a millisecond behind one other is refused.
	cluster := apache.Require(t, &apache.Options{Own: true, Properties: map[string]string{
		"zookeeper.request_throttle_max_requests": "1", "zookeeper.request_throttle_stall_time": "5", "zookeeper.throttled_op_wait_time": "1",
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	defer cancel()
	const clients, turns = 8, 15
	for path, o := range map[string]*lock.Options{"/ours": nil, "/curators": {CuratorV2: true}} {
		var seen throttled
		var all sync.WaitGroup
		for range clients {
			s := lock.NewSemaphore(world.Connect(t, cluster.Connect(), session.Options{Timeout: 20 * time.Second, Observer: &seen}), path, 2, o)
			// Waited for below; ends with the turns, or with ctx.
			all.Go(func() {
				for range turns {
					p, err := s.Acquire(ctx, 1)
					if assert.NoError(t, err) {
						assert.NoError(t, p.Release(ctx))
					}
				}
			})
		}
		all.Wait()
		require.Positive(t, seen.n.Load(), "the server refuses nothing: the test tests nothing")
	}
}
