//go:build unix

package supervise

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

// TestGraceFitsIntoTheSession: for every grace, sessions accept the plan, and
// the plan shortens no grace that fits.
func TestGraceFitsIntoTheSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.IntRange(100, 120_000).Draw(t, "timeout")) * time.Millisecond
		grace := time.Duration(rapid.IntRange(0, 60_000).Draw(t, "grace")) * time.Millisecond
		p, ok := fitGrace(timeout, grace)
		if p.Grace < 0 || p.Last <= 0 || p.Grace > grace || p.reserve() > timeout/graceShare {
			t.Fatalf("%+v does not fit into %v", p, timeout)
		}
		if room := timeout/graceShare - p.Grace; ok && p.Last != min(room, timeout/10, maxKillTime) {
			t.Fatalf("%+v takes another part for the end than a tenth", p)
		}
		if ok != (p.Grace == grace) {
			t.Fatalf("%v of %v: ok is %v", p.Grace, grace, ok)
		}
		if !ok {
			if next, fits := fitGrace(timeout, p.Grace+2*time.Millisecond); fits {
				t.Fatalf("%v would have fitted as well", next.Grace)
			}
		}
	})
}

// TestWishedTimeoutFitsTheGrace: within the servers' limits, the default
// session timeout of zkr leaves the grace unchanged.
func TestWishedTimeoutFitsTheGrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grace := time.Duration(rapid.IntRange(0, 9_500).Draw(t, "grace")) * time.Millisecond
		timeout := preferredTimeout(grace)
		if timeout < 10*time.Second || timeout > usualMaxTimeout {
			t.Fatalf("servers do not grant %v", timeout)
		}
		if p, ok := fitGrace(timeout, grace); !ok {
			t.Fatalf("%v is cut to %v at %v", grace, p.Grace, timeout)
		}
	})
	assert.Equal(t, 30*time.Second, preferredTimeout(DefaultGrace))
	_, ok := fitGrace(preferredTimeout(10*time.Second), 10*time.Second)
	assert.False(t, ok)
}
