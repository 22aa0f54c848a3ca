package lock_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/lock"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// Two of three servers are down until two holders have lost their sessions, and
// then come back; a new leader gives every session its whole timeout. A holder that
// releases its lost lock lets the next waiter in as soon as its client is
// connected. Without a release, others must wait until the servers expire the
// session.
func TestOnApacheWhatALostHolderGivesBackIsFreeAtOnce(t *testing.T) {
	t.Parallel()
	const timeout = 24 * time.Second // a busy machine takes seconds to connect
	cluster := apache.Require(t, &apache.Options{Servers: 3, Heap: 96, Own: true})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	connect := func() *session.Client {
		c, err := session.Connect(ctx, cluster.Connect(), &session.Options{Timeout: timeout})
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close(context.WithoutCancel(ctx)) })
		return c
	}
	paths := []string{"/remains-" + session.NewID() + "/given-back", "/remains-" + session.NewID() + "/kept"}
	var held []*lock.Held
	for _, path := range paths {
		h, err := lock.New(connect(), path, nil).Lock(ctx)
		require.NoError(t, err)
		held = append(held, h)
	}
	for _, i := range []int{0, 1} {
		require.NoError(t, cluster.Kill(ctx, i))
	}
	for _, h := range held {
		<-h.Context().Done()
		require.ErrorIs(t, context.Cause(h.Context()), session.ErrTrustRanOut)
	}
	require.ErrorIs(t, held[0].Unlock(ctx), session.ErrLost)
	for _, i := range []int{0, 1} {
		require.NoError(t, cluster.Launch(ctx, i))
	}
	require.NoError(t, cluster.Await(ctx, 0, 1, 2))
	back, next := time.Now(), connect()
	var took [2]time.Duration
	var all sync.WaitGroup
	for i, path := range paths {
		// Waited for below; ends with ctx at the latest.
		all.Go(func() {
			h, err := lock.New(next, path, nil).Lock(ctx)
			if took[i] = time.Since(back); err == nil {
				err = h.Unlock(ctx)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	t.Logf("granted %v after the servers were back where the holder gave back, %v where it did not", took[0], took[1])
	require.Less(t, took[0], took[1]/2)
}
