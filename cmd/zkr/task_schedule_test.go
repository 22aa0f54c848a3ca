//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/taskcmd"
)

// TestScheduleSubmitsTasks of its payload until it is removed; the list shows slots and garbage.
func TestScheduleSubmitsTasks(t *testing.T) {
	b := newBed(t)
	for _, bad := range []string{"--start 0000-01-01T00:00:00Z: in the years 1 to 9999", "--deadline 2026-01-02T15:04:05Z: it must be a duration"} {
		flags, says, _ := strings.Cut(bad, ": ")
		z := b.run(append([]string{"task", "schedule", "set", "/q", "x", "--every", "1h"}, strings.Fields(flags)...)...).ends(64)
		assert.Contains(t, z.err.String(), says)
	}
	z := b.run("task", "schedule", "rm", "/q", strings.Repeat("x", 257)).ends(64)
	assert.Contains(t, z.err.String(), "it must be text of 1 to 256 bytes")
	assert.Contains(t, b.run("task", "schedule", "ls", "/q").ends(0).err.String(), "no znode /q")
	cmd := b.command("task", "schedule", "set", "/q", "often", "--every", "1s", "--label", "a", "--deadline", "1h", "--overlap")
	cmd.Stdin = strings.NewReader("payload")
	set := start(t, cmd).ends(0)
	assert.Regexp(t, `^next slot: \d{4}-\d\d-\d\d \d\d:\d\d:\d\d\n$`, set.out.String())
	first := time.Now().Add(-36 * time.Hour).Truncate(time.Second).In(time.FixedZone("x", 3600)) // no slot during the test
	line := b.run("task", "schedule", "set", "/q", "nightly", "--every", "24h", "--start", first.Format(time.RFC3339), "--data", "all", "--retries", "1", "-o", "json").ends(0).out.String()
	var one struct{ Schedule taskcmd.Schedule }
	require.NoError(t, json.Unmarshal([]byte(line), &one), line)
	assert.True(t, first.Add(48*time.Hour).Equal(one.Schedule.Next), "%v, %v", first, one.Schedule.Next)
	one.Schedule.Next = time.Time{}
	assert.Equal(t, taskcmd.Schedule{
		Name: "nightly", Every: "24h0m0s", Start: first.UTC(), Payload: 3, Labels: []string{}, MaxAttempts: 2,
		Delay: "0s", Backoff: "1s", Retention: "24h0m0s", DeadKept: "720h0m0s",
	}, one.Schedule)

	b.leads("/q")
	b.serves("/q", "cat", "--label", "a")
	list := func() (out struct {
		Exists    bool
		Schedules []taskcmd.Schedule
	}) {
		text := b.run("task", "schedule", "ls", "/q", "-o", "json").ends(0).out.String()
		require.NoError(t, json.Unmarshal([]byte(text), &out), text)
		require.Len(t, out.Schedules, 2, text)
		return out
	}
	eventually(t, func() bool { return list().Schedules[1].LastTask != "" }, "a slot was run")
	often := list().Schedules[1]
	assert.Equal(t, "often@"+often.Last.Format(time.RFC3339), often.LastTask)
	assert.Equal(t, []any{"1s", true, "1h0m0s", []string{"a"}}, []any{often.Every, often.Overlap, often.DeadlineAfter, often.Labels})
	assert.Equal(t, "payload", b.run("task", "wait", "/q", often.LastTask).ends(0).out.String())
	text := b.run("task", "schedule", "ls", "/q").ends(0).out.String()
	assert.Regexp(t, `^NAME +EVERY +LAST +NEXT +LAST-TASK\nnightly +24h0m0s +- +\S+ \S+ +-\noften +1s +\S+ \S+ +\S+ \S+ +often@\S+Z\n$`, text)

	b.run("task", "schedule", "rm", "/q", "often").ends(0)
	gone := b.run("task", "schedule", "rm", "/q", "often").ends(1).err.String()
	assert.Contains(t, gone, "/q has no schedule often")
	assert.Contains(t, gone, `"zkr task schedule ls /q" lists the schedules`)
	require.NoError(t, b.srv.Set("/q/schedules/nightly", []byte("garbage")))
	assert.Regexp(t, `(?m)^nightly +invalid .*/q/schedules/nightly`, b.run("task", "schedule", "ls", "/q").ends(0).out.String())
	b.run("task", "schedule", "rm", "/q", "nightly").ends(0)
	assert.Contains(t, b.run("task", "schedule", "ls", "/q").ends(0).err.String(), "there are no schedules in /q")
}
