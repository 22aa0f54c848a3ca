package rwlock_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/rwlock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// A reader, a writer and a reader that was a writer lose the lock, and the contender behind
// gets in, on a server that is not ours.
func TestLockIsTakenAwayOnApache(t *testing.T) {
	t.Parallel()
	cluster := apache.Require(t, nil)
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	path := "/break-" + session.NewID()
	lock := func() *rwlock.RWMutex {
		return rwlock.New(world.Connect(t, cluster.Connect(), session.Options{Timeout: steady}), path, nil)
	}
	one, two, operator := lock(), lock(), lock()
	downgraded := func(ctx context.Context) (*rwlock.Held, error) {
		h, err := one.Lock(ctx)
		if err != nil {
			return nil, err
		}
		return h.Downgrade(ctx)
	}
	for name, get := range map[string]take{"reader": one.RLock, "writer": one.Lock, "reader that was a writer": downgraded} {
		h, err := get(ctx)
		require.NoError(t, err, name)
		next := beside(ctx, two.Lock)
		list := queued(ctx, t, operator, 2)
		require.ErrorIs(t, operator.Break(ctx, list[1], "", "it waits"), rwlock.ErrInvalidArgument, name)
		require.NoError(t, operator.Break(ctx, list[0], name, "it hangs"), name)
		got := <-next
		require.NoError(t, got.err, name)
		<-h.Context().Done()
		require.ErrorIs(t, context.Cause(h.Context()), session.ErrNodeDeleted, name)
		b, ok, err := h.Broken(ctx)
		require.NoError(t, err, name)
		require.True(t, ok, name)
		require.Equal(t, name, b.By)
		require.ErrorIs(t, h.Unlock(ctx), session.ErrLost, name)
		require.NoError(t, got.held.Unlock(ctx), name)
	}
	all, err := operator.Breaks(ctx)
	require.NoError(t, err)
	require.Len(t, all, 3)
}
