//go:build unix

package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// TestTasksAreRemovedByIDAndByState: and the states must be named.
func TestTasksAreRemovedByIDAndByState(t *testing.T) {
	b := newBed(t)
	q := dispatch.New(b.client(), "/q", nil)
	for _, id := range []string{"a", "b", "c"} {
		_, err := q.Submit(t.Context(), dispatch.Task{ID: id, Delay: time.Hour})
		assert.NoError(t, err)
	}
	assert.NoError(t, q.Cancel(t.Context(), "b"))
	b.run("task", "rm", "/q", "a", "gone").ends(1)
	b.run("task", "purge", "/q").ends(64)
	b.run("task", "purge", "/q", "--state", "deaf").ends(64)
	assert.Equal(t, "removed 0 tasks from /q\n", b.run("task", "purge", "/q", "--state", "dead,unreadable").ends(0).out.String())
	assert.Equal(t, "removed 1 task from /q\n", b.run("task", "purge", "/q", "--state", "canceled").ends(0).out.String())
	assert.JSONEq(t, `{"queue": "/q", "removed": 1}`, b.run("task", "purge", "/q", "--state", "waiting", "-o", "json").ends(0).out.String())
	found, err := q.List(t.Context())
	assert.NoError(t, err)
	assert.Empty(t, found)
}
