package exporter_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exporter"
	"github.com/zkrecipes/zkrecipes/counter"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// inWorld runs body with an exporter, whose client is c1, in virtual time.
func inWorld(t *testing.T, body func(w *world.World, e *exporter.Exporter)) {
	t.Helper()
	world.In(t, nil, func(w *world.World) {
		e := exporter.New("/", 10)
		own := w.ClientWith(session.Options{Observer: e})
		ctx, stop := context.WithCancel(w.Ctx)
		var running sync.WaitGroup
		defer running.Wait()
		defer stop()
		// Waited for above; ends with ctx.
		running.Go(func() { _ = e.Run(ctx, own) })
		body(w, e)
	})
}

// A client that is connected again has yet to read what has changed, which takes time: until
// then no scrape is current, however short the outage was.
func TestValuesFromBeforeAnOutageAreNotCurrentWhileTheTreeIsRead(t *testing.T) {
	inWorld(t, func(w *world.World, e *exporter.Exporter) {
		const series = `counter_value{path="/count"}`
		count, want := counter.New(w.Client(), "/count", nil), 0.0
		for _, outage := range []time.Duration{time.Second, 5 * time.Second} {
			_, err := count.Add(w.Ctx, 1)
			require.NoError(w, err)
			want++
			w.Pass(10 * time.Second)
			require.InDelta(w, want, scrape(t, e)[series], 0)
			require.NoError(w, w.Server.Stop(1))
			w.Pass(outage)
			require.InDelta(w, 0, scrape(t, e)["view_current"], 0)
			w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToClient, 2500*time.Millisecond)
			require.NoError(w, w.Server.Restart(1))
			_, err = count.Add(w.Ctx, 1)
			require.NoError(w, err)
			want++
			current := 0
			for range 200 {
				w.Pass(100 * time.Millisecond)
				if got := scrape(t, e); got["view_current"] == 1 {
					require.InDelta(w, want, got[series], 0, "a view of %v s", got["view_age_seconds"])
					current++
				}
			}
			require.Positive(w, current)
			w.Server.Heal()
		}
	})
}

// A task with a delay does not wait for a worker until the delay is over.
func TestTaskWithADelayDoesNotWait(t *testing.T) {
	inWorld(t, func(w *world.World, e *exporter.Exporter) {
		_, err := dispatch.New(w.Client(), "/tasks", nil).Submit(w.Ctx, dispatch.Task{ID: "t1", Delay: time.Hour})
		require.NoError(w, err)
		for _, want := range []float64{0, 10 * 60} {
			w.Pass(35 * time.Minute)
			got := scrape(t, e)
			require.InDelta(w, 1, got[`tasks{path="/tasks",state="waiting"}`], 0)
			require.InDelta(w, want, got[`oldest_waiting_task_seconds{path="/tasks"}`], 5)
		}
	})
}
