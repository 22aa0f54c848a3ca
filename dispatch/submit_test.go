package dispatch

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/internal/world"
	"github.com/zkrecipes/zkrecipes/session"
)

// A submission that was not answered before its session was lost may still be
// in flight when the client submits the task in the next session, and the task
// may be done and collected before the servers apply the late submission. The
// late submission must not create a task.
func TestLateSubmissionDoesNotComeBack(t *testing.T) {
	for name, came := range map[string]bool{"it comes late": false, "it came before": true} {
		t.Run(name, func(t *testing.T) {
			world.In(t, nil, func(w *world.World) {
				first, next := w.Client(), w.Client()
				q := New(first, "/queue", nil)
				_, err := q.Submit(w.Ctx, Task{ID: "x"})
				require.NoError(w, err)
				rec, err := Task{ID: "late"}.newRecord(time.Now())
				require.NoError(w, err)
				old, s := w.Session(first), w.Session(next)
				fence, err := q.ensurePresence(w.Ctx, old)
				require.NoError(w, err)
				ops := []session.Op{
					session.CheckOp(fence, -1), session.CheckOp(q.openPath(), -1),
					session.CreateOp(q.dataPath(rec.ID, rec.Run), nil, session.Persistent, q.create),
					session.CreateOp(q.taskPath(rec.ID), encode(rec), session.Persistent, q.create),
				}
				require.NoError(w, q.makeBucket(w.Ctx, rec.ID))
				if came {
					_, err := old.Txn(w.Ctx, ops...)
					require.NoError(w, err)
				}
				b := &submission{q: New(next, "/queue", nil), rec: rec, pendingIn: old, fence: fence}
				require.NoError(w, b.submitOnce(w.Ctx, s))
				require.Nil(w, b.pendingIn)
				list, err := q.List(w.Ctx)
				require.NoError(w, err)
				require.Len(w, list, 2)
				require.NoError(w, q.Cancel(w.Ctx, "late"))
				_, err = q.Collect(w.Ctx, "late")
				require.NoError(w, err)
				_, err = old.Txn(w.Ctx, ops...)
				require.ErrorIs(w, err, session.ErrNoNode)
				list, err = q.List(w.Ctx)
				require.NoError(w, err)
				require.Len(w, list, 1)
			})
		})
	}
}
