package lock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// A lock is taken away while its holder is idle: the next contender holds at once, and the
// former holder learns who did it, and why.
func TestLockIsTakenAwayOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := "/break-" + session.NewID()
	mutex := func() *lock.Mutex {
		c, err := session.Connect(ctx, cluster.Connect(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
		return lock.New(c, path, nil)
	}
	one, two, operator := mutex(), mutex(), mutex()
	for i := range 3 {
		h, err := one.Lock(ctx)
		require.NoError(t, err)
		next := make(chan *lock.Held, 1)
		// Waited for below; ends with ctx at the latest.
		go func() {
			h, err := two.Lock(ctx)
			if err != nil {
				t.Error(err)
			}
			next <- h
		}()
		var queue []lock.Contender
		require.Eventually(t, func() bool {
			queue, err = operator.Contenders(ctx)
			return err == nil && len(queue) == 2
		}, time.Minute, 10*time.Millisecond)
		require.ErrorIs(t, operator.Break(ctx, queue[1], "", "it waits"), lock.ErrInvalidArgument)
		require.NoError(t, operator.Break(ctx, queue[0], "alice", "it hangs"))
		got := <-next
		require.NotNil(t, got)
		<-h.Context().Done()
		require.ErrorIs(t, context.Cause(h.Context()), session.ErrNodeDeleted)
		b, ok, err := h.Broken(ctx)
		require.NoError(t, err)
		require.True(t, ok)
		require.Equal(t, "alice", b.By)
		require.Equal(t, h.Token(), b.Token)
		require.ErrorIs(t, h.Unlock(ctx), session.ErrLost)
		require.NoError(t, got.Unlock(ctx))
		all, err := operator.Breaks(ctx)
		require.NoError(t, err)
		require.Len(t, all, i+1)
		require.Equal(t, b, all[0])
	}
}
