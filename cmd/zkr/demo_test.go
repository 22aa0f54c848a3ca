//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestDemoShowsWhatItPromises runs the demonstration like a program.
func TestDemoShowsWhatItPromises(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo", "-o", "json", "--session-timeout", "8s")).ends(0)
	lines := strings.Split(strings.TrimSpace(z.out.String()), "\n")
	var v verdict
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
		var e event
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
		"overlaps               0\n", "they grow", "All of it held.", "kill to next grant",
	} {
		assert.Contains(t, z.out.String(), says)
	}
	assert.NotContains(t, z.out.String(), "\x1b", "no colors for what is no terminal")
	assert.Empty(t, z.err.String())
}

// TestDemoOnABusyMachineBeginsOnceMore, with longer sessions: a session is lost
// without a scene, and the next holder is not the promised one.
func TestDemoOnABusyMachineBeginsOnceMore(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo", "-o", "json"))
	var w3 event
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
	assert.Contains(t, z.err.String(), "this machine is too busy for sessions of 3s; once more with 6s")
	assert.Contains(t, z.out.String(), `"ok":true`)
}

// TestJudgeKnowsWhoseSessionsWereTaken.
func TestJudgeKnowsWhoseSessionsWereTaken(t *testing.T) {
	j := newJudge()
	contends := func(session int64, n int) {
		j.applied(zktest.Txn{Op: "create2", Session: session, Zxid: int64(n + 1), Paths: []string{fmt.Sprintf("%s/x-%010d", demoLock, n)}})
	}
	for n := range 3 {
		contends(int64(n+1), n)
	}
	j.applied(zktest.Txn{Op: "closeSession", Session: 9})
	j.reported(event{Worker: "w1", Event: "killed"})
	assert.False(t, j.disturbed())
	j.applied(zktest.Txn{Op: "closeSession", Session: 1})
	assert.False(t, j.disturbed(), "it was killed")
	j.applied(zktest.Txn{Op: "closeSession", Session: 3})
	assert.True(t, j.disturbed())
	j.reported(event{Worker: "w3", Event: "frozen"})
	assert.False(t, j.disturbed())
	contends(3, 3)
	j.applied(zktest.Txn{Op: "delete", Session: 3, Paths: []string{fmt.Sprintf("%s/x-%010d", demoLock, 3)}})
	j.applied(zktest.Txn{Op: "closeSession", Session: 3})
	assert.False(t, j.disturbed(), "it has left")
}

// TestDemoThatIsEndedPromisesNothing: scenes that were not shown did not hold.
func TestDemoThatIsEndedPromisesNothing(t *testing.T) {
	t.Parallel()
	z := start(t, command("x", "demo"))
	z.says("HOLDS")
	z.signal(syscall.SIGINT)
	z.ends(exit.CodeSignal + int(syscall.SIGINT))
	assert.Contains(t, z.out.String(), "Nothing was wrong so far, but not all was shown.")
	assert.NotContains(t, z.out.String(), "All of it held.")
	assert.Contains(t, z.err.String(), "zkr: not all was shown: ended by signal 2")
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
			var e event
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

// story is a history for the judge, in seconds.
type story []event

func (s *story) add(at float64, worker, what string, token int64) *story {
	*s = append(*s, event{At: time.Unix(0, 0).Add(time.Duration(at * float64(time.Second))), Worker: worker, Event: what, Token: token})
	return s
}

// TestJudgeNoticesBadHistories: a demonstration that cannot fail shows nothing.
func TestJudgeNoticesBadHistories(t *testing.T) {
	good := func() *story {
		return (&story{}).add(1, "w1", "holds", 10).add(2, "w1", "releases", 10).add(3, "w2", "holds", 20).add(4, "w2", "frozen", 0).
			add(5, "w3", "holds", 30).add(6, "w2", "woken", 0).add(6.1, "w2", "lost", 20).add(6.2, "w2", "refused", 20).add(7, "w3", "killed", 0).
			add(8, "w4", "holds", 40)
	}
	for name, c := range map[string]struct {
		story *story
		wrong string
	}{
		"good": {good(), ""},
		"two holders": {
			(&story{}).add(1, "w1", "holds", 10).add(2, "w2", "holds", 20).add(3, "w1", "releases", 10),
			"w2 got the lock while w1 ran",
		},
		"the report comes late, the time counts": {
			(&story{}).add(3, "w2", "holds", 20).add(1, "w1", "holds", 10).add(2, "w1", "releases", 10), "",
		},
		"told too late": {
			(&story{}).add(1, "w1", "holds", 10).add(2, "w2", "holds", 20).add(2.5, "w1", "lost", 10).add(2.6, "w1", "refused", 10),
			"w2 got the lock while w1 ran",
		},
		"woken and not told": {
			(&story{}).add(1, "w1", "holds", 10).add(2, "w1", "frozen", 0).add(3, "w2", "holds", 20).add(4, "w1", "woken", 0).
				add(5, "w2", "releases", 20).add(6, "w3", "holds", 30),
			"w3 got the lock while w1 ran",
		},
		"tokens stand still": {
			(&story{}).add(1, "w1", "holds", 10).add(2, "w1", "releases", 10).add(3, "w2", "holds", 10),
			"does not exceed",
		},
		"a late write went through": {
			(&story{}).add(1, "w1", "holds", 10).add(2, "w1", "lost", 10), "0 late writes were refused",
		},
		"nobody granted that": {(&story{}).add(1, "w1", "holds", 99), "which the server has not granted"},
	} {
		j := newJudge()
		for token := range int64(5) {
			j.granted[10*token] = true
		}
		for _, e := range *c.story {
			j.reported(e)
		}
		v := j.judgeEvents()
		assert.Equal(t, c.wrong == "", v.OK, "%s: %v", name, v.Wrong)
		assert.Contains(t, strings.Join(v.Wrong, "\n"), c.wrong, name)
	}
}

// TestJudgeNoticesStrayWrites: from the side of the server, too.
func TestJudgeNoticesStrayWrites(t *testing.T) {
	contender := func(n int) string { return fmt.Sprintf("%s/x-%010d", demoLock, n) }
	run := func(txns ...zktest.Txn) verdict {
		j := newJudge()
		for i, txn := range txns {
			txn.Zxid = int64(i + 1)
			j.applied(txn)
		}
		return j.judgeEvents()
	}
	first := zktest.Txn{Op: "create2", Session: 1, Paths: []string{contender(0)}}
	second := zktest.Txn{Op: "create2", Session: 2, Paths: []string{contender(1)}}
	write := func(session int64, n int) zktest.Txn {
		return zktest.Txn{Op: "multi", Session: session, Paths: []string{contender(n), demoValue}}
	}
	expired := zktest.Txn{Op: "closeSession", Session: 1}
	released := zktest.Txn{Op: "delete", Session: 1, Paths: []string{contender(0)}}
	refused := write(1, 0)
	refused.Code = -101

	for _, good := range [][]zktest.Txn{
		{first, second, write(1, 0), released, write(2, 1)},
		{first, second, write(1, 0), expired, write(2, 1), refused},
		{second, first, write(1, 0)}, // the number decides, not the order of arrival
	} {
		v := run(good...)
		assert.True(t, v.OK, v.Wrong)
		assert.Positive(t, v.Writes)
	}
	for _, bad := range [][]zktest.Txn{
		{first, second, write(2, 1)},
		{first, second, expired, write(1, 0)},
		{first, released, write(1, 0)},
		{write(1, 0)},
	} {
		v := run(bad...)
		assert.False(t, v.OK)
		assert.Equal(t, 1, v.Overlaps)
	}
}

// TestVerdictDecidesTheExitCode: errors are printed, and not only counted.
func TestVerdictDecidesTheExitCode(t *testing.T) {
	var out text
	show := &timeline{out: &out, begun: time.Now(), states: map[string]byte{}, tokens: map[string]int64{}}
	require.NoError(t, show.printVerdict(verdict{OK: true, TokensGrow: true}, nil))
	err := show.printVerdict(verdict{Wrong: []string{"two at once"}}, nil)
	assert.Equal(t, exit.CodeFailed, exit.Classify(err).Code)
	assert.Contains(t, out.String(), "WRONG: two at once")
	assert.Contains(t, out.String(), "THEY DO NOT GROW")
	err = show.printVerdict(verdict{OK: true}, fmt.Errorf("w2 was to say holds"))
	require.ErrorContains(t, err, "w2 was to say holds")
}
