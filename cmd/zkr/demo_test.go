//go:build unix

package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/democmd"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
)

// TestDemoShowsWhatItPromises runs the demonstration like a program.
func TestDemoShowsWhatItPromises(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo", "-o", "json", "--session-timeout", "8s")).ends(0)
	lines := strings.Split(strings.TrimSpace(z.out.String()), "\n")
	var v democmd.Verdict
	require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &v))
	assert.Equal(t, "summary", v.Event)
	assert.Equal(t, 1, v.Rounds)
	assert.True(t, v.OK)
	assert.Empty(t, v.Wrong)
	assert.Zero(t, v.Overlaps)
	assert.True(t, v.TokensGrow)
	require.Len(t, v.Holders, 5)
	for i, name := range []string{"w1", "w2", "w3", "w4", "w2"} {
		assert.Equal(t, name, v.Holders[i].Worker)
	}
	assert.Greater(t, v.Writes, 10)
	assert.Equal(t, 1, v.Refused)
	assert.Greater(t, v.KillToGrant, 5.0, "the session has to expire")
	assert.Less(t, v.KillToGrant, limit.Seconds())
	assert.Positive(t, v.WakeToTold)
	assert.Positive(t, v.HandOver)
	seen := map[string]int{}
	for _, line := range lines[:len(lines)-1] {
		var e democmd.Event
		require.NoError(t, json.Unmarshal([]byte(line), &e), line)
		seen[e.Event]++
		if e.Event == "started" {
			assert.True(t, dead(t, e.PID), "worker %s has ended with the demonstration", e.Worker)
		}
	}
	assert.Equal(t, map[string]int{
		"started": 4, "waits": 5, "holds": 5, "killed": 1, "frozen": 1, "woken": 1, "lost": 1, "refused": 1, "releases": 3, "leaves": 3,
	}, seen)
}

func TestDemoReadsWell(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo", "--session-timeout", "8s")).ends(0)
	for _, says := range []string{
		"w1 HOLDS the lock with token", "w1 is KILLED", "w2 is FROZEN", "w2 is WOKEN", "w2 knows that it LOST", "REFUSED by the server",
		"overlaps               0\n", "they grow", "All checks succeeded.", "kill to next grant",
	} {
		assert.Contains(t, z.out.String(), says)
	}
	assert.NotContains(t, z.out.String(), "\x1b", "no colors without a terminal")
	assert.Empty(t, z.err.String())
}

// TestDemoOnABusyMachineBeginsOnceMore, with longer sessions: a session is lost
// without a scene, and the next holder is not the expected worker.
func TestDemoOnABusyMachineBeginsOnceMore(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo", "-o", "json"))
	var w3 democmd.Event
	eventually(t, func() bool {
		for line := range strings.Lines(z.out.String()) {
			if json.Unmarshal([]byte(line), &w3) == nil && w3.Worker == "w3" && w3.Event == "started" {
				return strings.Contains(z.out.String(), `"worker":"w3","event":"waits"`)
			}
		}
		return false
	}, "w3 waits")
	require.NoError(t, syscall.Kill(w3.PID, syscall.SIGSTOP))
	z.ends(0)
	assert.Contains(t, z.err.String(), "this machine is too busy for sessions of 3s; retrying with sessions of 6s")
	assert.Contains(t, z.out.String(), `"ok":true`)
}

// TestDemoThatIsEndedPromisesNothing: scenes that were not shown did not hold.
func TestDemoThatIsEndedPromisesNothing(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo"))
	z.says("HOLDS")
	z.signal(syscall.SIGINT)
	z.ends(exit.CodeSignal + int(syscall.SIGINT))
	assert.Contains(t, z.out.String(), "No check has failed so far, but not all scenes were shown.")
	assert.NotContains(t, z.out.String(), "All checks succeeded.")
	assert.Contains(t, z.err.String(), "zkr: not all scenes were shown: ended by signal 2")
}

// TestWorkersDieWithTheDemonstration: for every end of the demonstration.
func TestWorkersDieWithTheDemonstration(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT, syscall.SIGTERM} {
		z := start(t, command("x", "demo", "--keep", "-o", "json"))
		eventually(t, func() bool { return strings.Count(z.out.String(), `"started"`) >= 4 }, "four workers")
		z.says(`"holds"`)
		var pids []int
		for line := range strings.Lines(z.out.String()) {
			var e democmd.Event
			if json.Unmarshal([]byte(line), &e) == nil && e.Event == "started" {
				pids = append(pids, e.PID)
			}
		}
		require.Len(t, pids, 4)
		z.signal(sig)
		z.wait()
		for _, pid := range pids {
			eventually(t, func() bool { return dead(t, pid) }, "worker %d ends", pid)
		}
		if sig != syscall.SIGKILL {
			assert.Equal(t, exit.CodeSignal+int(sig), z.code, "not all was shown")
			assert.Contains(t, z.out.String(), `"event":"summary","rounds":0,`)
		}
	}
}
