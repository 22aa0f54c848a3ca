//go:build unix

package main

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestDeadlineOfADurationCountsByTheServersClock: the record says the duration, since the
// clock of the client may be wrong.
func TestDeadlineOfADurationCountsByTheServersClock(t *testing.T) {
	b := newBed(t)
	b.give(0, "", "/q", "--id", "one", "--deadline", "90s")
	bucket := "/q/tasks/" + b.contenders("/q/tasks")[0]
	node, err := b.srv.Get(bucket + "/one")
	require.NoError(t, err)
	var record map[string]any
	require.NoError(t, json.Unmarshal(node.Data, &record))
	assert.EqualValues(t, 90_000, record["deadlineAfterMs"])
	record["deadline"] = "2026-01-02T03:04:05Z" // as a wrong clock has it
	data, err := json.Marshal(record)
	require.NoError(t, err)
	require.NoError(t, b.srv.Set(node.Path, data))
	assert.WithinDuration(t, time.Now().Add(90*time.Second), b.taskIs("/q", "one").Deadline, limit)
}
