package dispatch_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/dispatch"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// A task that was done and removed before its submitter could look is submitted
// once more, as documented in docs/dispatch.md; an existing task is not.
func TestSubmissionIsLookedForAsLongAsItsTaskIsThere(t *testing.T) {
	for retention, times := range map[time.Duration]int32{time.Millisecond: 2, time.Minute: 1} {
		t.Run(retention.String(), func(t *testing.T) {
			inWorld(t, nil, func(w *World) {
				q := w.queue()
				var runs atomic.Int32
				w.master(nil)
				w.worker(func(context.Context, *dispatch.Attempt) ([]byte, error) { runs.Add(1); return nil, nil }, nil)
				w.submit(q, dispatch.Task{ID: "x"})
				w.collect(q, "x") // its folders exist
				runs.Store(0)
				w.Server.Delay(linkOf(1), zktest.ToServer, 100*time.Millisecond)
				w.Server.FailNth(func(r zktest.Request) bool {
					return r.Op == "multi" && slices.ContainsFunc(r.Paths, func(p string) bool { return strings.Contains(p, "/data/") })
				}, 1, zktest.Action{Do: zktest.DropReplyCut})
				_, err := q.Submit(w.Ctx, dispatch.Task{ID: "x", Retention: retention})
				require.NoError(w, err)
				w.Pass(2 * time.Minute)
				require.Equal(w, times, runs.Load())
			})
		})
	}
}
