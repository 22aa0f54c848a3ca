//go:build unix

package democmd

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/cmd/zkr/internal/exit"
	"github.com/zkrecipes/zkrecipes/zktest"
)

// TestJudgeKnowsTheTakenSessions: the sessions of killed and frozen workers.
func TestJudgeKnowsTheTakenSessions(t *testing.T) {
	j := newJudge()
	contends := func(session int64, n int) {
		j.applied(zktest.Txn{Op: "create2", Session: session, Zxid: int64(n + 1), Paths: []string{fmt.Sprintf("%s/x-%010d", demoLock, n)}})
	}
	for n := range 3 {
		contends(int64(n+1), n)
	}
	j.applied(zktest.Txn{Op: "closeSession", Session: 9})
	j.reported(Event{Worker: "w1", Event: "killed"})
	assert.False(t, j.disturbed())
	j.applied(zktest.Txn{Op: "closeSession", Session: 1})
	assert.False(t, j.disturbed(), "it was killed")
	j.applied(zktest.Txn{Op: "closeSession", Session: 3})
	assert.True(t, j.disturbed())
	j.reported(Event{Worker: "w3", Event: "frozen"})
	assert.False(t, j.disturbed())
	contends(3, 3)
	j.applied(zktest.Txn{Op: "delete", Session: 3, Paths: []string{fmt.Sprintf("%s/x-%010d", demoLock, 3)}})
	j.applied(zktest.Txn{Op: "closeSession", Session: 3})
	assert.False(t, j.disturbed(), "it has left")
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
		"an invented token": {(&story{}).add(1, "w1", "holds", 99), "which the server has not granted"},
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
	run := func(txns ...zktest.Txn) Verdict {
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

// story is a history for the judge, in seconds.
type story []Event

func (s *story) add(at float64, worker, what string, token int64) *story {
	*s = append(*s, Event{At: time.Unix(0, 0).Add(time.Duration(at * float64(time.Second))), Worker: worker, Event: what, Token: token})
	return s
}

// TestVerdictDecidesTheExitCode: errors are printed, and not only counted.
func TestVerdictDecidesTheExitCode(t *testing.T) {
	var out strings.Builder
	show := &timeline{out: &out, begun: time.Now(), states: map[string]byte{}, tokens: map[string]int64{}}
	require.NoError(t, show.printVerdict(Verdict{OK: true, TokensGrow: true}, nil))
	err := show.printVerdict(Verdict{Wrong: []string{"two at once"}}, nil)
	assert.Equal(t, exit.CodeFailed, exit.Classify(err).Code)
	assert.Contains(t, out.String(), "WRONG: two at once")
	assert.Contains(t, out.String(), "THEY DO NOT GROW")
	err = show.printVerdict(Verdict{OK: true}, fmt.Errorf("w2 did not report holds"))
	require.ErrorContains(t, err, "w2 did not report holds")
}
