package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A master that does not know yet of a leaving worker assigns a task to the
// worker. The worker's folder is then not empty at the attempt to leave, and
// the task is canceled before the worker reads the assignment. The worker gets
// no event when its folder is empty again.
func TestWorkerLeavesThoughATaskCameAndWentUnseen(t *testing.T) {
	world.Needs(t, world.Subscriptions)
	// An attempt to leave arrives after the assignment, and before the view's
	// read: with Drain this is the second request, after the notice to the
	// master.
	for name, x := range map[string]struct {
		drain        bool
		wait, arrive time.Duration
	}{
		"drain":   {true, 90 * time.Millisecond, 220 * time.Millisecond},
		"context": {false, 190 * time.Millisecond, 120 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()  // c1
				w.master(nil)   // c2
				c := w.Client() // c3
				worker := dispatch.NewWorker(c, path, echo, nil)
				r := w.beside(worker.Run)
				w.submit(q, numbered(1))
				w.collect(q, "task-001")
				w.Settle() // the master may still be tidying up, and requests are slow from now on
				w.Server.Delay(linkOf(2), zktest.ToServer, 120*time.Millisecond)
				w.Server.Delay(linkOf(3), zktest.ToServer, 100*time.Millisecond)
				w.Pass(time.Second)

				w.submit(q, numbered(2)) // is assigned 240 ms later
				w.Pass(x.wait)
				ended := make(chan error, 1)
				// Waited for below; ends with the worker.
				go func() {
					if x.drain {
						ended <- worker.Drain(w.Within(time.Minute))
						return
					}
					_ = r.end()
					ended <- nil
				}()
				w.Pass(x.arrive)
				require.Equal(w, "assigned", string(w.get(q, "task-002").State))
				require.NoError(w, q.Cancel(w.Ctx, "task-002"))
				select {
				case err := <-ended:
					require.NoError(w, err)
				case <-w.Within(time.Minute).Done():
					w.Expire(c) // lets the test end
					require.Fail(w, "the worker does not end")
				}
				require.Empty(w, w.Children(path+"/workers"))
				w.collect(q, "task-002")
				w.empty()
			})
		})
	}
}
