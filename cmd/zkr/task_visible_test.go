//go:build unix

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestMissingWorkerOfATaskIsShown if no worker can be given the task.
func TestMissingWorkerOfATaskIsShown(t *testing.T) {
	b := newBed(t)
	b.give(0, "", "/q", "--id", "any", "--delay", "1h", "--dead-retention", "48h")
	b.give(0, "", "/q", "--id", "gpu", "--delay", "1h", "--label", "gpu", "--label", "big")
	assert.Equal(t, "a worker", b.taskIs("/q", "any").WaitsFor)
	assert.Equal(t, "48h0m0s", b.taskIs("/q", "any").DeadKept)
	assert.Equal(t, "a worker", b.taskIs("/q", "gpu").WaitsFor)
	b.serves("/q", "true", "--label", "gpu")
	assert.Empty(t, b.taskIs("/q", "any").WaitsFor)
	assert.Contains(t, b.run("task", "show", "/q", "gpu").ends(0).out.String(), "a worker with the labels big, gpu\n")
	assert.Contains(t, b.run("task", "stats", "/q").ends(0).out.String(), "no worker has the labels of 1 waiting task")
	b.serves("/q", "true", "--label", "gpu", "--label", "big")
	assert.Empty(t, b.taskIs("/q", "gpu").WaitsFor)
}

// TestSubmitWaitsForRoom with --wait-for-room, up to the timeout.
func TestSubmitWaitsForRoom(t *testing.T) {
	b := newBed(t)
	b.give(0, "", "/q", "--id", "a")
	require.NoError(t, b.srv.Delete("/q/admission/open"))
	b.give(exit.CodeBusy, "", "/q")
	b.give(exit.CodeBusy, "", "/q", "--wait-for-room", "--timeout", "5s")
	z := b.start("task", "submit", "/q", "--id", "b", "--data", "", "--wait-for-room")
	require.NoError(t, b.srv.Create("/q/admission/open", nil))
	assert.Equal(t, "b\n", z.ends(0).out.String())
}

// TestGarbageIsRemovedByID: a record of a newer version is not.
func TestGarbageIsRemovedByID(t *testing.T) {
	b := newBed(t)
	b.give(0, "", "/q", "--id", "a")
	at := "/q/tasks/" + b.contenders("/q/tasks")[0] + "/a"
	require.NoError(t, b.srv.Set(at, []byte(`{"format":2}`)))
	assert.Contains(t, b.run("task", "rm", "/q", "a").ends(1).err.String(), "the record has format 2, this version supports formats up to 1")
	require.NoError(t, b.srv.Set(at, []byte(`{`)))
	assert.Contains(t, b.run("task", "show", "/q", "a").ends(1).err.String(), `"zkr task rm /q a" removes a task with an invalid record`)
	b.run("task", "rm", "/q", "a").ends(0)
	b.run("task", "rm", "/q", "a").ends(1)
}
