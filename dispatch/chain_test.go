package dispatch_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// TestChangesOfTasksChain: what clients, the master and the workers report of a task is its whole
// life, whatever its end is.
func TestChangesOfTasksChain(t *testing.T) {
	inWorld(t, nil, func(w *World) {
		w.RequireTaskChains()
		w.master(nil)
		w.worker(func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
			switch string(a.Payload) {
			case "fails":
				return nil, errors.New("it failed")
			case "waits":
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return nil, nil
		}, nil)
		q := w.queue()
		done := w.submit(q, dispatch.Task{Payload: []byte("done")})
		failed := w.submit(q, dispatch.Task{Payload: []byte("fails"), MaxAttempts: 2})
		canceled := w.submit(q, dispatch.Task{Payload: []byte("waits")})
		delayed := w.submit(q, dispatch.Task{Payload: []byte("done"), Delay: time.Hour})
		w.Pass(time.Minute)
		require.NoError(w, q.Cancel(w.Ctx, canceled))
		w.Pass(time.Minute)
		require.NoError(w, q.Requeue(w.Ctx, failed))
		w.Pass(2 * time.Hour)
		for _, id := range []string{done, failed, canceled, delayed} {
			_, _ = q.Collect(w.Ctx, id)
		}
		synctest.Wait()
	})
}
