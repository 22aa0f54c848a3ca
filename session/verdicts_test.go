package session

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/observe"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// An ensemble that demands authentication says so, and is not asked again and again.
func TestMissingAuthenticationIsNamedOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Own: true, Properties: map[string]string{
		"zookeeper.enforce.auth.enabled": "true", "zookeeper.enforce.auth.schemes": "digest",
	}})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	c, err := Connect(ctx, cluster.Connect(), &Options{Timeout: 6 * time.Second})
	require.NoError(t, err)
	s, err := c.Session(ctx)
	require.NoError(t, err)
	_, _, err = s.Exists(ctx, "/")
	require.ErrorIs(t, err, ErrAuthRequired)
	require.ErrorIs(t, err, ErrAuthFailed)
	require.NotErrorIs(t, err, ErrUnknownOutcome)
	require.ErrorContains(t, err, "set Credentials")
	require.Eventually(t, func() bool { return s.Err() != nil }, time.Minute, time.Millisecond)
	require.ErrorIs(t, s.Err(), ErrLost)
	require.ErrorIs(t, s.Err(), ErrAuthRequired)
	require.False(t, IsSessionLoss(err), "the next session would share it")
	require.NoError(t, c.Close(ctx))

	c, err = Connect(ctx, cluster.Connect(), &Options{Timeout: 6 * time.Second, Credentials: []Credential{Digest("a", "b")}})
	require.NoError(t, err)
	s, err = c.Session(ctx)
	require.NoError(t, err)
	_, _, err = s.Exists(ctx, "/")
	require.NoError(t, err)
	require.NoError(t, c.Close(ctx))
}

// throttles counts replies by their errors.
type throttles struct{ throttled, all atomic.Int64 }

func (*throttles) Observe(context.Context, observe.Event) {}

func (c *throttles) ObserveRequest(_ context.Context, r observe.Request) {
	c.all.Add(1)
	if errors.Is(r.Err, ErrThrottled) {
		c.throttled.Add(1)
	}
}

// A server with too much to do refuses requests. They are sent again with pauses, and none
// is lost, nor done twice.
func TestThrottledRequestsAreSentAgainOnApache(t *testing.T) {
	// A request that has waited for a millisecond behind one other is refused.
	cluster := apache.Require(t, &apache.Options{Own: true, Properties: map[string]string{
		"zookeeper.request_throttle_max_requests": "1", "zookeeper.request_throttle_stall_time": "5", "zookeeper.throttled_op_wait_time": "1",
	}})
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	var seen throttles
	c, err := Connect(ctx, cluster.Connect(), &Options{Timeout: 10 * time.Second, Observer: &seen})
	require.NoError(t, err)
	defer func() { require.NoError(t, c.Close(ctx)) }()
	s, err := c.Session(ctx)
	require.NoError(t, err)
	root := "/throttled-" + NewID()
	require.NoError(t, s.EnsurePath(ctx, root, Persistent, nil))
	const writers, writes = 8, 10
	var all sync.WaitGroup
	for i := range writers {
		// Waited for below; ends with the writes, or with ctx.
		all.Go(func() {
			for n := range writes {
				path := fmt.Sprintf("%s/%d-%d", root, i, n)
				if n%2 == 0 {
					_, err := s.Create(ctx, path, nil, Persistent, nil)
					assert.NoError(t, err)
					continue
				}
				_, err := s.CreateProtected(ctx, path, nil, Persistent, nil)
				assert.NoError(t, err)
				assert.NoError(t, s.ReadFresh(ctx, path, func() error {
					_, _, err := s.Get(ctx, path)
					return err
				}))
			}
		})
	}
	all.Wait()
	names, _, err := s.Children(ctx, root)
	require.NoError(t, err)
	assert.Len(t, names, writers*writes)
	require.Positive(t, seen.throttled.Load(), "the server refuses nothing: the test tests nothing")
	t.Logf("%d of %d requests refused", seen.throttled.Load(), seen.all.Load())
}
