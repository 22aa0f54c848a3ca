package main

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"github.com/zkrecipes/zkrecipes/zktest"
	"pgregory.net/rapid"
)

// TestGraceFitsIntoTheSession: whatever is asked for, the plan is one that
// sessions accept, and shortens nothing that fits.
func TestGraceFitsIntoTheSession(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		timeout := time.Duration(rapid.IntRange(100, 120_000).Draw(t, "timeout")) * time.Millisecond
		grace := time.Duration(rapid.IntRange(0, 60_000).Draw(t, "grace")) * time.Millisecond
		p, ok := fit(timeout, grace)
		if p.grace < 0 || p.last <= 0 || p.grace > grace || p.reserve() > timeout/share {
			t.Fatalf("%+v does not fit into %v", p, timeout)
		}
		if room := timeout/share - p.grace; ok && p.last < min(room, mostLast) {
			t.Fatalf("%+v leaves less for the end than there is", p)
		}
		if ok != (p.grace == grace) {
			t.Fatalf("%v of %v: ok is %v", p.grace, grace, ok)
		}
		if !ok {
			if next, fits := fit(timeout, p.grace+2*time.Millisecond); fits {
				t.Fatalf("%v would have fitted as well", next.grace)
			}
		}
	})
}

// TestWishedTimeoutFitsTheGrace: up to what servers grant, the session timeout
// that zkr asks for by itself leaves the grace as it is.
func TestWishedTimeoutFitsTheGrace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		grace := time.Duration(rapid.IntRange(0, 9_500).Draw(t, "grace")) * time.Millisecond
		timeout := wish(grace)
		if timeout < 10*time.Second || timeout > usualLimit {
			t.Fatalf("servers do not grant %v", timeout)
		}
		if p, ok := fit(timeout, grace); !ok {
			t.Fatalf("%v is cut to %v at %v", grace, p.grace, timeout)
		}
	})
	assert.Equal(t, 30*time.Second, wish(defaultGrace))
	_, ok := fit(wish(10*time.Second), 10*time.Second)
	assert.False(t, ok)
}

func TestGraceThatDoesNotFitIsShortenedOrRefused(t *testing.T) {
	b := newBedWith(t, &zktest.Options{}) // grants up to 10 s
	for _, c := range []struct {
		flags []string
		code  int
		says  string
	}{
		{nil, 0, "it is 2s now"}, // 30 s are refused
		{[]string{"--session-timeout", "4s"}, 0, "it is 750ms now"},
		{[]string{"--grace", "1s"}, 0, ""},
		{[]string{"--grace", "2s"}, 0, ""},
		{[]string{"--grace", "3s"}, exitUsage, "use at most 2s, or a --session-timeout of 14s or more"},
		{[]string{"--grace", "1s", "--session-timeout", "4s"}, exitUsage, "use at most 750ms, or a --session-timeout of 6s or more"},
		{[]string{"--grace", "1m"}, exitUsage, "use at most"},
		{
			[]string{"--grace", "1h"}, exitUsage,
			"or a --session-timeout of 4h0m2s or more, if the servers grant that: their maxSessionTimeout is 40s by default, which allows a grace of 9.5s",
		},
		{[]string{"--session-timeout", "60s"}, exitUsage, "do not grant"},
		{[]string{"--grace", "0s", "--session-timeout", "9s"}, 0, ""},
	} {
		z := b.run(append(append([]string{"lock", "/locks/a"}, c.flags...), "--", "true")...).ends(c.code)
		if c.says == "" {
			assert.Empty(t, z.err.String(), c.flags)
		} else {
			assert.Contains(t, z.err.String(), c.says, c.flags)
		}
	}
	require.Empty(t, b.contenders("/locks/a"))
}
