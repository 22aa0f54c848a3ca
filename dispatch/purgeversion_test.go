package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A record that is garbage is removed twice at the same time, and a task of that id is submitted
// in between, whose znode has the version of the garbage: the task stays.
func TestTaskThatReplacesGarbageMeanwhileIsNotRemoved(t *testing.T) {
	world.In(t, nil, func(w *world.World) {
		slow, q := New(w.Client(), "/queue", nil), New(w.Client(), "/queue", nil) // c1, c2
		_, err := q.Submit(w.Ctx, Task{ID: "x"})
		require.NoError(w, err)
		require.NoError(w, q.Remove(w.Ctx, "x"))
		task := q.taskPath("x")
		require.NoError(w, w.Server.Create(task, []byte("garbage")))
		reads := 0
		w.Server.OnRequest(func(r zktest.Request) zktest.Action {
			if r.Client == "c1" && r.Op == "getData" && r.Path == task {
				if reads++; reads == 2 { // the first finds the garbage
					w.Server.Delay(zktest.Link{Client: "c1"}, zktest.ToServer, 2*time.Second)
				}
			}
			return zktest.Action{}
		})
		done := make(chan error, 1)
		// Waited for below; ends with the call.
		go func() { done <- slow.Remove(w.Within(time.Minute), "x") }()
		w.Pass(100 * time.Millisecond)
		require.NoError(w, q.Remove(w.Ctx, "x"))
		_, err = q.Submit(w.Ctx, Task{ID: "x"})
		require.NoError(w, err)
		require.ErrorIs(w, <-done, ErrRecord, "it was garbage")
		w.Server.Heal()
		_, err = q.Get(w.Ctx, "x")
		require.NoError(w, err)
	})
}
