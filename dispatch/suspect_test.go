package dispatch_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
)

// A task that kills each worker that runs it takes no other task along, with
// the same master, or with another master after each death.
func TestTaskThatKillsItsWorkersIsTheOnlyOneThatDies(t *testing.T) {
	for _, sameMaster := range []bool{true, false} {
		inWorld(t, nil, func(w *World) {
			q := w.queue()
			killed := make(chan struct{}, 1)
			handler := func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
				if a.ID == "killer" {
					killed <- struct{}{}
					<-ctx.Done()
				}
				world.SleepContext(ctx, 200*time.Millisecond)
				return a.Payload, ctx.Err()
			}
			ids := []string{}
			for i := range 40 {
				if i == 3 {
					w.submit(q, dispatch.Task{ID: "killer", Payload: []byte("x")})
				}
				ids = append(ids, w.submit(q, numbered(i)))
			}
			master := w.master(nil)
			deaths := 0
			over, stop := context.WithCancel(w.Ctx)
			gone := make(chan struct{})
			// Waited for below; ends when stopped.
			go func() {
				defer close(gone)
				for {
					c, r := w.workerWith(handler, nil)
					select {
					case <-killed:
						deaths++
						w.kill(c, r)
						if !sameMaster {
							_ = master.end()
							master = w.master(nil)
						}
					case <-over.Done():
						return
					}
				}
			}()
			require.Equal(w, "dead", string(w.collect(q, "killer").State))
			for _, id := range ids {
				r := w.collect(q, id)
				require.Equal(w, "done", string(r.State), id)
				require.LessOrEqual(w, r.Attempt, 3, "the task was alone after the second death")
			}
			stop()
			<-gone
			require.Equal(w, 5, deaths, "all attempts of the killer")
		})
	}
}
