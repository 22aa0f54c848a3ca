package dispatch

import (
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cache"
)

// A snapshot that still shows the assignment of an ended task does not begin
// the task again, and an assignment of another worker is ignored.
func TestWorkerSessionTakesItsOwnAssignmentsOnce(t *testing.T) {
	entry := func(worker, name string) cache.Entry[assignment] {
		return cache.Entry[assignment]{
			Path: "/q/workers/w/x~1-1.1", Value: assignment{Format: format, Task: record{Worker: worker, Assignment: name}},
		}
	}
	ws := &workerSession{Worker: &Worker{store: store{layout: "/q"}}, id: "w", held: map[string]*heldTask{}, over: map[string]bool{}}
	ws.finishTask(&heldTask{ws: ws, name: "x~1-1.1"})
	ws.enqueueTask(entry("w", "x~1-1.1"))
	require.Empty(t, ws.held)
	require.False(t, ws.junk)
	_ = ws.handleEvent(cache.Event[assignment]{Kind: cache.EventRemoved, Old: entry("w", "x~1-1.1")})
	require.Empty(t, ws.over)
	ws.finishTask(&heldTask{ws: ws, name: "x~1-1.1", gone: true})
	require.Empty(t, ws.over, "the view will not show the task any more")
	for _, other := range []cache.Entry[assignment]{entry("v", "x~1-1.1"), entry("w", "x~1-1.2")} {
		ws.junk = false
		ws.enqueueTask(other)
		require.Empty(t, ws.held)
		require.True(t, ws.junk)
	}
}
