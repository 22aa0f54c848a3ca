package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A worker has lost its session in an outage, and its handler takes time to stop. The
// task goes to another worker as soon as the handler has returned, before the servers
// expire the lost session, and not while the handler runs.
func TestTaskOfALostWorkerIsFreeWhenItsHandlerHasReturned(t *testing.T) {
	for name, o := range map[string]session.Options{"": {}, "with a stop margin": {StopMargin: 2 * time.Second}} {
		t.Run(name, func(t *testing.T) {
			const toStop = 7 * time.Second
			inWorld(t, &zktest.Options{Servers: 3}, func(w *World) {
				w.master(nil)
				held, returned, again := make(chan context.Context, 1), make(chan time.Time, 1), make(chan time.Time, 1)
				handle := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
					if a.Number > 1 {
						again <- time.Now()
						return nil, nil
					}
					held <- ctx
					<-ctx.Done()
					world.Pause(toStop)
					returned <- time.Now()
					return nil, ctx.Err()
				}
				w.beside(dispatch.NewWorker(w.ClientWith(o), path, handle, &dispatch.WorkerOptions{Concurrency: 2}).Run)
				w.submit(w.queue(), dispatch.Task{})
				first := <-held
				w.worker(handle, nil)
				w.Away(first) // for three seconds
				over, next := <-returned, <-again
				require.False(w, next.Before(over), "the handler still runs")
				require.Less(w, next.Sub(over), 2*time.Second, "the former session lives for 10 s from the end of the outage")
			})
		})
	}
}
