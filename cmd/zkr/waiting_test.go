//go:build unix

package main

import (
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// notes waits until a process has written to stderr, and returns what it wrote.
func notes(z *zkrProcess, part string) string {
	z.t.Helper()
	require.Eventually(z.t, func() bool { return strings.Contains(z.err.String(), part) }, patience, 10*time.Millisecond, part)
	return z.err.String()
}

// A wait of more than a second is explained, once on a pipe.
func TestWaitSaysForWhomItIs(t *testing.T) {
	b := newBed(t)
	b.start(locked("/l", []string{"--id", "web-1"}, "sleep", "1000")...)
	b.queued("/l", 1)
	second := b.start(locked("/l", []string{"--id", "web-2"}, "true")...)
	b.queued("/l", 2)
	third := b.start(locked("/l", []string{"--id", "web-3"}, "true")...)
	b.queued("/l", 3)
	assert.Regexp(t, `^zkr: waiting for web-1 \(held \d+s\)\n$`, notes(second, "\n"))
	assert.Regexp(t, `^zkr: waiting for web-1 \((held for at least \d+s, )?came \d+s ago, 1 ahead\)\n$`, notes(third, "\n"))

	b.start("rwlock", "read", "/rw", "--id", "reader-1", "--", "sleep", "1000")
	b.queued("/rw", 1)
	b.start("rwlock", "read", "/rw", "--id", "reader-2", "--", "sleep", "1000")
	b.queued("/rw", 2)
	writer := b.start("rwlock", "write", "/rw", "--", "true")
	assert.Regexp(t, `^zkr: waiting for reader-1 \((held for at least \d+s, )?came \d+s ago, with 1 other holder\)\n$`, notes(writer, "\n"))

	b.start("lock", "/s", "-n", "1", "--id", "one", "--", "sleep", "1000")
	b.queued("/s", 1)
	assert.Contains(t, notes(b.start("lock", "/s", "-n", "1", "--", "true"), "\n"), "waiting for one (held ")

	b.start("elect", "/e", "--id", "leader", "--", "sleep", "1000")
	b.queued("/e", 1)
	assert.Contains(t, notes(b.start("elect", "/e", "--", "true"), "\n"), "waiting for leader (held ")

	assert.Equal(t, "zkr: waiting at /b: 1 of 3 parties have come\n", notes(b.start("barrier", "await", "/b", "-n", "3"), "\n"))
	assert.Equal(t, "zkr: waiting at /d: 1 of 3 parties have come\n", notes(b.start("barrier", "enter", "/d", "-n", "3", "--", "true"), "\n"))
}

// A holder that waited has not held since it came: the znodes do not tell the moment of its
// grant, and zkr claims no more than it has seen.
func TestWaitSaysHowLongAHoldHasLastedAtLeast(t *testing.T) {
	b := newBed(t)
	first := b.start(locked("/l", nil, "sleep", "1000")...)
	b.queued("/l", 1)
	b.start(locked("/l", []string{"--id", "web-2"}, "sleep", "1000")...)
	b.queued("/l", 2)
	first.signal(syscall.SIGTERM)
	b.queued("/l", 1)
	third := b.start(locked("/l", nil, "true")...)
	assert.Regexp(t, `^zkr: waiting for web-2 \((held for at least \d+s, )?came \d+s ago\)\n$`, notes(third, "\n"))
}
