package dispatch_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A master that has not heard yet that a worker leaves gives it a task; its folder is
// not empty when it wants to go; and the task is canceled before the worker reads it.
// Nothing tells the worker that its folder is empty then.
func TestWorkerLeavesThoughATaskCameAndWentUnseen(t *testing.T) {
	for name, drain := range map[string]bool{"drain": true, "context": false} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()  // c1
				w.master(nil)   // c2
				c := w.Client() // c3
				worker := dispatch.NewWorker(c, path, echo, nil)
				r := w.beside(worker.Run)
				w.submit(q, numbered(1))
				w.collect(q, "task-001")
				w.Server.Delay(linkOf(2), zktest.ToServer, 120*time.Millisecond)
				w.Server.Delay(linkOf(3), zktest.ToServer, 100*time.Millisecond)
				w.Pass(time.Second)

				w.submit(q, numbered(2)) // is assigned 240 ms later
				w.Pass(90 * time.Millisecond)
				ended := make(chan error, 1)
				// Waited for below; ends with the worker.
				go func() {
					if drain {
						ended <- worker.Drain(w.Within(time.Minute))
						return
					}
					_ = r.end()
					ended <- nil
				}()
				// Its attempt to leave arrives after 200 ms, its view's read after 250.
				w.Pass(220 * time.Millisecond)
				require.Equal(w, "assigned", string(w.get(q, "task-002").State))
				require.NoError(w, q.Cancel(w.Ctx, "task-002"))
				select {
				case err := <-ended:
					require.NoError(w, err)
				case <-w.Within(time.Minute).Done():
					w.Expire(c) // so that the test does
					require.Fail(w, "it does not end")
				}
				require.Empty(w, w.Children(path+"/workers"))
				w.collect(q, "task-002")
				w.empty()
			})
		})
	}
}
