package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest/apache"
)

// A queue is paused on a real server while tasks run and wait, its master changes, and the queue
// is resumed.
func TestPauseOnApache(t *testing.T) {
	cluster := apache.Require(t, &apache.Options{Heap: 256})
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	const at = "/dispatch-pause"
	connect := func() *session.Client { return world.Connect(t, cluster.Connect(), session.Options{}) }
	q, admin := dispatch.New(connect(), at, nil), dispatch.New(connect(), at, nil)
	begun, goOn := make(chan string, 100), make(chan struct{})
	beside(t, dispatch.NewWorker(connect(), at, func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		begun <- a.ID
		select {
		case <-goOn:
		case <-ctx.Done():
		}
		return a.Payload, ctx.Err()
	}, &dispatch.WorkerOptions{Concurrency: 1, Prefetch: -1}).Run)
	stop := beside(t, dispatch.NewMaster(connect(), at, nil).Run)
	for n := range 2 {
		_, err := q.Submit(ctx, numbered(n))
		require.NoError(t, err)
	}
	first := <-begun
	isNew, err := admin.Pause(ctx, "ann", "migration")
	require.NoError(t, err)
	require.True(t, isNew)
	isNew, err = q.Pause(ctx, "bob", "another reason")
	require.NoError(t, err)
	require.False(t, isNew)
	goOn <- struct{}{}
	_, err = q.Collect(ctx, first)
	require.NoError(t, err)
	stop()
	beside(t, dispatch.NewMaster(connect(), at, &dispatch.Options{MaxTasks: 77}).Run)
	_, err = q.Submit(ctx, numbered(2))
	require.NoError(t, err)
	// The master assigns what it finds as soon as it has read it; it has set the limit before.
	for {
		st, err := q.Stats(ctx)
		require.NoError(t, err)
		require.True(t, st.Paused)
		require.Equal(t, []string{"ann", "migration"}, []string{st.PausedBy, st.PauseReason})
		require.WithinDuration(t, time.Now(), st.PausedSince, time.Minute)
		if st.MaxTasks == 77 && !st.Published.IsZero() && st.Tasks["waiting"] == 2 {
			break
		}
		world.SleepContext(ctx, 50*time.Millisecond)
	}
	require.Empty(t, begun)
	list, err := q.List(ctx, "assigned")
	require.NoError(t, err)
	require.Empty(t, list)
	close(goOn)
	existed, err := q.Resume(ctx)
	require.NoError(t, err)
	require.True(t, existed)
	for n := range 3 {
		if id := numbered(n).ID; id != first {
			r, err := q.Collect(ctx, id)
			require.NoError(t, err)
			require.Equal(t, dispatch.State("done"), r.State)
		}
	}
}
