package session

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// theTiming is T = 10 s with a known tick of 2 s.
func theTiming(t testing.TB, tick time.Duration) timing {
	t.Helper()
	out, err := newTiming(10*time.Second, tick)
	require.NoError(t, err)
	return out
}

func TestTimingLeavesRoomForASecondConnection(t *testing.T) {
	for _, timeout := range []time.Duration{time.Second, 4 * time.Second, 10 * time.Second, 30 * time.Second, 5 * time.Minute} {
		for _, part := range []time.Duration{0, 2, 3, 5, 10, 100, 1000} {
			var tick time.Duration
			if part > 0 {
				tick = timeout / part
			}
			got, err := newTiming(timeout, tick)
			if err != nil {
				require.ErrorIs(t, err, ErrTimeoutTooShort)
				continue
			}
			assert.Positive(t, got.heartbeat)
			assert.LessOrEqual(t, got.heartbeat, timeout/10)
			assert.Less(t, got.heartbeat+got.relay, timeout/3, "timeout %v, tick %v", timeout, tick)
			assert.GreaterOrEqual(t, got.relay, tick/2)
			assert.LessOrEqual(t, got.margin, timeout/10)
			assert.Equal(t, timeout/3, got.patience)
		}
	}
}

func TestTimingRefusesWhatNoRuleCanKeep(t *testing.T) {
	for _, tc := range []struct{ timeout, tick time.Duration }{
		{time.Second, time.Second}, {time.Second, 2 * time.Second}, {3 * time.Second, 2 * time.Second}, {4 * time.Millisecond, 0},
	} {
		_, err := newTiming(tc.timeout, tc.tick)
		require.ErrorIs(t, err, ErrTimeoutTooShort, "%+v", tc)
	}
	_, err := newTiming(4*time.Second, 2*time.Second)
	require.NoError(t, err, "the smallest timeout that servers grant by default")
}

func TestTimingFigures(t *testing.T) {
	known, unknown := theTiming(t, 2*time.Second), theTiming(t, 0)
	assert.Equal(t, timing{
		timeout: 10 * time.Second, relay: 1500 * time.Millisecond, margin: 100 * time.Millisecond,
		heartbeat: time.Second, patience: 10 * time.Second / 3,
	}, known)
	assert.Equal(t, 2500*time.Millisecond, unknown.relay)
	assert.Equal(t, (10*time.Second/3-2500*time.Millisecond)*3/4, unknown.heartbeat)
}

// tenth is the n-th tenth of a second.
func tenth(n int) time.Time { return instant(time.Duration(n) * 100 * time.Millisecond) }

func TestLeaseNeedsACommitBehindASettledTouch(t *testing.T) {
	tr := trust{timing: theTiming(t, 2*time.Second)} // R = 1.5 s, T - m = 9.9 s
	end := func(sent int) time.Time { return tenth(sent).Add(9900 * time.Millisecond) }

	tr.attached(tenth(0))
	assert.False(t, tr.valid(tenth(0)), "a handshake alone proves nothing")
	tr.answered(tenth(1), tenth(2), 0, false)
	assert.True(t, tr.lease.IsZero(), "nor does a read")
	tr.answered(tenth(3), tenth(4), 0, true)
	assert.Equal(t, end(0), tr.lease, "a commit confirms the handshake")
	tr.answered(tenth(18), tenth(19), 0, true)
	assert.Equal(t, end(0), tr.lease, "the touch of 0.4 s could be on its way until 1.9 s")
	tr.answered(tenth(19), tenth(20), 0, true)
	assert.Equal(t, end(1), tr.lease, "of the two settled touches, a follower can lose one")
	tr.answered(tenth(60), tenth(70), 0, false)
	tr.answered(tenth(60), tenth(70), 0, false)
	assert.Equal(t, end(1), tr.lease)
	tr.answered(tenth(84), tenth(88), 0, true)
	assert.Equal(t, end(18), tr.lease, "the touches of 7.0 s are not settled")
	tr.answered(tenth(85), tenth(88), 0, true)
	assert.Equal(t, end(60), tr.lease)
	assert.True(t, tr.valid(end(60).Add(-1)))
	assert.False(t, tr.valid(end(60)))
}

func TestTouchesOfAnOldConnectionDoNotCount(t *testing.T) {
	tr := trust{timing: theTiming(t, 2*time.Second)}
	tr.attached(tenth(0))
	tr.answered(tenth(10), tenth(10), 0, true)
	first := tr.lease
	tr.attached(tenth(20))
	tr.answered(tenth(40), tenth(41), 0, true)
	assert.Equal(t, tenth(20).Add(9900*time.Millisecond), tr.lease, "the new handshake, not the touch of 1.0 s")
	assert.True(t, tr.lease.After(first))
}

func TestTheLeaseNeverMovesBack(t *testing.T) {
	tr := trust{timing: theTiming(t, 2*time.Second)}
	tr.attached(tenth(50))
	tr.answered(tenth(51), tenth(51), 0, true)
	before := tr.lease
	tr.attached(tenth(10)) // cannot be, but must not harm
	tr.answered(tenth(11), tenth(11), 0, true)
	assert.Equal(t, before, tr.lease)
}

func TestTheWeakRuleTrustsEveryAnswer(t *testing.T) {
	tr := trust{rule: TrustAnswered, timing: theTiming(t, 2*time.Second)}
	tr.attached(tenth(0))
	assert.True(t, tr.valid(tenth(1)))
	tr.answered(tenth(30), tenth(35), 0, false)
	assert.Equal(t, tenth(30).Add(9900*time.Millisecond), tr.lease)
}

func TestTouchesAreBoundedInNumber(t *testing.T) {
	tr := trust{timing: theTiming(t, 2*time.Second)}
	tr.attached(instant(0))
	most := 0
	for i := range 200_000 {
		now := instant(time.Duration(i) * time.Millisecond)
		tr.answered(now, now, 0, false)
		most = max(most, len(tr.touches))
	}
	// At most two per sixteenth of R, for a timeout.
	assert.LessOrEqual(t, most, 2*int(tr.timeout/(tr.relay/16))+2)
}

// relayTimings are the rules for the model.
func relayTimings(t testing.TB) []timing {
	t.Helper()
	var out []timing
	for _, c := range []struct{ timeout, tick time.Duration }{
		{10 * time.Second, 2 * time.Second}, {10 * time.Second, 0}, {4 * time.Second, 2 * time.Second},
		{4 * time.Second, 100 * time.Millisecond}, {40 * time.Second, 2 * time.Second},
	} {
		timing, err := newTiming(c.timeout, c.tick)
		require.NoError(t, err)
		out = append(out, timing)
	}
	return out
}

// The claim in the comment of type trust, against the model.
func TestNoScheduleOutlivesItsLease(t *testing.T) {
	for _, rule := range relayTimings(t) {
		ended, all := 0, seeds(t, rounds(1000))
		for _, seed := range all {
			slack := runRelay(seed, rule, nil)
			require.GreaterOrEqual(t, slack, rule.margin, "T=%v R=%v seed %d", rule.timeout, rule.relay, seed)
			if slack < rule.timeout {
				ended++
			}
		}
		t.Logf("T=%v R=%v: %d sessions ended", rule.timeout, rule.relay, ended)
		if len(all) > 1 { // a single schedule need not end one
			require.Greater(t, ended, len(all)/4, "the model must end sessions to prove anything")
		}
	}
}

// brokenRules are rules that the model must convict.
func brokenRules() map[string]func(*trust, time.Time, time.Time, bool) {
	return map[string]func(*trust, time.Time, time.Time, bool){
		"without R": func(t *trust, sent, now time.Time, committed bool) {
			t.relay = 0
			t.answered(sent, now, 0, committed)
		},
		"with half of R": func(t *trust, sent, now time.Time, committed bool) {
			if t.relay > t.timeout/8 {
				t.relay /= 2
			}
			t.answered(sent, now, 0, committed)
		},
		"reads and pings prove a commit": func(t *trust, sent, now time.Time, _ bool) { t.answered(sent, now, 0, true) },
		"the last answered request":      func(t *trust, sent, _ time.Time, _ bool) { t.extend(sent) },
		"the last committed request": func(t *trust, sent, _ time.Time, committed bool) {
			if committed {
				t.extend(sent)
			}
		},
		"the newest settled touch": func(t *trust, sent, now time.Time, committed bool) {
			settled := slices.Clone(t.touches)
			t.answered(sent, now, 0, committed)
			for _, i := range settled {
				if committed && !i.answered.Add(t.relay).After(sent) {
					t.extend(i.sent)
				}
			}
		},
		"the moment of the answer": func(t *trust, sent, now time.Time, committed bool) {
			if committed {
				t.extend(now)
			}
		},
	}
}

func TestTheModelConvictsBrokenRules(t *testing.T) {
	rule := theTiming(t, 2*time.Second)
	for name, broken := range brokenRules() {
		convict(t, name, func(seed uint64) bool { return runRelay(seed, rule, broken) < 0 })
	}
}

// convict looks for a schedule in which a broken rule is unsound. The search begins
// where some rules that are seldom wrong are convicted.
func convict(t *testing.T, name string, unsound func(seed uint64) bool) {
	t.Helper()
	const most = 500_000
	seed := map[string]uint64{
		"with half of R": 11_000, "the newest settled touch": 39_000,
		"without R, shared": 10_000, "the newest settled touch, shared": 32_500, "touches at the mark's own transaction": 35_500,
	}[name]
	last := seed + most
	for seed < last && !unsound(seed) {
		seed++
	}
	t.Logf("%s: unsound with seed %d", name, seed)
	assert.Less(t, seed, last, name)
}
