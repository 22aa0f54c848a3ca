//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/records"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
)

// TestPausedQueueKeepsItsTasks until it is resumed, and every command that shows tasks says so.
func TestPausedQueueKeepsItsTasks(t *testing.T) {
	b := newBed(t)
	assert.Contains(t, b.run("task", "resume", "/q").ends(0).err.String(), "nothing was changed: /q is not paused")
	assert.Contains(t, b.run("task", "ls", "/q").ends(0).err.String(), "no znode /q", "it was not created")
	assert.Contains(t, b.run("task", "pause", "/q", "--reason", strings.Repeat("x", 1025)).ends(64).err.String(), "--reason has 1025 bytes")
	b.leads("/q")
	b.serves("/q", "cat")
	assert.Empty(t, b.run("task", "pause", "/q", "--reason", "migration", "--by", "ann").ends(0).err.String())
	const says = "paused by ann since [0-9-]+ [0-9:]+: migration"
	z := b.run("task", "pause", "/q", "--reason", "another").ends(0)
	assert.Regexp(t, "nothing was changed: /q is "+says, z.err.String())
	b.give(0, "x", "/q", "--id", "one")
	z = b.run("task", "ls", "/q").ends(0)
	assert.Regexp(t, "(?m)^one +waiting ", z.out.String())
	assert.Regexp(t, "/q is "+says, z.err.String())
	assert.Regexp(t, says, b.taskIs("/q", "one").WaitsFor)
	assert.Regexp(t, "(?m)^"+says+"$", b.run("task", "stats", "/q").ends(0).out.String())
	assert.Regexp(t, "hint +/q/admission +the queue is paused by ann since .*: migration", b.run("status").ends(0).out.String())
	var st taskcmd.Stats
	require.NoError(t, json.Unmarshal([]byte(b.run("task", "stats", "/q", "-o", "json").ends(0).out.String()), &st))
	require.NotNil(t, st.Paused)
	assert.WithinDuration(t, time.Now(), st.Paused.Since, limit)
	var list struct{ Paused *records.Pause }
	require.NoError(t, json.Unmarshal([]byte(b.run("task", "ls", "/q", "-o", "json").ends(0).out.String()), &list))
	assert.Equal(t, st.Paused, list.Paused)

	var changed struct {
		Queue   string
		Changed bool
		Paused  *records.Pause
	}
	require.NoError(t, json.Unmarshal([]byte(b.run("task", "resume", "/q", "-o", "json").ends(0).out.String()), &changed))
	assert.Equal(t, []any{"/q", true, (*records.Pause)(nil)}, []any{changed.Queue, changed.Changed, changed.Paused})
	assert.Equal(t, "x", b.run("task", "wait", "/q", "one").ends(0).out.String())
	assert.NotContains(t, b.run("task", "stats", "/q").ends(0).out.String(), "paused")
	assert.Contains(t, b.run("task", "pause", "/q", "--reason", "why", "-o", "json").ends(0).out.String(), `"changed":true,"paused":{"by":"`)
}
