//go:build unix

package main

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
	"github.com/zkrecipes/zkrecipes/dispatch"
)

// TestProgressOfARunningTaskIsShown in the list and with the task; other tasks have none.
func TestProgressOfARunningTaskIsShown(t *testing.T) {
	b := newBed(t)
	b.leads("/q")
	ctx, cancel := context.WithCancel(b.ctx)
	worker := dispatch.NewWorker(b.client(), "/q", func(ctx context.Context, a *dispatch.Attempt) ([]byte, error) {
		if a.ID == "one" {
			a.ReportProgress(420, 1000, "rows \x1b[2J")
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}, nil)
	done := make(chan error, 1)
	// Waited for below; ends with ctx.
	go func() { done <- worker.Run(ctx) }()
	t.Cleanup(func() { cancel(); assert.NoError(t, <-done) })
	b.give(0, "", "/q", "--id", "one")
	b.give(0, "", "/q", "--id", "two")
	b.untilTask("/q", "two", "assigned")
	eventually(t, func() bool { return b.taskIs("/q", "one").Progress != nil }, "the worker has written the report")
	got := *b.taskIs("/q", "one").Progress
	assert.WithinDuration(t, time.Now(), got.Reported, limit)
	got.Reported = time.Time{}
	assert.Equal(t, taskcmd.Progress{Done: 420, Total: 1000, Note: "rows \x1b[2J"}, got)
	assert.Nil(t, b.taskIs("/q", "two").Progress)
	assert.Regexp(t, `(?m)^progress +42% of 1000, "?rows .x1b\[2J`, b.run("task", "show", "/q", "one").ends(0).out.String())
	assert.Regexp(t, `(?m)^one +assigned .* 42% of 1000, "?rows`, b.run("task", "ls", "/q").ends(0).out.String())
	var list struct{ Tasks []taskcmd.Task }
	require.NoError(t, json.Unmarshal([]byte(b.run("task", "ls", "/q", "-o", "json").ends(0).out.String()), &list))
	require.Len(t, list.Tasks, 2)
	require.NotNil(t, list.Tasks[0].Progress)
	assert.EqualValues(t, 420, list.Tasks[0].Progress.Done)
	b.run("task", "cancel", "/q", "one").ends(0)
	assert.Nil(t, b.taskIs("/q", "one").Progress, "it has ended")
}
